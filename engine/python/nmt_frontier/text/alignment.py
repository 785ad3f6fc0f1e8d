"""What a translation aligns with its text, and what the engine's attention says of it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.sentence import sentence
from nmt_frontier.text.stage import Translation
from nmt_frontier.text.surfaces import decoded, encoded
from nmt_frontier.text.tokenizers import Processors

Span = tuple[int, int]  # characters, or units, from the first to the one behind the last


@dataclass(frozen=True)
class Alignment:
    """Characters of pieces of a source and of its translation; weights: float32 [translation, source].

    whole: characters of the translation that no tag may divide.
    """

    source: Sequence[Span]
    target: Sequence[Span]
    weights: NDArray[np.float32]
    whole: Sequence[Span] = ()


_UNIT = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+|\S")
NOTHING = Alignment([], [], np.zeros((0, 0), np.float32))


def units(text: str, pieces: Iterable[Span] | None = None, items: Iterable[Span] = ()) -> list[Span]:
    """Words, numbers and marks; in a language without spaces what they are inside of ``pieces``; items whole."""
    spans = [(0, len(text))] if pieces is None else pieces
    inside = {place for begin, end in items for place in range(begin + 1, end)}
    found: list[Span] = []
    for match in (match for begin, end in spans for match in _UNIT.finditer(text, begin, end)):
        found.append((found.pop()[0] if found and match.start() in inside else match.start(), match.end()))
    return found


def copied(text: str, whole: Sequence[Span] = ()) -> Alignment:
    """Of a text that is its own translation."""
    words = units(text)
    return Alignment(words, words, np.eye(len(words), dtype=np.float32), whole)


def joined(parts: Iterable[tuple[int, int, Alignment]]) -> Alignment:
    """Of texts in a text, each aligned with its own translation only: where both begin, and their alignment."""
    parts = [*parts]
    return Alignment(
        [span for source, _, part in parts for span in shifted(part.source, source)],
        [span for _, target, part in parts for span in shifted(part.target, target)],
        _blocks([part.weights for *_, part in parts]),
        [span for _, target, part in parts for span in shifted(part.whole, target)],
    )


def shifted(spans: Iterable[Span], by: int) -> list[Span]:
    return [(begin + by, end + by) for begin, end in spans]


def moved(spans: Sequence[Span], moves: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    """Spans in a changed text; int64 [spans, 2]. moves: places before and after the change, in order."""
    places, new = zip(*moves, strict=True)
    return np.interp(np.array(spans, np.float64).reshape(-1, 2), places, new).astype(np.int64)


def stretched(alignment: Alignment, before: int, after: int) -> Alignment:
    """The alignment of a translation whose letters were changed, with its length before and after.

    Nearly always these are equal; a few ligatures are two letters in capitals, and places are then near the true ones.
    """
    if before == after:
        return alignment
    moves = [(0, 0), (before, after)]
    target, whole = (moved(spans, moves).tolist() for spans in (alignment.target, alignment.whole))
    return replace(alignment, target=target, whole=whole)


def _blocks(matrices: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """The matrices along the diagonal of one."""
    whole = np.zeros(np.sum([(0, 0), *(matrix.shape for matrix in matrices)], axis=0), np.float32)
    row = column = 0
    for matrix in matrices:
        rows, columns = matrix.shape
        whole[row : row + rows, column : column + columns] = matrix
        row, column = row + rows, column + columns
    return whole


class Attended(list[Any]):
    """A translation in pieces, as the engine numbers them or as text.

    text: its pieces as text. attention: of the head that is aligned, else the mean of the last layer's; float32
    [pieces; pieces of the source]. looped: whether its end was cut off, as in Looped.
    """

    def __init__(self, pieces: Iterable[Any], text: list[str], attention: NDArray[np.float32], looped: bool):
        super().__init__(pieces)
        self.text, self.attention, self.looped = text, attention, looped


class Attention:
    """Makes translations of what the engine attends to.

    replace_unknown: write the aligned source word instead of an unknown piece.
    """

    def __init__(self, processors: Processors, replace_unknown: bool):
        (self._source, self._target), self._replace_unknown = processors, replace_unknown
        self.unknown: str = self._target.id_to_piece(self._target.unk_id())

    def translation(self, source: str, text: str, output: object) -> Translation:
        """text: the engine's output as text; output: Attended, or nothing if the text was not decoded, but copied."""
        if not isinstance(output, Attended) or not output:
            return Translation(text, lambda: self._undecoded(source, text))
        if not self._replace_unknown or self.unknown not in output.text:
            return Translation(text, lambda: self._aligned(source, text, output, self._surfaces(output)))
        surfaces = self._replaced(source, output)
        text = sentence("".join(surfaces))
        return Translation(text, lambda: self._aligned(source, text, output, surfaces))

    def _undecoded(self, source: str, text: str) -> Alignment:
        if text:
            return copied(text)
        spans = self._pieces(source)  # the model left it empty
        return Alignment(spans, [], np.zeros((0, len(spans)), np.float32))

    def _aligned(self, source: str, text: str, output: Attended, surfaces: Sequence[str]) -> Alignment:
        ends = [0, *accumulate(map(len, surfaces))]
        whole = "".join(surfaces)
        if whole.strip() != text:  # composed, or with other spaces
            ends = [len(normalize("NFC", whole[:end])) for end in ends]
        lead = len(whole) - len(whole.lstrip())
        places = [min(max(end - lead, 0), len(text)) for end in ends]
        return Alignment(self._pieces(source), [*pairwise(places)], output.attention)

    def _pieces(self, text: str) -> list[Span]:
        lengths = [*map(len, encoded(self._source, text))]
        return [(end - size, end) for size, end in zip(lengths, accumulate(lengths), strict=True)]

    def _surfaces(self, output: Attended) -> list[str]:
        return decoded(self._target, output.text)

    def _replaced(self, source: str, output: Attended) -> list[str]:
        """The text of each piece; for an unknown one that of the source word, once if several in a row share it."""
        spans, found, before = self._pieces(source), list[str](), ""
        for piece, surface, row in zip(output.text, self._surfaces(output), output.attention, strict=True):
            word = _word(source, spans[min(int(row.argmax()), len(spans) - 1)]) if piece == self.unknown else ""
            if word:
                apart = bool(found) and not "".join(found).endswith(" ")
                surface = "" if word == before else " " * apart + word
            found.append(surface)
            before = word
        return found


def _word(text: str, span: Span) -> str:
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
