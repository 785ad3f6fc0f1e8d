"""How a model folder splits text into pieces: by SentencePiece, by BPE over the Moses tokenizer, or at spaces.

The files in the folder decide: one SentencePiece model for both sides, one for each side, or the codes of BPE. A model
without any translates lines of pieces with spaces between them.
"""

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Protocol, TextIO

from common.errors import UserError
from formats import model_folder
from formats.loading import pieces
from formats.model_folder import Description
from formats.sentence import split_pieces

SHARED = model_folder.TOKENIZER
SIDES = ("source.sentencepiece.model", "target.sentencepiece.model")
CODES = "bpe.codes"
FILES: Mapping[str, str] = {
    SHARED: "splits both languages into the pieces of the joint vocabulary",
    SIDES[0]: "splits the source language into pieces",
    SIDES[1]: "joins the pieces of the target language",
    CODES: "merges of BPE, which splits the words of the Moses tokenizer",
}
PLAIN = "spaces"  # the field `tokenizer` of model.json where no file splits text
LANGUAGE = re.compile(r">>\S+?<< ?")  # at the start of a source: the piece by which OPUS-MT's models know the target


class Tokenizer(Protocol):
    """Splits plain text into pieces, and joins pieces to plain text."""

    def encode(self, line: str) -> list[str]: ...
    def decode(self, pieces: list[str]) -> str: ...


class SentencePieces:
    """The SentencePiece models of both sides; a source may begin with the piece of a language if they are two."""

    def __init__(self, folder: Path):
        self._sides = [pieces(folder / name) for name in SIDES]

    def encode(self, line: str) -> list[str]:
        match = LANGUAGE.match(line)
        text = line[match.end() :] if match else line
        return [*([match[0].rstrip()] if match else []), *self._sides[0].encode(text, out_type=str)]

    def decode(self, pieces: list[str]) -> str:
        text: str = self._sides[1].decode(pieces)
        return text


class SharedSentencePiece:
    """One SentencePiece model for both sides."""

    def __init__(self, folder: Path):
        self._processor = pieces(folder / SHARED)

    def encode(self, line: str) -> list[str]:
        found: list[str] = self._processor.encode(line, out_type=str)
        return found

    def decode(self, pieces: list[str]) -> str:
        text: str = self._processor.decode(pieces)
        return text


class MosesBPE:
    """BPE of Moses tokens, with ``@@`` after all pieces of a word but the last.

    As fairseq's ``moses`` it splits words at dashes, too; for ``argos`` it does not, and normalises punctuation first.
    target: the language of the other side, if the tokenizer has both.
    """

    def __init__(self, codes: Path, source: str, target: str | None = None, argos: bool = False):
        from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer  # inside: few models need it
        from subword_nmt.apply_bpe import BPE

        self._tokenizer, self._detokenizer = MosesTokenizer(source), MosesDetokenizer(target or source)
        self._normalizer = MosesPunctNormalizer(source) if argos else None
        self._bpe, self._dashes = BPE(merges(codes)), not argos

    def encode(self, line: str) -> list[str]:
        line = self._normalizer.normalize(line) if self._normalizer else line
        found: list[str] = self._bpe.segment_tokens(self._tokenizer.tokenize(line, aggressive_dash_splits=self._dashes))
        return found

    def decode(self, pieces: list[str]) -> str:
        words = f"{' '.join(pieces)} ".replace("@@ ", "").split()
        text: str = self._detokenizer.detokenize(words)
        return text


class Spaces:
    """Lines are pieces with spaces between them."""

    def encode(self, line: str) -> list[str]:
        return split_pieces(line)

    def decode(self, pieces: list[str]) -> str:
        return " ".join(pieces)


def of_folder(folder: Path, description: Description | None = None) -> Tokenizer:
    """The tokenizer of a model folder. Raises UserError for a missing or damaged file."""
    if any((folder / name).exists() for name in SIDES):
        return SentencePieces(folder)
    if (folder / CODES).exists():
        description = description or model_folder.describe(folder)
        languages = description.source or "en", description.target or "en"
        return MosesBPE(folder / CODES, *languages, argos=True)
    if (folder / SHARED).exists() or not (folder / model_folder.DESCRIPTION).exists():
        return SharedSentencePiece(folder)
    description = description or model_folder.describe(folder)
    return Spaces() if description.tokenizer == PLAIN else SharedSentencePiece(folder)


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
