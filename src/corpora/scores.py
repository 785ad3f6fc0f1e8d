"""Scores of records: numbers in the last columns of a corpus until bounds have been asked.

They are written as ``repr`` of Python's float has them, so that nothing of a number is lost.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from corpora.readers.reader import NO_SCORE, Block, Unread
from formats.batches import Batch

Numbers = NDArray[np.float64]
_SIGN = np.uint64(1 << 63)


def with_numbers(block: Block, names: Sequence[str], before: int, unread: Unread) -> Block:
    """A block whose scores are finite numbers; a record with another one is dropped.

    names: of the scores, which are the last columns. before: records that were read before it.
    """
    sides, scores, dropped = block.columns[: -len(names)], block.columns[-len(names) :], dict(block.dropped)
    written: list[list[str]] = []
    for name, cells in zip(names, scores, strict=True):
        numbers = [*map(number_in, cells)]
        for row, number in enumerate(numbers):
            if number is None and row not in dropped:
                what = f"{cells[row][:40]!r} is no number" if cells[row] else "is missing"
                unread.add(NO_SCORE, f"record {before + row + 1:,}: score {name}: {what}", sides[0][row])
                dropped[row] = NO_SCORE
        written.append(["" if number is None else repr(number) for number in numbers])
    return Block([*sides, *written], dropped)


def number_in(text: str) -> float | None:
    """The finite number that a text is, if it is one; 1_0 is 10 to Python, and so are digits of other scripts."""
    with suppress(ValueError):
        if text.isascii() and "_" not in text and math.isfinite(number := float(text)):
            return number
    return None


def column(batch: Batch, place: int) -> Numbers:
    """The numbers in a column of a batch: float64[records]."""
    text = batch.text.tobytes()
    spans = zip(batch.starts[:, place].tolist(), batch.ends[:, place].tolist(), strict=True)
    return np.array([float(text[start:end]) for start, end in spans], np.float64)


def ascending(numbers: Numbers) -> NDArray[np.uint64]:
    """Keys in the order of the numbers: uint64, equal for equal numbers."""
    bits = (numbers + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    return np.where(bits >> np.uint64(63), ~bits, bits | _SIGN)


def number_of(key: int) -> float:
    """The number that has this key."""
    bits = np.uint64(key)
    return float((bits ^ _SIGN if bits & _SIGN else ~bits).view(np.float64))


def nth(pieces: Callable[[], Iterable[NDArray[np.uint64]]], n: int) -> tuple[int, int] | None:
    """The n-th smallest key, n from 1, and how many of the keys that equal it are among the n smallest.

    None if there are fewer. pieces: all keys, once for each quarter of their bits; memory does not grow with them.
    """
    found = 0
    for shift in (48, 32, 16, 0):
        counts = np.zeros(1 << 16, np.int64)
        for keys in pieces():
            alike = keys if shift == 48 else keys[keys >> np.uint64(shift + 16) == np.uint64(found)]
            digits = (alike >> np.uint64(shift)).astype(np.uint16)
            counts += np.bincount(digits, minlength=1 << 16)
        ends = np.cumsum(counts)
        if ends[-1] < n:
            return None
        digit = int(np.searchsorted(ends, n))
        n -= int(ends[digit] - counts[digit])
        found = found << 16 | digit
    return found, n
