"""Train a Transformer with Marian's own trainer on the CPU, on the encoded pairs of a study.

It serves to compare engines on the same weights: CTranslate2 can decode a model of Marian's, too (export.marian), but
Marian cannot decode one of OpenNMT-tf's, because OpenNMT-tf's decoder begins with the embedding of ``<s>`` and Marian's
with zeros. Each layer is normalised after it is computed, unlike in OpenNMT-tf: Marian 1.12 can train layers that are
normalised before, but its decoder then leaves the preceding target words unnormalised (export.marian.check_decoding).

The output folder holds vocab.yml and, once the training is done, model.npz. Its subfolder ``training`` has train.log
and the checkpoints; a killed training continues from the last one.
"""

import argparse
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from common.command_line import pick
from common.errors import UserError, command
from formats import marian
from formats.shape import Transformer, shape

CHECKPOINT_UPDATES = 500  # updates between checkpoints: the most that a killed training loses


AVERAGE = ["--transformer-decoder-autoreg", "average-attention"]
NO_LAYER = ["--transformer-aan-depth", 1]  # no feed-forward layer behind the average
DECODERS = {
    "self-attention": [],
    "averaging": AVERAGE,
    "averaging-gated": [*AVERAGE, *NO_LAYER],
    "averaging-ungated": [*AVERAGE, "--transformer-aan-nogate"],
    "averaging-plain": [*AVERAGE, *NO_LAYER, "--transformer-aan-nogate"],
    "ssru": ["--transformer-decoder-autoreg", "rnn", "--dec-cell", "ssru"],
}


def structure(transformer: Transformer) -> list[object]:
    """Marian's options for a shape."""
    options = ["--type", "transformer", "--enc-depth", transformer.encoder_layers]
    options += ["--dec-depth", transformer.decoder_layers, "--dim-emb", transformer.units]
    options += ["--transformer-dim-ffn", transformer.ffn_units, "--transformer-heads", transformer.heads]
    options += ["--transformer-ffn-activation", "relu", "--transformer-dropout", 0.1]
    options += [*DECODERS[transformer.decoder], "--transformer-dim-aan", transformer.ffn_units]
    return options + (["--tied-embeddings-all"] if transformer.share_embeddings else [])


@dataclass(frozen=True)
class Schedule:
    """updates: length of the training. batch_tokens: of the target. learning_rate: at its peak. warmup: updates."""

    updates: int
    batch_tokens: int
    learning_rate: float
    warmup: int
    seed: int


def train(sides: list[Path], asked: Transformer, schedule: Schedule, output: Path) -> None:
    """Train on two aligned files of pieces; ``output`` is a folder with a vocabulary. Raises UserError."""
    vocabulary, warmup = output / marian.VOCABULARY, schedule.warmup
    checkpoint = output / "training" / "model.npz"
    checkpoint.parent.mkdir(exist_ok=True)
    options = ["--model", checkpoint, "--train-sets", *sides, "--vocabs", vocabulary, vocabulary]
    options += [*structure(asked), "--label-smoothing", 0.1, "--max-length", 100, "--max-length-crop"]
    options += ["--learn-rate", schedule.learning_rate, "--lr-warmup", warmup, "--lr-decay-inv-sqrt", warmup]
    options += ["--mini-batch-words", schedule.batch_tokens, "--mini-batch-round-up=false", "--seed", schedule.seed]
    options += ["--after", f"{schedule.updates}u", "--save-freq", f"{CHECKPOINT_UPDATES}u", "--disp-freq", "100u"]
    options += ["--overwrite", "--cpu-threads", 1, "--data-threads", 1, "--workspace", 500, "--shuffle-in-ram"]
    marian.run("train", *options, log=checkpoint.with_name("train.log"))
    shutil.copyfile(checkpoint, part := output / ".model.npz")
    os.replace(part, output / "model.npz")


def schedule_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a training's length, batches and learning rate."""
    parser.add_argument("--updates", type=int, default=3000, help="length of the training (default: %(default)s)")
    parser.add_argument("--batch-tokens", type=int, default=1000, help="target tokens (default: %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=0.003, help="peak value (default: %(default)s)")
    parser.add_argument("--warmup", type=int, default=300, help="updates before the peak (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True, help="text in pieces, made by train.encode")
    parser.add_argument("--target", type=Path, required=True, help="its translations, likewise")
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocabulary.txt, made by train.vocabulary")
    parser.add_argument("--shape", type=json.loads, required=True, help="JSON, as in formats/shapes.yaml")
    schedule_options(parser)
    parser.add_argument("--output", type=Path, required=True, help="folder to write; resumes a training begun there")
    args = parser.parse_args()

    try:
        transformer = shape(args.shape)
    except ValueError as error:
        raise UserError(f"--shape: {error}") from None
    if not isinstance(transformer, Transformer):
        raise UserError(f"--shape: {transformer} is no Transformer, the one kind that is trained with Marian here")
    args.output.mkdir(parents=True, exist_ok=True)
    marian.write_vocabulary(marian.entries(args.vocabulary), args.output / marian.VOCABULARY)
    train([args.source, args.target], transformer, pick(Schedule, args), args.output)


if __name__ == "__main__":
    command(main)
