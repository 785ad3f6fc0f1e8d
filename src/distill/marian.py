"""Train a Transformer with Marian's own trainer on the CPU, on the encoded pairs of a study.

Made for comparisons of engines on the same weights: a model of Marian's can be decoded by CTranslate2, too
(export.marian), a model of OpenNMT-tf's by Marian cannot: OpenNMT-tf's decoder begins with the embedding of ``<s>``,
Marian's with zeros. Layers are normalised after they are computed, unlike OpenNMT-tf's: Marian 1.12 trains the other
kind and then decodes it differently, without normalising the words before. Writes model.npz, when the training is
done, and vocab.yml. ``training`` beside them has the checkpoints, from the last of which a killed training goes on,
and train.log.
"""

import argparse
import json
import os
import shutil
from pathlib import Path

from formats import marian
from formats.errors import UserError, command
from formats.shape import Transformer, shape

SAVED = 500  # updates; what a killed training loses


def structure(asked: Transformer) -> list[object]:
    """Marian's options for a shape."""
    found = ["--type", "transformer", "--enc-depth", asked.encoder_layers, "--dec-depth", asked.decoder_layers]
    found += ["--dim-emb", asked.units, "--transformer-dim-ffn", asked.ffn_units, "--transformer-heads", asked.heads]
    found += ["--transformer-ffn-activation", "relu", "--transformer-dropout", 0.1]
    return found + (["--tied-embeddings-all"] if asked.share_embeddings else [])


def train(sides: list[Path], asked: Transformer, schedule: argparse.Namespace, output: Path) -> None:
    """Train on two aligned files of pieces; ``output`` is a folder with a vocabulary. Raises UserError."""
    vocabulary, rate = output / marian.VOCABULARY, schedule.learning_rate
    made = output / "training" / "model.npz"
    made.parent.mkdir(exist_ok=True)
    options = ["--model", made, "--train-sets", *sides, "--vocabs", vocabulary, vocabulary]
    options += [*structure(asked), "--label-smoothing", 0.1, "--max-length", 100, "--max-length-crop"]
    options += ["--learn-rate", rate, "--lr-warmup", schedule.warmup, "--lr-decay-inv-sqrt", schedule.warmup]
    options += ["--mini-batch-words", schedule.batch_tokens, "--mini-batch-round-up=false", "--seed", schedule.seed]
    options += ["--after", f"{schedule.updates}u", "--save-freq", f"{SAVED}u", "--disp-freq", "100u", "--overwrite"]
    options += ["--cpu-threads", 1, "--data-threads", 1, "--workspace", 500, "--shuffle-in-ram"]
    marian.run("train", *options, log=made.with_name("train.log"))
    shutil.copyfile(made, part := output / ".model.npz")
    os.replace(part, output / "model.npz")


def schedule_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--updates", type=int, default=3000)
    parser.add_argument("--batch-tokens", type=int, default=1000, help="target tokens (default: %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=0.003, help="at its peak (default: %(default)s)")
    parser.add_argument("--warmup", type=int, default=300, help="updates (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True, help="pieces with spaces between them")
    parser.add_argument("--target", type=Path, required=True, help="pieces with spaces between them")
    parser.add_argument("--vocabulary", type=Path, required=True, help="of distill.vocabulary")
    parser.add_argument("--shape", type=json.loads, required=True, help="JSON, as in formats/shapes.yaml")
    schedule_options(parser)
    parser.add_argument("--output", type=Path, required=True, help="folder; a training begun there goes on")
    args = parser.parse_args()

    try:
        asked = shape(args.shape)
    except ValueError as error:
        raise UserError(f"--shape: {error}") from None
    if not isinstance(asked, Transformer):
        raise UserError(f"--shape: {asked} is no Transformer, the one kind that is trained with Marian here")
    args.output.mkdir(parents=True, exist_ok=True)
    marian.write_vocabulary(marian.entries(args.vocabulary), args.output / marian.VOCABULARY)
    train([args.source, args.target], asked, args, args.output)


if __name__ == "__main__":
    command(main)
