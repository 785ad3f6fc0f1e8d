"""How teachers split text: SentencePiece, or BPE over the Moses tokenizer as in fairseq's published models."""

from io import StringIO
from pathlib import Path
from typing import Protocol, TextIO

import sentencepiece
from sacremoses import MosesDetokenizer, MosesTokenizer
from subword_nmt.apply_bpe import BPE

from common.errors import UserError
from distill.settings import Tokenization


class Tokenizer(Protocol):
    """Splits plain text into pieces, and joins pieces to plain text."""

    def encode(self, line: str) -> list[str]: ...
    def decode(self, pieces: list[str]) -> str: ...


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


class MosesBPE:
    """BPE of Moses tokens, with ``@@`` after all pieces of a word but the last: fairseq's ``moses`` and ``fastbpe``."""

    def __init__(self, codes: str | Path, language: str):
        self._tokenizer, self._detokenizer = MosesTokenizer(language), MosesDetokenizer(language)
        self._bpe = BPE(merges(Path(codes)))

    def encode(self, line: str) -> list[str]:
        pieces: list[str] = self._bpe.segment_tokens(self._tokenizer.tokenize(line, aggressive_dash_splits=True))
        return pieces

    def decode(self, pieces: list[str]) -> str:
        words = f"{' '.join(pieces)} ".replace("@@ ", "").split()
        return str(self._detokenizer.detokenize(words))


def merges(path: Path) -> TextIO:
    """BPE codes in the format of subword-nmt; fastBPE's third column is dropped. Raises UserError for another file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: no BPE codes: {error}") from error
    if not (lines and lines[0].startswith("#version")):
        lines.insert(0, "#version: 0.2")
    for number, line in enumerate(lines[1:], 2):
        if len(line.split()) not in (2, 3):
            raise UserError(f"{path}, line {number}: {line!r} is no merge; give the bpecodes of the teacher")
    return StringIO("\n".join([lines[0], *(" ".join(line.split()[:2]) for line in lines[1:])]))


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
        return [MosesBPE(tokenization.bpe, language) for language in languages]
    models: str | Path | list[str] | None = (tokenization and tokenization.sentencepiece) or study_model
    if models is None:
        raise UserError("a model without a tokenization of its own needs the SentencePiece model of the study")
    if not isinstance(models, list):
        models = [str(models)] * 2
    return [SentencePiece(path) for path in models]
