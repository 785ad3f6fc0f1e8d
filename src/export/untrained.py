"""A model of the right shape with random weights, for what does not depend on them: its size and its speed.

Writes a checkpoint folder as distill.train does, and the same bytes for the same seed. What the model says means
nothing: whatever is measured with it has to be marked ``speed only``. With a test set, its translations of that have as
many pieces as the references (export.lengths); else nothing says where they end.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from export import lengths
from formats import records, shape
from formats.errors import UserError, command
from formats.files import whole, write_json, write_text
from formats.loading import pieces

Sentence = tuple[list[str], int]  # the pieces of a source, and how many its translation shall have


def make(values: dict[str, Any], vocabulary: Path, seed: int, output: Path, sentences: Sequence[Sentence] = ()) -> int:
    """Write the folder of a model of this shape (formats.shape); its number of parameters. Raises UserError."""
    import opennmt
    import tensorflow as tf
    from opennmt.utils.checkpoint import Checkpoint

    tf.keras.utils.set_random_seed(seed)  # Keras draws the seeds of its initializers with Python's generator
    with whole(output) as part:
        part.mkdir(parents=True)
        try:
            write_text(part / "model_description.py", shape.shape(values).model_description(dropout=0.1))
        except ValueError as error:
            raise UserError(f"--shape: {error}") from None
        copied = part / "vocabulary.txt"
        copied.write_bytes(vocabulary.read_bytes())
        model = opennmt.load_model(str(part))
        model.initialize({"source_vocabulary": str(copied), "target_vocabulary": str(copied)})
        model.create_variables()
        if sentences:
            lines = vocabulary.read_text(encoding="utf-8").rstrip("\n").split("\n")
            entries = {piece: number for number, piece in enumerate(lines)}  # <unk> comes behind them
            sources = [[entries.get(piece, len(entries)) for piece in source] for source, _ in sentences]
            lengths.set_lengths(model, sources, [length for _, length in sentences])
        Checkpoint(model, model_dir=str(part)).save(0)
        (part / "checkpoint").write_text('model_checkpoint_path: "ckpt-0"\n')
    return sum(int(tf.size(variable)) for variable in model.trainable_variables)


def translated(test_set: Path, sentencepiece: Path) -> list[Sentence]:
    """The sentences of a test set that are translated at all, with the lengths of their references."""
    encode = pieces(sentencepiece).encode
    found = [(encode(source, out_type=str), len(encode(target))) for source, target in records.read(test_set)]
    return [(source, length) for source, length in found if source]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", required=True, help="a name of formats/shapes.yaml, or JSON")
    parser.add_argument("--vocabulary", type=Path, required=True, help="as OpenNMT-tf reads it, an entry a line")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--test-set", type=Path, help="records whose references say how long translations shall be")
    parser.add_argument("--sentencepiece", type=Path, help="the model that cuts the test set into pieces")
    parser.add_argument("--output", type=Path, required=True, help="checkpoint folder to write")
    parser.add_argument("--learning", type=Path, help="JSON to write, what export.model_folder reads of a training")
    args = parser.parse_args()

    known = shape.registry()
    if not args.shape.startswith("{") and args.shape not in known:
        raise UserError(f"--shape {args.shape}: no such name; there are {', '.join(known)}")
    try:
        values = known.get(args.shape) or json.loads(args.shape)
    except json.JSONDecodeError as error:
        raise UserError(f"--shape: not valid JSON: {error}") from None
    if bool(args.test_set) != bool(args.sentencepiece):
        raise UserError("--test-set and --sentencepiece go together; give both, or neither")
    sentences = translated(args.test_set, args.sentencepiece) if args.test_set else []
    parameters = make(values, args.vocabulary, args.seed, args.output, sentences)
    if args.learning:
        write_json(args.learning, {"shape": str(shape.shape(values)), "parameters": parameters, "steps": 0})
    print(f"{parameters:,} parameters")


if __name__ == "__main__":
    command(main)
