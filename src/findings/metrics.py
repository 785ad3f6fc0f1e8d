"""sacreBLEU's BLEU with the tokens of a target language; the checkpoint, program and scores of COMET (Rei et al. 2020).

BLEU's tokens are 13a's, sacreBLEU's own for Chinese, Japanese and Korean, and characters for other languages without
spaces. COMET's program, ``comet-score`` of unbabel-comet, needs an environment of its own with PyTorch and a newer
typing-extensions than TensorFlow 2.13 allows.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sacrebleu.metrics.bleu import BLEU

from formats.gap import Comet
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, sha256
from nmt_frontier.sentence import WITHOUT_SPACES

COMET_SCALE = 100  # factor of the mean over sentences, as for BLEU and chrF
INSTALL = "install unbabel-comet in an environment of its own and name its bin/comet-score (docs/results.md#metrics)"


def bleu(language: str, **options: Any) -> BLEU:
    """The metric; options: sacreBLEU's. Raises UserError if the package of the language's tokenizer is missing."""
    try:
        if language in WITHOUT_SPACES:  # a sentence would be one token of 13a
            options["tokenize"] = "char"
        return BLEU(trg_lang=language, **options)
    except (RuntimeError, ImportError) as error:
        raise UserError(f"BLEU for the target language {language}: {' '.join(str(error).split())}") from error


def comet_problems(checkpoint: str, program: str) -> list[str]:
    """A line for each missing file or program; without the files, comet-score would use the network."""
    path = Path(checkpoint).absolute()
    lines = []
    if not path.is_file() or path.suffix != ".ckpt":
        lines.append(f"metrics.comet: {checkpoint} is no file NAME.ckpt; give one on this disk, nothing is downloaded")
    elif not (settings := path.parent.parent / "hparams.yaml").is_file():
        lines.append(f"metrics.comet: no {settings}, which belongs to {checkpoint}; keep the folders as published")
    if not shutil.which(program):
        lines.append(f"metrics.comet_score: no program {program}; {INSTALL}")
    return lines


def comet_signature(checkpoint: Path, program: str) -> str:
    """All that must be equal for two scores to be comparable. program: its path."""
    parts = f"model:{comet_name(checkpoint)}", f"sha256:{sha256(checkpoint)}", f"scale:{COMET_SCALE}"
    return "|".join([*parts, f"version:{comet_version(program)}"])


def comet_name(checkpoint: Path) -> str:
    """The name of the folder with ``checkpoints/`` and ``hparams.yaml``, or of the model in Hugging Face's cache."""
    folder = checkpoint.absolute().parent.parent
    repository = folder.parent.parent.name
    return repository.split("--")[-1] if repository.startswith("models--") else folder.name


def comet_version(program: str) -> str:
    """The version of unbabel-comet in the environment of the program, or ``unknown``."""
    environment = Path(program).resolve().parent.parent
    found = list(environment.glob("lib/python*/*-packages/unbabel_comet-*.dist-info"))
    return found[0].name.removesuffix(".dist-info").partition("-")[2] if len(found) == 1 else "unknown"


@dataclass(frozen=True)
class CometScores:
    """scores: by test set and by the sha256 of the file of translations; empty without COMET."""

    path: Path | None
    signature: str
    scores: Mapping[str, Mapping[str, float]]

    @classmethod
    def read(cls, path: Path | None) -> "CometScores":
        """The scores that measure.comet wrote, empty without a path. Raises UserError for another file."""
        if path is None:
            return cls(None, "", {})
        try:
            found = read_json(path)
            return cls(path, found["signature"], found["scores"])
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise UserError(f"{path}: not made by measure.comet ({error!r})") from None

    def of(self, test_set: str, output: Path) -> Comet:
        """The fields of a measurement. Raises UserError for translations that were not scored."""
        if self.path is None:
            return {}
        try:
            return {"comet": self.scores[test_set][sha256(output)], "comet_signature": self.signature}
        except KeyError:
            raise UserError(f"{self.path}: no score of {output}; delete the former, so that it is made again") from None
