"""The vocabulary of the native engine, ``vocabulary.json``: the pieces of each side, by number."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from nmt_frontier.model import native_files, safetensors_header

NAME = "vocabulary.json"
NO_TEXT = re.compile(r"<\S+>|>>\S+<<|__\w+__|[a-z]{2,3}_[A-Z][A-Za-z]+")  # pieces like <2de>, __de__ and deu_Latn

_BYTE = re.compile("<0x([0-9A-F]{2})>")


def _looped_text(piece: str) -> bytes:
    if byte := _BYTE.fullmatch(piece):
        return bytes.fromhex(byte[1]).replace(b"\0", b"")
    return piece.replace("▁", " ").encode().lower().replace(b"\0", b"")


class Vocabulary:
    """The pieces of a model by number, and those before and after a source sentence (prefix, suffix).

    source and target: the pieces of each side, the same list if the vocabulary is joint. unknown: replaces pieces that
    are not in ``source``. target_prefix: every translation begins with it. hidden: target pieces that are no text.
    languages: pieces by code, of a model whose prefixes are the languages of both sides; only in memory, folders have
    them in their description.
    """

    def __init__(
        self,
        source: list[str],
        target: list[str],
        unknown: str,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        target_prefix: Sequence[str] = (),
        languages: Mapping[str, str] | None = None,
        hidden: Sequence[str] = (),
    ):
        self.source, self.target, self.unknown = source, target, unknown
        self.prefix, self.suffix, self.target_prefix = [*prefix], [*suffix], [*target_prefix]
        self.languages, self.hidden = dict(languages or {}), [*hidden]

    @classmethod
    def read(cls, folder: Path) -> "Vocabulary":
        """Raises UserError for a missing or damaged file."""
        path = folder / NAME
        try:
            stored = read_json(path)
            frame = {name: stored[name] for name in ("unknown", "prefix", "suffix")}
            frame |= {name: stored.get(name, []) for name in ("target_prefix", "hidden")}
            return cls(stored["source"], stored.get("target", stored["source"]), **frame)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path}: missing or damaged ({error}); export the model again") from None

    def require_sizes(self, folder: Path) -> None:
        """Raises UserError where the weights have another number of pieces, or the unknown piece is missing."""
        numbers, path = safetensors_header.metadata(folder / native_files.WEIGHTS), folder / NAME
        for side, pieces in (("source", self.source), ("target", self.target)):
            if str(len(pieces)) != (needed := numbers.get(f"{side}_pieces", "")):
                counts = f"{len(pieces)} {side} pieces, the weights have {needed}"
                raise UserError(f"{path}: has {counts}; export the model again")
        if self.unknown not in self.source_numbers:
            raise UserError(f"{path}: {self.unknown} is none of its pieces; export the model again")

    def reframe(self, origin: Path, frame: Mapping[str, Sequence[str]]) -> None:
        """Replace ``prefix``, ``suffix`` and ``target_prefix``, by name. origin: for messages.

        Raises UserError for a piece that the model does not have, unless it is text of a source.
        """
        for name, pieces in frame.items():
            begins = name == "target_prefix"
            numbers = self.target_numbers if begins else self.source_numbers
            if missing := [piece for piece in pieces if piece not in numbers and (begins or NO_TEXT.fullmatch(piece))]:
                raise UserError(f"{origin}: a prefix has {missing[0]}, which is no piece of the model")
            setattr(self, name, [*pieces])

    def write(self, folder: Path) -> None:
        stored = {"source": self.source, "unknown": self.unknown, "prefix": self.prefix, "suffix": self.suffix}
        if self.target != self.source:
            stored["target"] = self.target
        stored |= {name: found for name in ("target_prefix", "hidden") if (found := getattr(self, name))}
        write_json(folder / NAME, stored)

    @cached_property
    def source_numbers(self) -> dict[str, int]:
        return {piece: number for number, piece in enumerate(self.source)}

    @cached_property
    def target_numbers(self) -> dict[str, int]:
        if self.target == self.source:
            return self.source_numbers
        return {piece: number for number, piece in enumerate(self.target)}

    def numbers(self, sentence: Sequence[str], prefix: Sequence[str] | None = None) -> list[int]:
        """A source sentence in pieces as numbers, with prefix, another one if it is given, and suffix."""
        before, after = self._frame
        return [*(before if prefix is None else self.unframed(prefix)), *self.unframed(sentence), *after]

    def unframed(self, sentence: Sequence[str]) -> list[int]:
        """As ``numbers``, without prefix and suffix."""
        numbers = self.source_numbers
        unknown = numbers[self.unknown]
        return [numbers.get(piece, unknown) for piece in sentence]

    def framed(self, numbers: Sequence[int]) -> list[int]:
        """A source sentence in numbers with prefix and suffix."""
        prefix, suffix = self._frame
        return [*prefix, *numbers, *suffix]

    @cached_property
    def _frame(self) -> tuple[list[int], list[int]]:
        return self.unframed(self.prefix), self.unframed(self.suffix)

    @cached_property
    def beginning(self) -> list[int]:
        """``target_prefix`` in numbers."""
        return [self.target_numbers[piece] for piece in self.target_prefix]

    def pieces(self, numbers: Sequence[int]) -> list[str]:
        return [self.target[number] for number in numbers]

    def without_hidden(self, numbers: list[int]) -> list[int]:
        """The numbers of a translation without pieces that are no text."""
        hidden = self._hidden_numbers
        return [number for number in numbers if number not in hidden] if hidden else numbers

    def texts(self) -> tuple[list[bytes], list[bytes]]:
        """The texts of source and target pieces in which the engine seeks loops (engine/search/loops.cpp).

        Letters of ASCII are in lower case, and a word begins with a space. Pieces that are no text are empty, and
        so is an unknown source piece, as it may be any.
        """
        sides = (self.source, {self.unknown}), (self.target, {*self.hidden})
        source, target = ([b"" if piece in no else _looped_text(piece) for piece in side] for side, no in sides)
        return source, target

    @cached_property
    def _hidden_numbers(self) -> set[int]:
        return {self.target_numbers[piece] for piece in self.hidden}
