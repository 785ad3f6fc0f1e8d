"""Records in columns, for compiled loops over the bytes of a million sentences a second.

Apart from formats.records because numba takes half a second and 60 MB to import: decoding should not pay for that.
"""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numba
import numpy as np

from formats.records import Record, Shard, frames, ragged

BATCH_BYTES = 1 << 20  # of text in a batch


class Batch(NamedTuple):
    """Some records in columns: side c of record i is ``text[starts[i, c]:ends[i, c]]``.

    ``text`` is uint8 and holds the lines one after the other; ``starts`` and ``ends`` are int64[records, columns].
    """

    text: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)

    def record(self, row: int) -> Record:
        spans = zip(self.starts[row], self.ends[row], strict=True)
        return tuple(self.text[start:end].tobytes().decode() for start, end in spans)

    def lines(self, rows: np.ndarray) -> bytes:
        """These records as lines of TSV; ``rows`` are int64 numbers of records."""
        return _lines(self.text, self.starts[rows, 0], self.ends[rows, -1]).tobytes()


def batches(path: str | os.PathLike, shard: Shard | None = None) -> Iterator[Batch]:
    """Stream a file, or one shard of it, some thousand records at a time. Raises UserError as formats.records.read."""
    columns, number = 0, 0
    for text in _joined(frames(path, shard)):
        columns = columns or _columns(text)
        batch, done = _batch(text, columns)
        if done != len(batch):
            raise ragged(path, number + done + 1)
        number += len(batch)
        yield batch


def indexed(text: bytes) -> Batch:
    """Lines of TSV, all of as many columns as the first, as a batch."""
    return _batch(text, _columns(text))[0]


def _batch(text: bytes, columns: int) -> tuple[Batch, int]:
    """The batch, and how many of its records have all their columns."""
    starts = np.empty((text.count(b"\n"), columns), np.int64)
    batch = Batch(np.frombuffer(text, np.uint8), starts, np.empty_like(starts))
    return batch, _index(*batch)


def _columns(text: bytes) -> int:
    return text[: text.find(b"\n")].count(b"\t") + 1


def _joined(texts: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    for text in texts:
        held.append(text)
        if sum(map(len, held)) >= BATCH_BYTES:
            yield b"".join(held)
            held = []
    if held:
        yield b"".join(held)


@numba.njit(cache=True, nogil=True)
def _index(text: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> int:
    """Fill in where each side begins and ends; the number of records that have all their columns."""
    row, column, start = 0, 0, 0
    last = starts.shape[1] - 1
    for place in range(len(text)):
        byte = text[place]
        if byte == 9 or byte == 10:
            if column > last or (byte == 10 and column != last):
                return row
            starts[row, column] = start
            ends[row, column] = place
            start = place + 1
            column += 1
            if byte == 10:
                row, column = row + 1, 0
    return row


@numba.njit(cache=True, nogil=True)
def _lines(text: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    size = 0
    for row in range(len(starts)):
        size += ends[row] - starts[row] + 1
    lines = np.empty(size, np.uint8)
    place = 0
    for row in range(len(starts)):
        for byte in range(starts[row], ends[row] + 1):  # the line end is copied too
            lines[place] = text[byte]
            place += 1
    return lines
