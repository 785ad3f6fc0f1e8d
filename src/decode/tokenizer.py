"""The SentencePiece model of a model folder: a line of text to pieces and back."""

from pathlib import Path

from formats import records
from formats.loading import pieces


class Tokenizer:
    """Raises UserError where the folder has no ``sentencepiece.model`` or a damaged one."""

    def __init__(self, folder: Path):
        self._processor = pieces(folder / "sentencepiece.model")

    def encode(self, line: str) -> list[str]:
        return self._processor.encode(line, out_type=str)

    def decode(self, pieces: list[str]) -> str:
        """The text as a record holds it, so that whatever a model writes stays on its line."""
        return records.sentence(self._processor.decode(pieces))
