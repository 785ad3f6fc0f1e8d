"""How teachers split text: SentencePiece, or BPE over the Moses tokenizer as in fairseq's published models."""

from io import StringIO
from pathlib import Path
from typing import Any, Protocol, TextIO

import sentencepiece
from sacremoses import MosesDetokenizer, MosesTokenizer
from subword_nmt.apply_bpe import BPE

from formats.errors import UserError


class Tokenizer(Protocol):
    def encode(self, line: str) -> list[str]: ...
    def decode(self, pieces: list[str]) -> str: ...


class SentencePiece:
    """A SentencePiece model. Raises UserError for a file that is none."""

    def __init__(self, path: str | Path):
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (OSError, RuntimeError) as error:
            raise UserError(f"{path}: no SentencePiece model: {error}") from error

    def encode(self, line: str) -> list[str]:
        return self._processor.encode(line, out_type=str)

    def decode(self, pieces: list[str]) -> str:
        return self._processor.decode(pieces)


class MosesBPE:
    """Words of the Moses tokenizer, ``@@`` after every piece but a word's last: fairseq's ``moses`` and ``fastbpe``."""

    def __init__(self, codes: str | Path, language: str):
        self._tokenizer, self._detokenizer = MosesTokenizer(language), MosesDetokenizer(language)
        self._bpe = BPE(merges(Path(codes)))

    def encode(self, line: str) -> list[str]:
        return self._bpe.segment_tokens(self._tokenizer.tokenize(line, aggressive_dash_splits=True))

    def decode(self, pieces: list[str]) -> str:
        words = f"{' '.join(pieces)} ".replace("@@ ", "").split()
        return self._detokenizer.detokenize(words)


def merges(path: Path) -> TextIO:
    """BPE codes as subword-nmt reads them; fastBPE's have a third column. Raises UserError for another file."""
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


def tokenizers(asked: dict[str, Any] | None, study: Path | None, languages: list[str]) -> list[Tokenizer]:
    """Of both sides. asked: the value of the configuration; None stands for the ``study``'s SentencePiece model.

    Raises UserError where there is neither.
    """
    asked = {key: value for key, value in (asked or {}).items() if value}
    if codes := asked.get("bpe"):
        return [MosesBPE(codes, language) for language in languages]
    paths = asked.get("sentencepiece", study)
    if paths is None:
        raise UserError("a model without a tokenization of its own needs the SentencePiece model of the study")
    if not isinstance(paths, list):
        paths = [paths] * 2
    return [SentencePiece(path) for path in paths]
