"""Translate more than plain sentences: markup, paragraphs, and words that a model does not know.

A line is divided into texts, and a text into sentences; their translations are joined again. The engine's attention
says around which words tags go, and which source word stands for an unknown piece. What is protected is hidden in each
sentence by itself, and aligned with itself.
"""

import argparse
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.errors import UserError
from decode import markup, translator
from decode.engines import Batch
from decode.engines.interface import Attended
from decode.markup import Alignment, Line, Text
from decode.pipeline import Window
from decode.protection import BYTE_ORDER_MARK, Hidden, Moves, Protection, Restored
from decode.sentences import splitter
from decode.translator import Translator
from findings.altered_text import NO_SPACES
from formats.sentence import one_line, sentence
from formats.tokenizers import of_folder

OPTIONS = {
    "html": "lines have markup: tags are put around what is aligned with their content",
    "sentences": "lines are paragraphs: each sentence is translated by itself",
    "replace_unknown": "write the aligned source word instead of a piece that the vocabulary lacks",
}


@dataclass(frozen=True)
class _Sentence:
    """A sentence as it is translated, its place in its text, and the spaces behind it."""

    hidden: Hidden
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
        if aligned and options.get("protect_missing") == "keep":
            raise UserError("--protect-missing keep: lines in pieces cannot be aligned; give --protect-missing append")
        if aligned and options.get("recase"):
            raise UserError("--recase: changed text cannot be aligned; leave out --html and --replace-unknown")
        super().__init__(folder, alignment=aligned, **options)
        self._processors = of_folder(Path(folder)).processors
        if aligned and not self._processors:
            raise UserError(f"{folder}: only text in pieces of SentencePiece is aligned")
        self._html, self._replace_unknown, self._aligned = html, replace_unknown, aligned
        self.naming = not (html or sentences)
        self._split = splitter(self.description.source or "en") if sentences else None
        self._protected = self._protection.finder if self._protection else None
        self._hiding: Protection | None = None
        if aligned:  # items come back with what is aligned with them, not before
            self._protection, self._hiding = None, self._protection
        self._spaced = self.description.target not in NO_SPACES
        self._within = False  # whether more of its line follows the text that was read last
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
                line = line.removeprefix(BYTE_ORDER_MARK)
                parts: list[Text | str] = Line(line).parts if self._html else [Text(line)]
                divided = [[*self._divided(part.text)] for part in parts if isinstance(part, Text)]
                waiting.append((line, parts, divided))
                found = [one.hidden.text for sentences in divided for one in sentences]
                for place, text in enumerate(found or [""], 1):  # so that every line is waited for
                    self._within = place < len(found)
                    yield text

        for outputs in super().windows(texts()):
            done = deque((text, self._outputs.popleft() if self._aligned else None) for text in outputs)
            ready = []
            while done:
                line, parts, divided = waiting.popleft()
                ready.append(self._joined(line, parts, [[*self._taken(texts, done)] for texts in divided]))
                if not any(divided):
                    done.popleft()
            yield ready

    def _may_end(self) -> bool:
        """Only with a line: what of it another window had would be counted before the line is written."""
        return not self._within

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
                hidden = self._hiding.hide(core) if self._hiding else Hidden(core)
                yield _Sentence(hidden, begin + lead, part[lead + len(core) :])
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
        return lead + (one_line if self._protected else sentence)(written)  # a protected item stays in its form

    def _written(self, source: Text, sentences: list[_Translated]) -> str:
        """The translation of a text, with its elements and the spaces around it."""
        if not sentences:
            return markup.placed(source, source.text, _NOTHING, []) if self._html else ""
        if not source.elements and not any(self._has_unknown(one) for one in sentences):
            kept = [self._restored(one.source.hidden, one.text).text for one in sentences]
            text = "".join(
                own + self._between(one, one is sentences[-1]) for own, one in zip(kept, sentences, strict=True)
            )
            return source.text[: sentences[0].source.begin] + (escape(text, quote=False) if self._html else text)
        text, spans, rows = "", [], []
        pieces: list[markup.Span] = []
        items: list[markup.Span] = []
        for one in sentences:
            own, alignment, found = self._alignment(one)
            items += [(begin + len(text), end + len(text)) for begin, end in found]
            pieces += [(begin + len(text), end + len(text)) for begin, end in alignment.target]
            spans += [(begin + one.source.begin, end + one.source.begin) for begin, end in alignment.source]
            rows.append(alignment.weights)
            text += own + self._between(one, one is sentences[-1])
        before = source.text[: sentences[0].source.begin]
        if not self._html:
            return before + text
        units = markup.units(text, None if self._spaced else pieces, items)
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

    def _restored(self, hidden: Hidden, output: str) -> Restored:
        return self._hiding.restored(hidden, output) if self._hiding else Restored(output)

    def _alignment(self, one: _Translated) -> tuple[str, Alignment, list[markup.Span]]:
        """The translation, its pieces with those of the source, and where protected items are, which tags go around."""
        hidden = one.source.hidden
        if isinstance(one.output, Attended) and one.output:
            text, alignment = self._attended(hidden.text, one.output)
        elif hidden.items and hidden.copy is None:  # the model left it empty
            spans = self._pieces(hidden.text)
            text, alignment = "", Alignment(spans, [], np.zeros((0, len(spans)), np.float32))
        else:  # copied as it is
            text = one.text if hidden.copy is None else hidden.copy
            words = markup.units(text)
            alignment = Alignment(words, words, np.eye(len(words), dtype=np.float32))
        kept = self._restored(hidden, text)
        spans = [(begin, begin + len(item.text)) for begin, item in kept.items]
        if self._protected:
            spans += [match.span() for match in self._protected.found(kept.text)]  # those that were no symbols, too
        return kept.text, _with_items(alignment, hidden, kept) if kept.moves else alignment, spans

    def _pieces(self, text: str) -> list[markup.Span]:
        assert self._processors
        lengths = [len(piece.surface) for piece in self._processors[0].encode(text, return_type="proto").pieces]
        return [(end - size, end) for size, end in zip(lengths, accumulate(lengths), strict=True)]

    def _attended(self, source: str, output: Attended) -> tuple[str, Alignment]:
        """The model's translation, and its pieces with those of the source, both as the model has them."""
        assert self._processors
        spans = self._pieces(source)
        text, pieces, copied = "", [], ""
        found = self._processors[1].decode(output.text, return_type="proto").pieces
        for piece, row in zip(found, output.attention, strict=True):
            surface = piece.surface
            if self._replace_unknown and piece.piece == self._unknown:
                word = _word(source, spans[min(int(row.argmax()), len(spans) - 1)])
                surface = "" if word == copied else " " * bool(text and not text.endswith(" ")) + word
                copied = word
            else:
                copied = ""
            pieces.append((len(text), len(text) + len(surface)))
            text += surface
        return text.rstrip(), Alignment(spans, pieces, output.attention)


_NOTHING = Alignment([], [], np.zeros((0, 0), np.float32))


def _with_items(alignment: Alignment, hidden: Hidden, kept: Restored) -> Alignment:
    """The alignment of a sentence and its translation with their items, each of which is aligned with itself."""
    source, target = _moved(alignment.source, hidden.moves), _moved(alignment.target, kept.moves)
    rows = [*alignment.weights]
    appended: list[markup.Span] = []
    for begin, item in kept.items:
        own = begin, begin + len(item.text)
        row = np.zeros(alignment.weights.shape[1], np.float32)
        row[_common(source[: len(row)], (item.begin, item.begin + len(item.text)))] = 1
        pieces = _common(target, own)
        if not len(pieces):
            appended.append(own)
            rows.append(row)
        for piece in pieces:
            rows[piece] = row
    weights = np.array(rows, np.float32).reshape(len(rows), alignment.weights.shape[1])
    return Alignment(source.tolist(), [*target.tolist(), *appended], weights)


def _moved(spans: Sequence[markup.Span], moves: Moves) -> NDArray[np.int64]:
    places, new = zip(*moves, strict=True)
    return np.interp(np.array(spans, np.float64).reshape(-1, 2), places, new).astype(np.int64)


def _common(spans: NDArray[np.int64], wanted: markup.Span) -> NDArray[np.int64]:
    """The places of those spans that have characters in common with another one."""
    return np.flatnonzero(np.maximum(spans[:, 0], wanted[0]) < np.minimum(spans[:, 1], wanted[1]))


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
