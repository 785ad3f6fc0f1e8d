"""Translate more than plain sentences: markup, paragraphs, and words that a model does not know.

A line is divided into texts, and a text into sentences; their translations are joined again. The engine's attention
says around which words tags go, and which source word stands for an unknown piece.
"""

import argparse
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UserError
from decode import markup, translator
from decode.engines import Batch
from decode.engines.interface import Attended
from decode.markup import Alignment, Line, Text
from decode.pipeline import Window
from decode.sentences import splitter
from decode.translator import Translator
from findings.altered_text import NO_SPACES
from formats.protection import Finder
from formats.sentence import sentence
from formats.tokenizers import of_folder

OPTIONS = {
    "html": "lines have markup: tags are put around what is aligned with their content",
    "sentences": "lines are paragraphs: each sentence is translated by itself",
    "replace_unknown": "write the aligned source word instead of a piece that the vocabulary lacks",
}


@dataclass(frozen=True)
class _Sentence:
    """A sentence, its place in its text, and the spaces behind it."""

    text: str
    begin: int
    behind: str


@dataclass(frozen=True)
class _Translated:
    """A sentence with its translation, and the engine's output if its attention is asked for."""

    source: _Sentence
    text: str
    output: Any


class RichTranslator(Translator):
    """A Translator for lines of markup (html), of paragraphs (sentences), and without unknown pieces.

    >>> next(RichTranslator("models/deep/native-int8", html=True).translate(["A <b>dog</b> runs."]))

    sentences: divide lines into sentences and translate these one by one. replace_unknown: write the aligned source
    word instead of an unknown piece. Raises UserError for a folder whose engine tells no attention, or without
    SentencePiece.
    """

    def __init__(
        self,
        folder: str | Path,
        html: bool = False,
        sentences: bool = False,
        replace_unknown: bool = False,
        **options: Any,
    ):
        aligned = html or replace_unknown
        if aligned and options.get("long_lines") == "split":
            raise UserError("--long-lines split: its parts cannot be aligned; divide lines with --sentences")
        if aligned and options.get("protect"):
            raise UserError(
                "--protect: what stands behind symbols cannot be aligned; leave out --html and --replace-unknown"
            )
        if aligned and options.get("recase"):
            raise UserError("--recase: changed text cannot be aligned; leave out --html and --replace-unknown")
        super().__init__(folder, alignment=aligned, **options)
        self._processors = of_folder(Path(folder)).processors
        if aligned and not self._processors:
            raise UserError(f"{folder}: only text in pieces of SentencePiece is aligned")
        self._html, self._replace_unknown, self._aligned = html, replace_unknown, aligned
        self.naming = not (html or sentences)
        self._split = splitter(self.description.source or "en") if sentences else None
        self._protected = Finder(options["protect"]) if options.get("protect") else None
        self._spaced = self.description.target not in NO_SPACES
        self._outputs: deque[Any] = deque()  # of the engine, for the texts that ``windows`` of Pipeline yields

    @property
    def settings(self) -> dict[str, Any]:
        own = {"html": self._html, "sentences": bool(self._split), "replace_unknown": self._replace_unknown}
        return super().settings | own

    def windows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Yield the translations of some lines, one per line, in order."""
        waiting: deque[tuple[str, list[Text | str], list[list[_Sentence]]]] = deque()

        def texts() -> Iterator[str]:
            for line in lines:
                parts: list[Text | str] = Line(line).parts if self._html else [Text(line)]
                divided = [[*self._divided(part.text)] for part in parts if isinstance(part, Text)]
                waiting.append((line, parts, divided))
                found = [one.text for sentences in divided for one in sentences]
                yield from found or [""]  # so that every line is waited for

        done: deque[tuple[str, Any]] = deque()
        for outputs in super().windows(texts()):
            done.extend((text, self._outputs.popleft() if self._aligned else None) for text in outputs)
            ready = []
            while waiting and len(done) >= max(sum(map(len, waiting[0][2])), 1):
                line, parts, divided = waiting.popleft()
                ready.append(self._joined(line, parts, [[*self._taken(texts, done)] for texts in divided]))
                if not any(divided):
                    done.popleft()
            yield ready

    def _finish(self, window: Window, outputs: Batch) -> list[str]:
        if self._aligned:
            self._outputs.extend(outputs)  # one for each line, as none is split
        return super()._finish(window, outputs)

    def _divided(self, text: str) -> Iterator[_Sentence]:
        """The sentences of a text that have more than spaces."""
        begin = 0
        parts: Iterable[str] = self._split(text) if self._split else [text]
        for part in _whole(parts, self._protected.found(text)) if self._protected else parts:
            core = part.strip()
            if core:
                lead = len(part) - len(part.lstrip())
                yield _Sentence(core, begin + lead, part[lead + len(core) :])
            begin += len(part)

    def _taken(self, sentences: list[_Sentence], done: deque[tuple[str, Any]]) -> Iterator[_Translated]:
        for source in sentences:
            text, output = done.popleft()
            yield _Translated(source, text, output)

    def _joined(self, line: str, parts: list[Text | str], translated: list[list[_Translated]]) -> str:
        """The translation of a line. translated: the sentences of each of its texts."""
        texts = iter(translated)
        written = "".join(part if isinstance(part, str) else self._written(part, next(texts)) for part in parts)
        lead = line[: len(line) - len(line.lstrip(" \t"))] if self._html else ""
        return lead + sentence(written)

    def _written(self, source: Text, sentences: list[_Translated]) -> str:
        """The translation of a text, with its elements and the spaces around it."""
        if not sentences:
            return markup.placed(source, source.text, _NOTHING, []) if self._html else ""
        if not source.elements and not any(self._has_unknown(one) for one in sentences):
            text = "".join(one.text + self._between(one, one is sentences[-1]) for one in sentences)
            return source.text[: sentences[0].source.begin] + (escape(text, quote=False) if self._html else text)
        text, spans, rows = "", [], []
        pieces: list[markup.Span] = []
        for one in sentences:
            own, alignment = self._alignment(one)
            pieces += [(begin + len(text), end + len(text)) for begin, end in alignment.target]
            spans += [(begin + one.source.begin, end + one.source.begin) for begin, end in alignment.source]
            rows.append(alignment.weights)
            text += own + self._between(one, one is sentences[-1])
        before = source.text[: sentences[0].source.begin]
        if not self._html:
            return before + text
        units = markup.units(text, None if self._spaced else pieces)
        return before + markup.placed(source, text, Alignment(spans, pieces, _blocks(rows)), units)

    def _between(self, one: _Translated, last: bool) -> str:
        """The spaces behind a sentence."""
        if last or (self._spaced and one.source.behind):
            return one.source.behind
        return " " if self._spaced else ""

    def _has_unknown(self, one: _Translated) -> bool:
        return self._replace_unknown and isinstance(one.output, Attended) and self._unknown in one.output.text

    @property
    def _unknown(self) -> str:
        assert self._processors
        unknown: str = self._processors[1].id_to_piece(self._processors[1].unk_id())
        return unknown

    def _alignment(self, one: _Translated) -> tuple[str, Alignment]:
        """The translation, and its pieces with those of the source."""
        assert self._processors
        if not isinstance(one.output, Attended) or not one.output:  # copied as it is
            words = markup.units(one.text)
            return one.text, Alignment(words, words, np.eye(len(words), dtype=np.float32))
        source, target = self._processors
        lengths = [len(piece.surface) for piece in source.encode(one.source.text, return_type="proto").pieces]
        spans = [(end - size, end) for size, end in zip(lengths, accumulate(lengths), strict=True)]
        text, pieces, copied = "", [], ""
        found = target.decode(one.output.text, return_type="proto").pieces
        for piece, row in zip(found, one.output.attention, strict=True):
            surface = piece.surface
            if self._replace_unknown and piece.piece == self._unknown:
                word = _word(one.source.text, spans[min(int(row.argmax()), len(spans) - 1)])
                surface = "" if word == copied else " " * bool(text and not text.endswith(" ")) + word
                copied = word
            else:
                copied = ""
            pieces.append((len(text), len(text) + len(surface)))
            text += surface
        return text.rstrip(), Alignment(spans, pieces, one.output.attention)


_NOTHING = Alignment([], [], np.zeros((0, 0), np.float32))


def _whole(sentences: Iterable[str], items: Iterable[re.Match[str]]) -> Iterator[str]:
    """The sentences of a text, of which none ends inside of a protected item, such as a URL with a question mark."""
    inside = {place for item in items for place in range(item.start() + 1, item.end())}
    waiting, end = "", 0
    for part in sentences:
        waiting, end = waiting + part, end + len(part)
        if end not in inside:
            yield waiting
            waiting = ""


def _word(text: str, span: markup.Span) -> str:
    """The word around a piece, without the marks at its ends."""
    begin, end = span
    while begin < end and text[begin].isspace():
        begin += 1
    end = max(end, begin + 1)
    while begin and not text[begin - 1].isspace():
        begin -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[begin:end].strip(".,;:!?()\"'") or text[begin:end]


def _blocks(matrices: list[Any]) -> Any:
    """The matrices along the diagonal of one: a sentence attends to its own source only."""
    whole = np.zeros(np.sum([matrix.shape for matrix in matrices], axis=0), np.float32)
    row = column = 0
    for matrix in matrices:
        rows, columns = matrix.shape
        whole[row : row + rows, column : column + columns] = matrix
        row, column = row + rows, column + columns
    return whole


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of RichTranslator."""
    for name, about in OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=about)


def loaded(args: argparse.Namespace, **options: Any) -> Translator:
    """As decode.translator, with these options."""
    chosen: dict[str, Any] = {name: True for name in OPTIONS if getattr(args, name)}
    return translator.loaded(args, partial(RichTranslator, **chosen) if chosen else Translator, **options)
