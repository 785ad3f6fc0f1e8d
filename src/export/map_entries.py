"""The compiled loops of export.vocabulary_map: which target pieces each n-gram of the phrase table brings.

Numba finds what it has compiled by the line of a function, and then the types of arguments by their names. Who renames
such a type moves the functions that take it, else they end with an AttributeError where an older version has run.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from export.sorted_counts import KeyCounts

PIECE = np.uint64(0xFFFF)  # the lowest 16 bits: of a key the target piece, of an n-gram its last one
TWO_PIECES = np.uint64(0xFFFFFFFF)
BITS = np.uint64(16)


class Entries(NamedTuple):
    """Entries of a map in ascending order of their n-grams.

    N-gram ``ngrams[k]`` brings the target pieces ``targets[offsets[k]:offsets[k + 1]]``, the most frequent one first.
    ngrams: uint64 (n,), 16 bits a source piece; offsets: int64 (n + 1,); targets: uint16, numbers of pieces.
    """

    ngrams: NDArray[Any]
    offsets: NDArray[Any]
    targets: NDArray[Any]

    def __len__(self) -> int:
        return len(self.ngrams)

    @classmethod
    def empty(cls) -> "Entries":
        return cls(np.empty(0, np.uint64), np.zeros(1, np.int64), np.empty(0, np.uint16))

    @classmethod
    def joined(cls, blocks: list["Entries"]) -> "Entries":
        """Concatenate blocks of ascending n-grams."""
        blocks = [cls.empty(), *blocks]
        sizes = [np.diff(block.offsets) for block in blocks]
        ngrams, targets = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("ngrams", "targets"))
        return cls(ngrams, np.concatenate([[0], *sizes]).cumsum(), targets)


def select(
    part: KeyCounts, always_on: NDArray[Any], unigrams: Entries, bigrams: Entries, min_frequency: int, meanings: int
) -> Entries:
    """Select the entries of a part of the phrase table.

    part: whole n-grams, all of one length. always_on: bool (65536,), by number of a target piece. unigrams,
    bigrams: the entries of one and of two source pieces, empty if not shorter than those of the part.
    """
    return Entries(*_select(part, always_on, unigrams, bigrams, min_frequency, meanings))


@numba.njit(cache=True, nogil=True)
def _select(part, always_on, unigrams, bigrams, min_frequency, meanings):  # pragma: no cover (compiled)
    """As ``select``, with int min_frequency and meanings. Returns the three arrays of Entries."""
    keys, counts = part
    # Unpacked once: with helpers that take the tuples, this loop is 17 % slower.
    ngrams1, offsets1, targets1 = unigrams
    ngrams2, offsets2, targets2 = bigrams
    ngrams = np.empty(len(keys), np.uint64)
    offsets = np.zeros(len(keys) + 1, np.int64)
    targets = np.empty(len(keys), np.uint16)
    marks = np.full(1 << 16, -1, np.int64)  # of each target piece, the latest n-gram whose shorter ones bring it
    best = np.empty(meanings, np.int64)
    n_entries, n_targets, start = 0, 0, 0
    while start < len(keys):
        ngram = keys[start] >> BITS
        size, end = _rank(keys, counts, start, min_frequency, best)
        if ngram >> BITS:
            _mark(ngram & PIECE, ngrams1, offsets1, targets1, marks, start)
            _mark(ngram >> BITS & PIECE, ngrams1, offsets1, targets1, marks, start)
            if ngram >> BITS >> BITS:
                _mark(ngram >> BITS >> BITS, ngrams1, offsets1, targets1, marks, start)
                _mark(ngram & TWO_PIECES, ngrams2, offsets2, targets2, marks, start)
                _mark(ngram >> BITS, ngrams2, offsets2, targets2, marks, start)
        for k in range(size):
            target = keys[best[k]] & PIECE
            if not always_on[target] and marks[target] != start:
                targets[n_targets] = target
                n_targets += 1
        if n_targets > offsets[n_entries]:
            ngrams[n_entries] = ngram
            n_entries += 1
            offsets[n_entries] = n_targets
        start = end
    return ngrams[:n_entries].copy(), offsets[: n_entries + 1].copy(), targets[:n_targets].copy()


@numba.njit(cache=True, nogil=True)
def _rank(keys, counts, start, min_frequency, best):  # pragma: no cover (compiled)
    """Rank the target pieces of the n-gram whose first key is ``keys[start]``.

    keys, counts: as Counts. best: int64 (meanings,), filled with the places of the most frequent pieces, ties in
    ascending order of the pieces. Returns how many they are, and the place behind the n-gram.
    """
    ngram = keys[start] >> BITS
    end, size = start, 0
    while end < len(keys) and keys[end] >> BITS == ngram:
        # Insertion sort: pieces come in ascending order, so an equal count goes behind.
        if counts[end] >= min_frequency and (size < len(best) or counts[end] > counts[best[size - 1]]):
            place = min(size, len(best) - 1)
            while place > 0 and counts[best[place - 1]] < counts[end]:
                best[place] = best[place - 1]
                place -= 1
            best[place] = end
            size = min(size + 1, len(best))
        end += 1
    return size, end


@numba.njit(cache=True, nogil=True)
def _mark(ngram, ngrams, offsets, targets, marks, mark):  # pragma: no cover (compiled)
    """Mark the target pieces of an n-gram's entry, if there is one.

    ngram: uint64; ngrams, offsets, targets: as Entries; marks: int64 (65536,), by number of a target piece; mark: int.
    """
    k = np.searchsorted(ngrams, ngram)
    if k < len(ngrams) and ngrams[k] == ngram:
        for place in range(offsets[k], offsets[k + 1]):
            marks[targets[place]] = mark
