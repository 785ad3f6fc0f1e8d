"""What a translation aligns with its text."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

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
