"""CTranslate2 and SentencePiece models from the disk: one that is missing or damaged is an error of one line."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sentencepiece

from formats import cpu
from formats.errors import UserError
from formats.files import sha256

if TYPE_CHECKING:
    import ctranslate2


def intact(folder: Path, description: dict[str, Any]) -> None:
    """Read the files of a model folder. Raises UserError for one whose checksum is not that of ``model.json``.

    Folders of versions before 0.6 have the checksums of few files, or none. A file that is missing is for its reader
    to name.
    """
    for name, checksum in description.get("sha256", {}).items():
        if (folder / name).exists() and sha256(folder / name) != checksum:
            raise UserError(
                f"{folder / name}: damaged, or not the one this model was exported with; copy or export it again"
            )


def translator(folder: Path, **options) -> "ctranslate2.Translator":
    """The model in a folder; on the CPU and in the type of its weights, unless the options say otherwise.

    ``intra_threads`` alone says how many threads a worker has. MKL_NUM_THREADS, which Snakemake and clusters set, is
    forgotten: oneMKL would obey it in every worker, and two workers of two threads each are slower than two of one.
    CTranslate2 takes AVX2 even where there is AVX512, unless CT2_FORCE_CPU_ISA says otherwise; here it takes the widest
    instructions of the CPU unless that variable is set.
    """
    return _loaded("Translator", folder, options)


def encoder(folder: Path, **options) -> "ctranslate2.Encoder":
    """As ``translator``, of a model that has no decoder."""
    return _loaded("Encoder", folder, options)


def _loaded(kind: str, folder: Path, options: dict[str, Any]) -> Any:
    import ctranslate2  # not above: a process loads no engine but the one it decodes with, and that on the clock

    os.environ.pop("MKL_NUM_THREADS", None)  # oneMKL reads it at its first product
    if isa := cpu.widest():
        os.environ.setdefault(cpu.ISA, isa)  # CTranslate2 reads it when it loads its first model
    try:
        return getattr(ctranslate2, kind)(str(folder), **options)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise UserError(f"{folder}: CTranslate2 cannot load this model, a file is damaged: {error}") from error


def pieces(path: Path) -> sentencepiece.SentencePieceProcessor:
    if not path.exists():
        raise UserError(f"{path} is missing; export the model again")
    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError) as error:
        raise UserError(f"{path}: not a SentencePiece model; export the model again") from error
