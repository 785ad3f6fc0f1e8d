"""How teachers split text: SentencePiece, or BPE over the Moses tokenizer as in fairseq's published models."""

from pathlib import Path

import sentencepiece

from distill.settings import Tokenization
from nmt_frontier.errors import UserError
from nmt_frontier.text.tokenizers import MosesBPE, Tokenizer


class SentencePiece:
    """A SentencePiece model. Raises UserError for any other file."""

    def __init__(self, path: str | Path):
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (OSError, RuntimeError) as error:
            raise UserError(f"{path}: no SentencePiece model: {error}") from error

    def encode(self, line: str) -> list[str]:
        pieces: list[str] = self._processor.encode(line, out_type=str)
        return pieces

    def decode(self, pieces: list[str]) -> str:
        return str(self._processor.decode(pieces))


def files(tokenization: Tokenization | None) -> list[Path]:
    """The files that a teacher's own tokenization reads."""
    values = [tokenization.sentencepiece, tokenization.bpe] if tokenization else []
    return [Path(path) for value in values if value for path in (value if isinstance(value, list) else [value])]


def tokenizers(tokenization: Tokenization | None, study_model: Path | None, languages: list[str]) -> list[Tokenizer]:
    """The tokenizers of the source and the target side of a teacher.

    tokenization: the value of its configuration; without one, ``study_model`` is used, the study's SentencePiece model.
    languages: codes of both sides, in the direction of the teacher. Raises UserError without any model.
    """
    if tokenization and tokenization.bpe:
        return [MosesBPE(Path(tokenization.bpe), language) for language in languages]
    models: str | Path | list[str] | None = (tokenization and tokenization.sentencepiece) or study_model
    if models is None:
        raise UserError("a model without a tokenization of its own needs the SentencePiece model of the study")
    if not isinstance(models, list):
        models = [str(models)] * 2
    return [SentencePiece(path) for path in models]
