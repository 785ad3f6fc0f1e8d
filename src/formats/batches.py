"""Batches of records as columns of bytes, for compiled loops that process a million sentences a second.

Not in formats.records, because importing numba takes half a second and 60 MB, which decoding does not need.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from formats.records import Record, Shard, frames, ragged
from nmt_frontier.files import StrPath

BATCH_BYTES = 1 << 20  # of text in a batch, at least
TAB, LINE_END = 9, 10  # ASCII, neighbours

Text = NDArray[np.uint8]
Places = NDArray[np.int64]


class Batch(NamedTuple):
    """Column c of record i is ``text[starts[i, c]:ends[i, c]]``. text: uint8, TSV; others: int64 (records, columns)."""

    text: Text
    starts: Places
    ends: Places

    def __len__(self) -> int:
        return len(self.starts)

    def record(self, row: int) -> Record:
        spans = zip(self.starts[row], self.ends[row], strict=True)
        return tuple(self.text[start:end].tobytes().decode() for start, end in spans)

    def lines(self, rows: Places) -> bytes:
        """Some records as lines of TSV. rows: int64 (n,), numbers of records."""
        lines: Text = _lines(self.text, self.starts[rows, 0], self.ends[rows, -1])
        return lines.tobytes()

    def first(self, columns: int) -> "Batch":
        """The same records with their first columns only."""
        return Batch(self.text, self.starts[:, :columns], self.ends[:, :columns])


def batches(path: StrPath, shard: Shard | None = None) -> Iterator[Batch]:
    """Stream a file, or one shard of it, thousands of records at a time. Raises UserError as formats.records.read."""
    columns, previous = 0, 0
    for text in _joined(frames(path, shard)):
        columns = columns or _columns(text)
        batch, complete = _batch(text, columns)
        if complete != len(batch):
            raise ragged(path, previous + complete + 1)
        previous += len(batch)
        yield batch


def indexed(text: bytes) -> Batch:
    """Make a batch from lines of TSV that all have as many columns as the first."""
    return _batch(text, _columns(text))[0]


def _batch(text: bytes, columns: int) -> tuple[Batch, int]:
    """The batch, and the number of records before the first one with another number of columns."""
    starts = np.empty((text.count(b"\n"), columns), np.int64)
    batch = Batch(np.frombuffer(text, np.uint8), starts, np.empty_like(starts))
    return batch, _index(*batch)


def _columns(text: bytes) -> int:
    return text[: text.find(b"\n")].count(b"\t") + 1


def _joined(texts: Iterable[bytes]) -> Iterator[bytes]:
    parts: list[bytes] = []
    for text in texts:
        parts.append(text)
        if sum(map(len, parts)) >= BATCH_BYTES:
            yield b"".join(parts)
            parts = []
    if parts:
        yield b"".join(parts)


@numba.njit(cache=True, nogil=True)
def _index(text: Text, starts: Places, ends: Places) -> int:
    """Fill in the starts and ends of a Batch; returns the number of records before the first ragged one."""
    row, column, start = 0, 0, 0
    last = starts.shape[1] - 1
    for place in range(len(text)):
        byte = text[place]
        if TAB <= byte <= LINE_END:
            if column > last or (byte == LINE_END and column != last):
                return row
            starts[row, column] = start
            ends[row, column] = place
            start = place + 1
            column += 1
            if byte == LINE_END:
                row, column = row + 1, 0
    return row


@numba.njit(cache=True, nogil=True)
def _lines(text: Text, starts: Places, ends: Places) -> Text:
    """Copy lines from ``text``, uint8, that begin at starts and end before ends, int64 (n,)."""
    size = 0
    for row in range(len(starts)):
        size += ends[row] - starts[row] + 1
    lines = np.empty(size, np.uint8)
    place = 0
    for row in range(len(starts)):
        for byte in range(starts[row], ends[row]):
            lines[place] = text[byte]
            place += 1
        lines[place] = LINE_END
        place += 1
    return lines
