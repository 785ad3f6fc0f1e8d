"""A model folder: weights, tokenizer, vocabulary map, and ``model.json``, which describes them.

Names of the files that all engines share, the fields of ``model.json``, and checks of both. Other files depend on the
engine (decode.engines).
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from msgspec import UNSET, Struct, UnsetType

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, sha256, typed

DESCRIPTION = "model.json"
FORMAT = 1  # of model folders; later versions read it, too (docs/c.md), and it grows where an older one could not
TOKENIZER = "sentencepiece.model"
README = "README.md"
TUNED = "tuned.json"  # the fastest settings by machine (measure.tune)
NOT_DECODED = (README, TUNED)  # files that translations do not depend on and that may change
NEEDED = ("engine", "quantization", "vocabulary_map")  # fields that decoding needs


class Calibration(Struct):
    """How fixed input scales were found (measure.calibrate)."""

    text: str
    sentences: int
    deviations: float | None


class AlignmentHead(Struct):
    """The head of the decoder's attention that learned a word alignment, both from 0."""

    layer: int
    head: int


class Making(Struct, omit_defaults=True):
    """What made the weights."""

    steps: int | None = None  # of the training
    marian: str | None = None  # its version
    imported: str | None = None  # toolkit and file of a model that was made elsewhere (nmt-frontier import)
    search: str | None = None  # options of nmt-frontier translate with which its toolkit searches
    input_scales: Calibration | None = None


class Description(Struct, kw_only=True, omit_defaults=True):
    """The fields of ``model.json``, in order. Folders made by hand have at least those of NEEDED."""

    format: int | None = None  # FORMAT
    engine: str  # a name of decode.engines.ENGINES
    study: str | None = None
    system: str | None = None  # name in the study
    role: str | None = None  # teacher, student, control or untrained
    student: str | UnsetType | None = UNSET  # name in the configuration, without mixture and seed
    mixture: str | UnsetType | None = UNSET
    seed: int | UnsetType | None = UNSET
    source: str | None = None  # language
    target: str | None = None  # language
    max_decoding_length: int | None = None  # pieces at which a translation is cut off
    languages: dict[str, str] | None = None  # pieces of a multilingual model by the codes of their languages
    alignment: AlignmentHead | None = None  # of a training with a guided alignment
    shape: str | None = None
    parameters: int | None = None
    quantization: str  # type of the weights
    vocabulary_map: bool  # whether the folder has one
    tokenizer: str | None = None  # `spaces`: lines are pieces; else the files say it (nmt_frontier.text.tokenizers)
    made_by: Making | None = None
    sha256: dict[str, str] | None = None  # by path inside the folder, of all files but model.json and the README


def describe(folder: Path) -> Description:
    """Read ``model.json``. Raises UserError for none, for no JSON, and for a missing or wrong field."""
    path = folder / DESCRIPTION
    try:
        found = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{folder}: not a model folder, it has no {DESCRIPTION}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid JSON ({error}); export the model again") from error
    if not isinstance(found, dict):
        raise UserError(f"{path}: not a JSON object; export the model again")
    if (found.get("format") or FORMAT) > FORMAT:
        raise UserError(f"{path}: of format {found['format']}; a later nmt-frontier reads it")
    if missing := sorted(set(NEEDED) - set(found)):
        raise UserError(f"{path}: lacks {', '.join(missing)}; export the model again")
    return typed(found, Description, f"{path}: has a wrong field; export the model again")


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of every file, by its path inside the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256(path) for path in files}


def checksum(folders: Iterable[Path]) -> str:
    """One SHA-256 of all that translations with these folders depend on."""
    files = (path for folder in folders for path in sorted(folder.iterdir()) if path.is_file())
    sums = [(path.name, sha256(path)) for path in files if path.name not in NOT_DECODED]
    return hashlib.sha256(repr(sums).encode()).hexdigest()


def check(folder: Path, description: Description) -> None:
    """Compare all files with their checksums. Raises UserError for the first one that differs.

    Missing files are not reported, as the map, for instance, may not be needed. Folders made before version 0.6 have
    checksums of some files or none.
    """
    for name, checksum in (description.sha256 or {}).items():
        if (folder / name).exists() and sha256(folder / name) != checksum:
            first_bytes.check_files([folder / name])
            raise UserError(
                f"{folder / name}: damaged, or not the one this model was exported with; copy or export it again"
            )
