"""How a model folder splits text into pieces: by SentencePiece, by BPE of words or of bytes, or at spaces.

The files in the folder decide: one SentencePiece model for both sides, one for each side, the codes of BPE over the
words of the Moses tokenizer, or a tokenizer of Hugging Face. A model without any translates lines of pieces with spaces
between them. A line for a model of several languages may begin with marks of them: ``>>deu_Latn<<`` the target, or two
the source and the target.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Protocol, TextIO

from sentencepiece import SentencePieceProcessor

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.model import model_folder
from nmt_frontier.model.model_folder import Description
from nmt_frontier.sentence import split_pieces

SHARED = model_folder.TOKENIZER
SIDES = ("source.sentencepiece.model", "target.sentencepiece.model")
CODES = "bpe.codes"
JSON, NUMBERS, MERGES = "tokenizer.json", "vocab.json", "merges.txt"  # of Hugging Face: one file, or two
FILES: Mapping[str, str] = {
    SHARED: "splits both languages into the pieces of the joint vocabulary",
    SIDES[0]: "splits the source language into pieces",
    SIDES[1]: "joins the pieces of the target language",
    CODES: "merges of BPE, which splits the words of the Moses tokenizer",
    JSON: "tokenizer of Hugging Face",
    NUMBERS: "pieces of byte-level BPE",
    MERGES: "merges of byte-level BPE",
}
PLAIN = "spaces"  # the field `tokenizer` of model.json where no file splits text
MARK = re.compile(r">>([^ ]+?)<<|<2([^ ]+?)>")  # of a language, at the start of a line; the second form is MADLAD-400's
MARKS = (">>", "<2")  # what they begin with

Processors = tuple[SentencePieceProcessor, SentencePieceProcessor]  # of source and target


class Tokenizer(Protocol):
    """Splits plain text into pieces, and joins pieces to plain text."""

    def encode(self, line: str) -> list[str]: ...
    def decode(self, pieces: list[str]) -> str: ...


class FolderTokenizer(Tokenizer, Protocol):
    """The tokenizer of a model folder. processors: of SentencePiece, if they alone split and join text."""

    processors: Processors | None


class SentencePieces:
    """The SentencePiece models of both sides."""

    def __init__(self, folder: Path):
        source, target = (pieces(folder / name) for name in SIDES)
        self._sides = source, target
        self.processors: Processors | None = self._sides

    def encode(self, line: str) -> list[str]:
        found: list[str] = self._sides[0].encode(line, out_type=str)
        return found

    def decode(self, pieces: list[str]) -> str:
        text: str = self._sides[1].decode(pieces)
        return text


class SharedSentencePiece:
    """One SentencePiece model for both sides."""

    def __init__(self, folder: Path):
        self._processor = pieces(folder / SHARED)
        self.processors: Processors | None = (self._processor, self._processor)

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

    processors: Processors | None = None

    def __init__(self, codes: Path, source: str, target: str | None = None, argos: bool = False):
        try:  # inside: few models need it
            from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer
            from subword_nmt.apply_bpe import BPE
        except ImportError as error:
            remedy = "pip install sacremoses subword-nmt"
            raise UserError(f"{codes}: splits text as Moses and by BPE ({error}); `{remedy}`") from None

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


class HuggingFace:
    """A tokenizer of Hugging Face's library, without the pieces that it puts around a sentence.

    Raises UserError if the library is not installed, and for a missing or damaged file.
    """

    processors: Processors | None = None

    def __init__(self, folder: Path):
        try:  # inside: few models need it
            from tokenizers import ByteLevelBPETokenizer, Tokenizer
        except ImportError as error:
            remedy = "pip install tokenizers"
            raise UserError(f"{folder}: splits text by Hugging Face's tokenizers ({error}); `{remedy}`") from None
        try:
            if (folder / JSON).exists():
                self._tokenizer = Tokenizer.from_file(str(folder / JSON))
            else:
                self._tokenizer = ByteLevelBPETokenizer.from_file(str(folder / NUMBERS), str(folder / MERGES))
        except Exception as error:  # the library raises no other class
            raise UserError(f"{folder}: {JSON}, or {NUMBERS} and {MERGES}, missing or damaged ({error})") from None
        # Text must not be cut or padded, as some files of this kind say.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, line: str) -> list[str]:
        found: list[str] = self._tokenizer.encode(line, add_special_tokens=False).tokens
        return found

    def decode(self, pieces: list[str]) -> str:
        decoder = self._tokenizer.decoder
        text: str = decoder.decode(pieces) if decoder else "".join(pieces)
        return text


def mark(code: str) -> str:
    """How a line asks for a language: >>de<<, but <2de> for MADLAD-400, whose codes are pieces."""
    return code if code.startswith("<") else f">>{code}<<"


def languages(pieces: Iterable[str]) -> dict[str, str]:
    """The pieces of a vocabulary that are marks of languages, by code: those of OPUS-MT's models of several targets."""
    return {match[1]: piece for piece in pieces if (match := MARK.fullmatch(piece)) and match[1]}


class Multilingual:
    """Text that may begin with marks of languages, whose codes are those of the model."""

    def __init__(self, tokenizer: FolderTokenizer, codes: Collection[str]):
        self._tokenizer, self._codes, self.decode = tokenizer, codes, tokenizer.decode
        self.processors = tokenizer.processors  # of a line without marks
        any_of = f"(?:{'|'.join(re.escape(mark(code)) for code in codes)})"
        self._marks = re.compile(rf"({any_of}) ?({any_of})? ?")
        self._form = tuple({mark(code)[:2] for code in codes})

    def encode(self, line: str) -> list[str]:
        """Raises UserError for a mark of a language that the model does not have."""
        match = self._marks.match(line)
        text = line[match.end() :] if match else line
        if text.startswith(self._form) and (other := MARK.match(text)):
            some = ", ".join(map(mark, [*self._codes][:3]))
            raise UserError(
                f"a line begins with {other[0]}, a language that the model does not have; it has {len(self._codes)},"
                f" like {some}"
            )
        return [*filter(None, match.groups() if match else ()), *self._tokenizer.encode(text)]


class Spaces:
    """Lines are pieces with spaces between them."""

    processors: Processors | None = None

    def encode(self, line: str) -> list[str]:
        return split_pieces(line)

    def decode(self, pieces: list[str]) -> str:
        return " ".join(pieces)


def of_folder(folder: Path, description: Description | None = None) -> FolderTokenizer:
    """The tokenizer of a model folder. Raises UserError for a missing or damaged file."""
    if description is None and (folder / model_folder.DESCRIPTION).exists():
        description = model_folder.describe(folder)
    tokenizer = _of_files(folder, description)
    return Multilingual(tokenizer, description.languages) if description and description.languages else tokenizer


def _of_files(folder: Path, description: Description | None) -> FolderTokenizer:
    if any((folder / name).exists() for name in SIDES):
        return SentencePieces(folder)
    if (folder / CODES).exists():
        described = description or model_folder.describe(folder)
        return MosesBPE(folder / CODES, described.source or "en", described.target or "en", argos=True)
    if any((folder / name).exists() for name in (JSON, NUMBERS, MERGES)):
        return HuggingFace(folder)
    if (folder / SHARED).exists() or not description or description.tokenizer != PLAIN:
        return SharedSentencePiece(folder)
    return Spaces()


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


def pieces(path: Path) -> SentencePieceProcessor:
    """Load a SentencePiece model. Raises UserError for a missing or damaged file."""
    if not path.exists():
        raise UserError(f"{path} is missing; export the model again")
    try:
        return SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError) as error:
        first_bytes.check_files([path], zipped=False)
        raise UserError(f"{path}: not a SentencePiece model; export the model again") from error
