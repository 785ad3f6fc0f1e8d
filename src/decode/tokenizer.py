"""The SentencePiece model of a model folder: a line of text to pieces and back."""

from pathlib import Path

import sentencepiece

from formats import records
from formats.errors import UserError


class Tokenizer:
    """Raises UserError where the folder has no ``sentencepiece.model`` or a damaged one."""

    def __init__(self, folder: Path):
        path = folder / "sentencepiece.model"
        if not path.exists():
            raise UserError(f"{path} is missing; export the model again")
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (RuntimeError, OSError) as error:
            raise UserError(f"{path}: not a SentencePiece model; export the model again") from error

    def encode(self, line: str) -> list[str]:
        return self._processor.encode(line, out_type=str)

    def decode(self, pieces: list[str]) -> str:
        """The text as a record holds it, so that whatever a model writes stays on its line."""
        return records.sentence(self._processor.decode(pieces))
