"""A model folder: weights, tokenizer, vocabulary map, and ``model.json``, which describes them.

Names of the files that all engines share, the fields of ``model.json``, and checks of both. Other files depend on the
engine (decode.engines).
"""

import json
from pathlib import Path
from typing import Any, TypedDict

from common.errors import UserError
from common.files import read_json, sha256

DESCRIPTION = "model.json"
TOKENIZER = "sentencepiece.model"
README = "README.md"
TUNED = "tuned.json"  # the fastest settings by machine (measure.tune)
NOT_DECODED = (README, TUNED)  # files that translations do not depend on and that may change
NEEDED = ("engine", "quantization", "vocabulary_map")  # fields that decoding needs


class Description(TypedDict, total=False):
    """The fields of ``model.json``. Folders made by hand have at least those of NEEDED."""

    format: int  # 1
    engine: str  # a name of decode.engines.ENGINES
    study: str
    system: str  # name in the study
    role: str  # teacher, student, control or untrained
    student: str | None  # name in the configuration, without mixture and seed
    mixture: str | None
    seed: int | None
    source: str  # language
    target: str  # language
    max_decoding_length: int  # pieces at which a translation is cut off
    shape: str
    parameters: int
    quantization: str  # type of the weights
    vocabulary_map: bool  # whether the folder has one
    made_by: dict[str, Any]  # of the training: its steps, or the version of Marian
    sha256: dict[str, str]  # checksums by path inside the folder, of all files but model.json and the README


def describe(folder: Path) -> Description:
    """Read ``model.json``. Raises UserError where it is missing, no JSON, or lacks a field of NEEDED."""
    path = folder / DESCRIPTION
    try:
        description: Description = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{folder}: not a model folder, it has no {DESCRIPTION}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid JSON ({error}); export the model again") from error
    if missing := sorted(set(NEEDED) - set(description)):
        raise UserError(f"{path}: lacks {', '.join(missing)}; export the model again")
    return description


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of every file, by its path inside the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256(path) for path in files}


def check(folder: Path, description: Description) -> None:
    """Compare all files with their checksums. Raises UserError for the first one that differs.

    Missing files are not reported, as the map, for instance, may not be needed. Folders made before version 0.6 have
    checksums of some files or none.
    """
    for name, checksum in description.get("sha256", {}).items():
        if (folder / name).exists() and sha256(folder / name) != checksum:
            raise UserError(
                f"{folder / name}: damaged, or not the one this model was exported with; copy or export it again"
            )
