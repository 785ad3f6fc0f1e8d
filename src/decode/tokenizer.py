"""The SentencePiece model of a model folder: a line of text to pieces and back."""

from pathlib import Path

from formats import model_folder, records
from formats.loading import pieces


class Tokenizer:
    """Raises UserError for a folder whose SentencePiece model is missing or damaged."""

    def __init__(self, folder: Path):
        self._processor = pieces(folder / model_folder.TOKENIZER)

    def encode(self, line: str) -> list[str]:
        return self._processor.encode(line, out_type=str)

    def decode(self, pieces: list[str]) -> str:
        """The text on one line, as a record holds it, whatever line breaks a model writes."""
        return records.sentence(self._processor.decode(pieces))
