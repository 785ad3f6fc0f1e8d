"""Counting more keys than fit in memory: sorted runs of them on disk, merged in one pass.

A key is a 64-bit number. ``Runs`` collects keys, and writes them sorted and counted as a run whenever its memory is
full; ``merge`` makes one of many runs, block by block. Memory is bounded whatever the number of keys and of runs.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np

RUN = 1 << 23  # keys in memory: 64 MiB, and as much to sort them
BLOCK = 1 << 22  # keys of all runs together in memory while merging: 64 MiB with their counts, and as much for the sum
BITS = 11  # of a digit of the radix sort: its 2,048 counters stay in the first cache
FILES = {"keys": ("keys.u64", np.uint64), "counts": ("counts.i64", np.int64)}


class Counts(NamedTuple):
    """keys: uint64 (n,), sorted, each once; counts: int64 (n,), how often each was seen."""

    keys: np.ndarray
    counts: np.ndarray

    @classmethod
    def load(cls, folder: Path) -> "Counts":
        """The counts of a folder, mapped into memory, not read."""
        return cls(*(_mapped(folder / name, dtype) for name, dtype in FILES.values()))

    @classmethod
    def read(cls, folder: Path, start: int, size: int) -> "Counts":
        """At most so many of a folder's counts; the files are closed again, as there may be very many of them."""
        files = FILES.values()
        return cls(*(np.fromfile(folder / name, dtype, size, offset=8 * start) for name, dtype in files))

    def part(self, start: int, end: int) -> "Counts":
        return Counts(np.asarray(self.keys[start:end]), np.asarray(self.counts[start:end]))


def write(folder: Path, blocks: Iterator[Counts]) -> None:
    folder.mkdir(parents=True)
    with open(folder / FILES["keys"][0], "wb") as keys, open(folder / FILES["counts"][0], "wb") as counts:
        for block in blocks:
            block.keys.tofile(keys)
            block.counts.tofile(counts)


class Runs:
    """Keys on their way to the disk. A compiled loop fills ``keys`` from ``used`` on, and says how many it used."""

    def __init__(self, folder: Path):
        self.folder, self.used, self.written = folder, 0, 0
        self.keys, self._spare = np.empty(RUN, np.uint64), np.empty(RUN, np.uint64)

    def flush(self) -> None:
        keys = _sort(self.keys[: self.used], self._spare[: self.used])
        self.written += 1
        write(self.folder / f"{self.written}", iter([counted(keys)]))
        self.used = 0


def counted(keys: np.ndarray) -> Counts:
    """Sorted keys, each once with its count."""
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else np.empty(0, np.int64)
    return Counts(keys[starts], np.diff(np.r_[starts, len(keys)]))


def merge(runs: Sequence[Path], block: int = BLOCK) -> Iterator[Counts]:
    """One run of the folders of many: blocks of ever greater keys, their counts summed."""
    size = max(block // max(len(runs), 1), 1)
    places = dict.fromkeys(runs, 0)
    while parts := {run: part for run, place in places.items() if len((part := Counts.read(run, place, size)).keys)}:
        # What is up to the smallest of the last keys cannot come again in a later block.
        last = min(part.keys[-1] for part in parts.values())
        summed = []
        for run, part in parts.items():
            taken = int(np.searchsorted(part.keys, last, "right"))
            places[run] += taken
            summed.append(part.part(0, taken))
        while len(summed) > 1:
            pairs = (summed[k : k + 2] for k in range(0, len(summed), 2))
            summed = [Counts(*_merge(*pair[0], *pair[1])) if len(pair) > 1 else pair[0] for pair in pairs]
        yield summed[0]


def _mapped(path: Path, dtype: type) -> np.ndarray:
    return np.memmap(path, dtype, "r") if path.stat().st_size else np.empty(0, dtype)  # an empty file cannot be mapped


@numba.njit(cache=True, nogil=True)
def _sort(keys, spare):  # pragma: no cover (compiled)
    """Radix sort from the lowest digit; returns the one of the two arrays that holds the sorted keys."""
    digit = np.uint64((1 << BITS) - 1)
    differing = np.uint64(0)
    for key in keys:
        differing |= key ^ keys[0]
    places = np.empty(1 << BITS, np.int64)
    for shift in range(0, 64, BITS):
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
def _merge(left_keys, left_counts, right_keys, right_counts):  # pragma: no cover (compiled)
    """Two sorted runs as one."""
    keys = np.empty(len(left_keys) + len(right_keys), np.uint64)
    counts = np.empty(len(keys), np.int64)
    i, j, n = 0, 0, 0
    while i < len(left_keys) or j < len(right_keys):
        use_left = j == len(right_keys) or (i < len(left_keys) and left_keys[i] <= right_keys[j])
        use_right = i == len(left_keys) or (j < len(right_keys) and right_keys[j] <= left_keys[i])
        counts[n] = 0
        if use_left:
            keys[n] = left_keys[i]
            counts[n] += left_counts[i]
            i += 1
        if use_right:
            keys[n] = right_keys[j]
            counts[n] += right_counts[j]
            j += 1
        n += 1
    return keys[:n], counts[:n]
