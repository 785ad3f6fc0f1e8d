"""Write a model of Marian's with random weights, to time Marian and the native engine on the same model.

Marian makes it, by one update of a training. Its translations are meaningless and have no end: each has as many pieces
as ``max_decoding_length`` in the description that export.marian is given.
"""

import argparse
import os
import random
import tempfile
from pathlib import Path

import numpy as np

from export.shape_option import shape_values
from formats import marian, shape
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_text
from nmt_frontier.importers.marian_binary import END
from train.marian import Schedule, train

NEVER = -1e9  # the bias of the end
OUTPUTS = ("decoder_ff_logit_out_b", "decoder_ff_logit_l2_b")  # biases of output layers: Transformer, recurrent
ONE = Schedule(updates=1, batch_tokens=50, learning_rate=1e-6, warmup=1, seed=1)


def make(asked: shape.TransformerShape | shape.ConditionalShape, vocabulary: Path, output: Path) -> int:
    """Write model.npz and vocab.yml into a folder. Returns the number of parameters. Raises UserError."""
    pieces = marian.entries(vocabulary)
    output.mkdir(parents=True, exist_ok=True)
    marian.write_vocabulary(pieces, output / marian.VOCABULARY)
    generator = random.Random(ONE.seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / marian.VOCABULARY).write_bytes((output / marian.VOCABULARY).read_bytes())
        text = "".join(" ".join(generator.choices(pieces[2:], k=5)) + "\n" for _ in range(10))
        write_text(folder / "text", text)
        train([folder / "text"] * 2, asked, ONE, folder)
        weights = dict(np.load(folder / "model.npz"))
    for name in OUTPUTS:
        if name in weights:
            weights[name][0, pieces.index(END)] = NEVER
    np.savez(part := output / ".model.npz", **weights)
    os.replace(part, output / "model.npz")
    return sum(weight.size for weight in weights.values() if weight.dtype == np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", required=True, help="a name of formats/shapes.yaml, or JSON")
    parser.add_argument("--vocabulary", type=there, required=True, help="vocabulary.txt, made by train.vocabulary")
    parser.add_argument("--output", type=Path, required=True, help="folder to write; export.marian reads it")
    args = parser.parse_args()

    try:
        asked = shape.shape(shape_values(args.shape))
    except ValueError as error:
        raise UserError(f"--shape: {error}") from None
    if not isinstance(asked, shape.TransformerShape | shape.ConditionalShape):
        raise UserError(f"--shape: Marian does not train {asked} here")
    print(f"{make(asked, args.vocabulary, args.output):,} parameters")


if __name__ == "__main__":
    command(main)
