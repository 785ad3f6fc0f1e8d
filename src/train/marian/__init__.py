"""Train a Transformer or Nematus' recurrent model with Marian's trainer on the CPU, on the encoded pairs of a study.

It serves to compare engines on the same weights. CTranslate2 can decode Marian's models (export.marian), but Marian
cannot decode OpenNMT-tf's, whose decoder begins with the embedding of ``<s>`` instead of zeros. Layers are post-norm,
unlike OpenNMT-tf's: Marian 1.12 can train pre-norm layers, but does not normalise the preceding target words when it
decodes (export.marian.check_decoding).

The output folder holds vocab.yml and, once the training is done, model.npz. Its subfolder ``training`` has train.log
and the checkpoints; a killed training continues from the last one, and one of other settings or data is refused.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from formats import marian
from formats.shape import ConditionalShape, TransformerShape
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json

CHECKPOINT_UPDATES = 500  # updates between checkpoints: the most that a killed training loses
AVERAGE = ["--transformer-decoder-autoreg", "average-attention"]
NO_LAYER = ["--transformer-aan-depth", 1]  # no feed-forward layer after the average
DECODERS: dict[str, Sequence[object]] = {
    "self-attention": [],
    "averaging": AVERAGE,
    "averaging-gated": [*AVERAGE, *NO_LAYER],
    "averaging-ungated": [*AVERAGE, "--transformer-aan-nogate"],
    "averaging-plain": [*AVERAGE, *NO_LAYER, "--transformer-aan-nogate"],
    "ssru": ["--transformer-decoder-autoreg", "rnn", "--dec-cell", "ssru"],
}


def structure(asked: TransformerShape | ConditionalShape) -> list[object]:
    """Marian's options for a shape."""
    options: list[object]
    if isinstance(asked, TransformerShape):
        options = ["--type", "transformer", "--enc-depth", asked.encoder_layers]
        options += ["--dec-depth", asked.decoder_layers, "--dim-emb", asked.units]
        options += ["--transformer-dim-ffn", asked.ffn_units, "--transformer-heads", asked.heads]
        options += ["--transformer-ffn-activation", "relu", "--transformer-dropout", 0.1]
        options += [*DECODERS[asked.decoder], "--transformer-dim-aan", asked.ffn_units]
    else:
        options = ["--type", "s2s", "--enc-type", "bidirectional", "--enc-cell", "gru", "--dec-cell", "gru"]
        options += ["--enc-depth", 1, "--enc-cell-depth", asked.encoder_transitions]
        options += ["--dec-depth", 1, "--dec-cell-base-depth", asked.decoder_transitions]
        options += ["--dim-rnn", asked.units, "--dim-emb", asked.embedding_units, "--dropout-rnn", 0.1]
    return options + (["--tied-embeddings-all"] if asked.share_embeddings else [])


@dataclass(frozen=True)
class Schedule:
    """updates: length of the training. batch_tokens: of the target. learning_rate: at its peak. warmup: updates."""

    updates: int
    batch_tokens: int
    learning_rate: float
    warmup: int
    seed: int


def train(sides: list[Path], asked: TransformerShape | ConditionalShape, schedule: Schedule, output: Path) -> None:
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


def begin(folder: Path, settings: dict[str, object]) -> None:
    """Write what defines the training to its folder. Raises UserError if another training was begun there."""
    notes = folder / "settings.json"
    if notes.exists() and read_json(notes) != settings:
        raise UserError(f"{folder}: a training of other settings or data was begun there; give another --output")
    write_json(notes, settings)
