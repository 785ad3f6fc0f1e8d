"""Find repeated records in bounded memory, however large the corpus is.

Keys go to buckets on disk by value, and each bucket is sorted in memory. The result is one bit a record. Among n
records, n^2 / 2^65 pairs of different records are expected to share a 64-bit key: 0.02 pairs of 800 million records.
"""

import math
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numba
import numpy as np
from numpy.typing import NDArray

from formats import records

KEYS_SUFFIX = ".keys"
BUCKET_KEYS = 1 << 20  # a bucket of 16 MB, with the numbers of the records; some 50 MB while it is sorted
READ_KEYS = 1 << 18

Keys = NDArray[np.uint64]
Marks = NDArray[np.uint8]
_ENTRY = np.dtype([("key", "<u8"), ("record", "<i8")])


def keys_file(path: Path) -> Path:
    """The file of a shard's keys: uint64[records, 2], little-endian."""
    return path.with_name(records.name(path) + KEYS_SUFFIX)


def repeated(keys: Iterable[Keys], total: int, folder: Path) -> Marks:
    """Mark the records whose key an earlier record has: packed bits, uint8[(total + 7) // 8], lowest bit first.

    keys: those of all ``total`` records in pieces of uint64[n]. folder: of temporary files, 16 bytes a record.
    """
    marks = np.zeros((total + 7) // 8, np.uint8)
    for bucket_keys, numbers in _buckets(keys, total, folder):
        order = np.argsort(bucket_keys, kind="stable")
        ordered = bucket_keys[order]
        repeats = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
        _mark(marks, numbers[order[repeats]])
    return marks


def marked(marks: Marks, first: int, count: int) -> NDArray[np.bool_]:
    """The marks of ``count`` records, beginning with record ``first``: bool[count]."""
    start = first // 8
    bits = np.unpackbits(marks[start : (first + count + 7) // 8], bitorder="little")
    return bits[first - 8 * start :][:count].astype(bool)


def read_keys(paths: Iterable[Path], column: int) -> Iterator[Keys]:
    """One key (0: exact, 1: folded) of every record in these files, in pieces of uint64[n]."""
    for path in paths:
        keys = np.memmap(path, "<u8", mode="r").reshape(-1, 2) if path.stat().st_size else np.empty((0, 2), "<u8")
        for start in range(0, len(keys), READ_KEYS):
            yield np.array(keys[start : start + READ_KEYS, column])


def _buckets(keys: Iterable[Keys], total: int, folder: Path) -> Iterator[tuple[Keys, NDArray[np.int64]]]:
    """The keys (uint64) and record numbers (int64) of each bucket, in the order of the corpus."""
    count = max(1, math.ceil(total / BUCKET_KEYS))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".keys.") as name, ExitStack() as stack:
        paths = [Path(name, str(number)) for number in range(count)]
        buckets = [stack.enter_context(open(path, "wb")) for path in paths]
        first = 0
        for piece in keys:
            entries = np.empty(len(piece), _ENTRY)
            entries["key"], entries["record"] = piece, np.arange(first, first + len(piece))
            first += len(piece)
            bucket_numbers = piece % np.uint64(count)
            order = np.argsort(bucket_numbers, kind="stable")
            ends = np.searchsorted(bucket_numbers[order], np.arange(1, count))
            for bucket, part in zip(buckets, np.split(entries[order], ends), strict=True):
                bucket.write(part.tobytes())
        for path, bucket in zip(paths, buckets, strict=True):
            bucket.close()
            entries = np.fromfile(path, _ENTRY)
            path.unlink()
            yield entries["key"].copy(), entries["record"].copy()


@numba.njit(cache=True)
def _mark(marks: Marks, numbers: NDArray[np.int64]) -> None:
    for number in numbers:
        marks[number >> 3] |= np.uint8(1 << (number & 7))
