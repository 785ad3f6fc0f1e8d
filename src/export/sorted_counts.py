"""Count more 64-bit keys than fit in memory: an external merge sort.

``SegmentWriter`` collects keys. Whenever its buffer is full, it sorts and counts them and writes them as a *segment*: a
folder with ascending keys and their counts. ``merge`` sums any number of segments in one pass, block by block. Memory
is bounded whatever the number of keys and of segments.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

SEGMENT_KEYS = 1 << 23  # keys in the buffer: 64 MiB, and as much to sort them
BLOCK_KEYS = 1 << 22  # keys of all segments in memory while merging: 64 MiB with counts, and as much for their sum
DIGIT_BITS = 11  # of the radix sort: the 2,048 counters of a digit stay in the first-level cache
FILES = {"keys": ("keys.u64", np.uint64), "counts": ("counts.i64", np.int64)}


class KeyCounts(NamedTuple):
    """keys: uint64 (n,), ascending, each once; counts: int64 (n,), how often each key was seen.

    Compiled functions take it, so its name is in numba's cache (export.map_entries).
    """

    keys: NDArray[Any]
    counts: NDArray[Any]

    @classmethod
    def load(cls, segment: Path) -> "KeyCounts":
        """Map a segment into memory without reading it."""
        return cls(*(_mapped(segment / name, dtype) for name, dtype in FILES.values()))

    @classmethod
    def read(cls, segment: Path, start: int, size: int) -> "KeyCounts":
        """Read at most ``size`` keys from the key ``start`` on.

        The files are closed again, as a merge may have very many segments.
        """
        files = FILES.values()
        return cls(*(np.fromfile(segment / name, dtype, size, offset=8 * start) for name, dtype in files))

    def part(self, start: int, end: int) -> "KeyCounts":
        return KeyCounts(np.asarray(self.keys[start:end]), np.asarray(self.counts[start:end]))


def write(segment: Path, blocks: Iterable[KeyCounts]) -> None:
    """Write blocks of ascending keys as one segment, a new folder."""
    segment.mkdir(parents=True)
    with open(segment / FILES["keys"][0], "wb") as keys, open(segment / FILES["counts"][0], "wb") as counts:
        for block in blocks:
            block.keys.tofile(keys)
            block.counts.tofile(counts)


class SegmentWriter:
    """A buffer of unsorted keys in front of a folder of segments.

    The caller, a compiled loop, writes into ``keys`` from ``used`` on, advances ``used``, and calls ``flush`` when the
    next keys may not fit, and at the end.
    """

    def __init__(self, folder: Path):
        self.folder, self.used, self.written = folder, 0, 0
        self.keys, self._spare = np.empty(SEGMENT_KEYS, np.uint64), np.empty(SEGMENT_KEYS, np.uint64)

    def flush(self) -> None:
        """Write the keys of the buffer as the next segment, ``folder/1``, ``folder/2`` and so on; empty the buffer."""
        keys = _sort(self.keys[: self.used], self._spare[: self.used])
        self.written += 1
        write(self.folder / f"{self.written}", [counted(keys)])
        self.used = 0


def counted(keys: NDArray[Any]) -> KeyCounts:
    """Count sorted keys, uint64 (n,)."""
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else np.empty(0, np.int64)
    return KeyCounts(keys[starts], np.diff(np.r_[starts, len(keys)]))


def merge(segments: Sequence[Path], block: int = BLOCK_KEYS) -> Iterator[KeyCounts]:
    """Yield the sum of segments as blocks of ascending keys. ``block``: keys of all segments in memory at a time."""
    size = max(block // max(len(segments), 1), 1)
    starts = dict.fromkeys(segments, 0)
    while heads := {
        segment: head for segment, start in starts.items() if len((head := KeyCounts.read(segment, start, size)).keys)
    }:
        # No later head has a key up to the smallest of these last keys.
        last = min(head.keys[-1] for head in heads.values())
        summands = []
        for segment, head in heads.items():
            end = int(np.searchsorted(head.keys, last, "right"))
            starts[segment] += end
            summands.append(head.part(0, end))
        yield _sum(summands)


def _sum(summands: list[KeyCounts]) -> KeyCounts:
    """Add in pairs, so that each key is copied log2(len(summands)) times."""
    while len(summands) > 1:
        pairs = (summands[k : k + 2] for k in range(0, len(summands), 2))
        summands = [KeyCounts(*_add(*pair)) if len(pair) > 1 else pair[0] for pair in pairs]
    return summands[0]


def _mapped(path: Path, dtype: type) -> NDArray[Any]:
    return np.memmap(path, dtype, "r") if path.stat().st_size else np.empty(0, dtype)  # an empty file cannot be mapped


@numba.njit(cache=True, nogil=True)
def _sort(keys, spare):  # pragma: no cover (compiled)
    """Radix sort from the lowest digit; digits that are equal in all keys are skipped.

    keys, spare: uint64 (n,), both overwritten. Returns the one that holds the sorted keys.
    """
    digit = np.uint64((1 << DIGIT_BITS) - 1)
    differing = np.uint64(0)
    for key in keys:
        differing |= key ^ keys[0]
    places = np.empty(1 << DIGIT_BITS, np.int64)
    for shift in range(0, 64, DIGIT_BITS):
        if (differing >> np.uint64(shift)) & digit == 0:
            continue
        places[:] = 0
        for key in keys:
            places[(key >> np.uint64(shift)) & digit] += 1
        total = 0
        for bucket in range(len(places)):
            total, places[bucket] = total + places[bucket], total
        for key in keys:
            bucket = (key >> np.uint64(shift)) & digit
            spare[places[bucket]] = key
            places[bucket] += 1
        keys, spare = spare, keys
    return keys


@numba.njit(cache=True, nogil=True)
def _add(left, right):  # pragma: no cover (compiled)
    """The keys of both with the sums of their counts. left, right: KeyCounts. Returns the two arrays of one."""
    keys = np.empty(len(left.keys) + len(right.keys), np.uint64)
    counts = np.empty(len(keys), np.int64)
    i, j, n = 0, 0, 0
    while i < len(left.keys) or j < len(right.keys):
        use_left = j == len(right.keys) or (i < len(left.keys) and left.keys[i] <= right.keys[j])
        use_right = i == len(left.keys) or (j < len(right.keys) and right.keys[j] <= left.keys[i])
        counts[n] = 0
        if use_left:
            keys[n] = left.keys[i]
            counts[n] += left.counts[i]
            i += 1
        if use_right:
            keys[n] = right.keys[j]
            counts[n] += right.counts[j]
            j += 1
        n += 1
    return keys[:n], counts[:n]
