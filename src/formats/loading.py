"""CTranslate2 and SentencePiece models from the disk: one that is missing or damaged is an error of one line."""

from pathlib import Path
from typing import TYPE_CHECKING

import sentencepiece

from formats.errors import UserError

if TYPE_CHECKING:
    import ctranslate2


def translator(folder: Path, **options) -> "ctranslate2.Translator":
    """The model in a folder; on the CPU and in the type of its weights, unless the options say otherwise."""
    import ctranslate2  # not above: a process loads no engine but the one it decodes with, and that on the clock

    try:
        return ctranslate2.Translator(str(folder), **options)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise UserError(f"{folder}: CTranslate2 cannot load this model, a file is damaged: {error}") from error


def pieces(path: Path) -> sentencepiece.SentencePieceProcessor:
    if not path.exists():
        raise UserError(f"{path} is missing; export the model again")
    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError) as error:
        raise UserError(f"{path}: not a SentencePiece model; export the model again") from error
