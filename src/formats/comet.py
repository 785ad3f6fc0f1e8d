"""COMET (Rei et al. 2020): its checkpoint, the program that scores with it, and the scores that it gave.

The program is ``comet-score`` of the package unbabel-comet, which needs PyTorch and a newer typing-extensions than
TensorFlow 2.13 allows. So it lives in an environment of its own.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.files import read_json, sha256

SCALE = 100  # the score of a test set is the mean of its sentences times 100, to stand beside BLEU and chrF
INSTALL = "install unbabel-comet in an environment of its own and name its bin/comet-score (docs/results.md#metrics)"


def problems(checkpoint: str, program: str) -> list[str]:
    """A line for each thing that is missing on this machine: without it, comet-score would ask the network."""
    path = Path(checkpoint).absolute()
    lines = []
    if not path.is_file() or path.suffix != ".ckpt":
        lines.append(f"metrics.comet: {checkpoint} is no file NAME.ckpt; give one on this disk, nothing is downloaded")
    elif not (settings := path.parent.parent / "hparams.yaml").is_file():
        lines.append(f"metrics.comet: no {settings}, which belongs to {checkpoint}; keep the folders as published")
    if not shutil.which(program):
        lines.append(f"metrics.comet_score: no program {program}; {INSTALL}")
    return lines


def signature(checkpoint: Path, program: str) -> str:
    """All that must be equal for two scores to be comparable. program: its path."""
    parts = {"model": name(checkpoint), "sha256": sha256(checkpoint), "scale": SCALE, "version": version(program)}
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def name(checkpoint: Path) -> str:
    """The folder that holds ``checkpoints/`` and ``hparams.yaml``; in Hugging Face's cache, the model's."""
    folder = checkpoint.absolute().parent.parent
    repository = folder.parent.parent.name
    return repository.split("--")[-1] if repository.startswith("models--") else folder.name


def version(program: str) -> str:
    """Of unbabel-comet, from the environment that the program is in; ``unknown`` where that has none."""
    environment = Path(program).resolve().parent.parent
    found = list(environment.glob("lib/python*/*-packages/unbabel_comet-*.dist-info"))
    return found[0].name.removesuffix(".dist-info").partition("-")[2] if len(found) == 1 else "unknown"


@dataclass(frozen=True)
class Scores:
    """scores: of the files of translations, by test set and by the sha256 of the file; empty without COMET."""

    path: Path | None
    signature: str
    scores: Mapping[str, Mapping[str, float]]

    @classmethod
    def read(cls, path: Path | None) -> "Scores":
        """The scores that measure.comet wrote; none at all without a path. Raises UserError for another file."""
        if path is None:
            return cls(None, "", {})
        try:
            found = read_json(path)
            return cls(path, found["signature"], found["scores"])
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise UserError(f"{path}: not made by measure.comet ({error!r})") from None

    def of(self, test_set: str, output: Path) -> dict[str, Any]:
        """The fields of a measurement. Raises UserError for translations that were not scored."""
        if self.path is None:
            return {}
        try:
            return {"comet": self.scores[test_set][sha256(output)], "comet_signature": self.signature}
        except KeyError:
            raise UserError(f"{self.path}: no score of {output}; delete the former, so that it is made again") from None
