"""Which records of a corpus are there twice, in bounded memory however large the corpus is.

Keys are dealt to buckets on disk by their value, so that equal keys meet in one bucket, and each bucket is sorted in
memory. What comes out is one bit a record. Two different records have the same 64-bit key by chance: of n records
n^2 / 2^65 pairs do, one in 23,000 for 40 million records, 0.02 for 800 million.
"""

import math
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numba
import numpy as np

BUCKET_KEYS = 1 << 20  # 16 MB in a bucket with the numbers of the records, some 50 MB while it is sorted
READ_KEYS = 1 << 18

_ENTRY = np.dtype([("key", "<u8"), ("record", "<i8")])


def repeated(keys: Iterable[np.ndarray], total: int, folder: Path) -> np.ndarray:
    """The records whose key was there before, as packed bits, uint8[(total + 7) // 8].

    ``keys`` come in pieces (uint64); ``folder`` takes 16 bytes a record for a while.
    """
    marks = np.zeros((total + 7) // 8, np.uint8)
    for keys_of_bucket, numbers in _buckets(keys, total, folder):
        order = np.argsort(keys_of_bucket, kind="stable")
        ordered = keys_of_bucket[order]
        again = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
        _mark(marks, numbers[order[again]])
    return marks


def marked(marks: np.ndarray, first: int, count: int) -> np.ndarray:
    """The bits of ``count`` records from the ``first`` on, bool[count]."""
    start = first // 8
    bits = np.unpackbits(marks[start : (first + count + 7) // 8], bitorder="little")
    return bits[first - 8 * start :][:count].astype(bool)


def read_keys(paths: Iterable[Path], column: int) -> Iterator[np.ndarray]:
    """One of the two keys of every record of these files, in pieces."""
    for path in paths:
        keys = np.memmap(path, "<u8", mode="r").reshape(-1, 2) if path.stat().st_size else np.empty((0, 2), "<u8")
        for start in range(0, len(keys), READ_KEYS):
            yield np.array(keys[start : start + READ_KEYS, column])


def _buckets(keys: Iterable[np.ndarray], total: int, folder: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Keys and the numbers of their records, in order within a bucket."""
    count = max(1, math.ceil(total / BUCKET_KEYS))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".keys.") as name, ExitStack() as stack:
        paths = [Path(name, str(number)) for number in range(count)]
        buckets = [stack.enter_context(open(path, "wb")) for path in paths]
        first = 0
        for piece in keys:
            entries = np.empty(len(piece), _ENTRY)
            entries["key"], entries["record"] = piece, np.arange(first, first + len(piece))
            first += len(piece)
            places = piece % np.uint64(count)
            order = np.argsort(places, kind="stable")
            for bucket, part in zip(buckets, np.split(entries[order], _ends(places[order], count)), strict=True):
                bucket.write(part.tobytes())
        for path, bucket in zip(paths, buckets, strict=True):
            bucket.close()
            entries = np.fromfile(path, _ENTRY)
            path.unlink()
            yield entries["key"].copy(), entries["record"].copy()


def _ends(places: np.ndarray, count: int) -> np.ndarray:
    return np.searchsorted(places, np.arange(1, count))


@numba.njit(cache=True)
def _mark(marks: np.ndarray, numbers: np.ndarray) -> None:
    for number in numbers:
        marks[number >> 3] |= np.uint8(1 << (number & 7))
