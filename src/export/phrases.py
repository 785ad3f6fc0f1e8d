"""Phrase pairs of one shard of aligned pairs: which target words each source n-gram brings, and which words are linked.

A phrase pair is consistent if no link leaves it (Och and Ney 2004). Phrases are minimal: the target phrase reaches from
the first to the last word that is linked to the n-gram, and unaligned words at its edges, which Och and Ney attach in
further pairs, are left out: of such words the most frequent are 0-grams of the map (export.vocabulary_map).

For the vocabulary map only the words of the target phrase matter, so the keys are (source n-gram, target word), once a
phrase pair. An n-gram of at most three pieces and a target piece are four 16-bit numbers in one 64-bit key. Piece
numbers start at 1; 0 fills the place of a shorter n-gram.

Writes a folder of sorted runs (export.runs), which export.phrase_table merges with those of the other shards.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np

from export import runs
from formats import records
from formats.batches import Batch, batches
from formats.errors import UserError, command
from formats.files import whole
from formats.progress import progress

MAX_NGRAM = 3
MAX_PIECES = 2**16 - 1
LONGEST = 1 << 10  # pieces of a side; the pairs a model is trained with are far shorter


class Index(NamedTuple):
    """Numbers of pieces by their bytes: an open-addressed hash table over the text of the vocabulary.

    Number n of piece ``text[ends[n - 1]:ends[n]]``; slots: int32 (a power of two,), 0 where empty.
    """

    text: np.ndarray
    ends: np.ndarray
    slots: np.ndarray


def index(pieces: list[str]) -> Index:
    if len(pieces) > MAX_PIECES:
        raise UserError(f"a vocabulary of {len(pieces):,} pieces; the phrase table holds at most {MAX_PIECES:,}")
    encoded = [piece.encode() for piece in pieces]
    ends = np.cumsum([0, *map(len, encoded)])
    made = Index(np.frombuffer(b"".join(encoded), np.uint8), ends, np.zeros(4 << len(pieces).bit_length(), np.int32))
    _fill(*made)
    return made


class Words(NamedTuple):
    """int64 (pieces + 1,): occurrences of each target piece, those of them without a link; number 0 is any other."""

    frequency: np.ndarray
    unaligned: np.ndarray

    @classmethod
    def none(cls, pieces: int) -> "Words":
        return cls(np.zeros(pieces + 1, np.int64), np.zeros(pieces + 1, np.int64))

    @classmethod
    def load(cls, path: Path) -> "Words":
        with np.load(path) as arrays:
            return cls(**arrays)

    def save(self, path: Path) -> None:
        with open(path, "wb") as file:
            np.savez(file, **self._asdict())


class Counter:
    """Counts the phrase pairs and links of batches of ``source pieces<TAB>target pieces<TAB>alignment``."""

    def __init__(self, folder: Path, pieces: list[str]):
        self.index = index(pieces)
        self.words = Words.none(len(pieces))
        self.phrases, self.links = runs.Runs(folder / "phrases"), runs.Runs(folder / "links")
        self._folder = folder

    def add(self, batch: Batch) -> None:
        """Raises ValueError(row) for a row whose alignment does not fit its pieces."""
        row = 0
        while row < len(batch):
            phrases, links = self.phrases, self.links
            row, phrases.used, links.used, good = _extract(
                *batch,
                row,
                *self.index,
                *self.words,
                phrases.keys,
                phrases.used,
                links.keys,
                links.used,
            )
            if not good:
                raise ValueError(row)
            if row < len(batch):  # the next pair may not fit
                phrases.flush()
                links.flush()

    def finish(self) -> None:
        self.phrases.flush()
        self.links.flush()
        self.words.save(self._folder / "words.npz")


def count(path: Path, pieces: list[str], output: Path, shard: records.Shard | None = None) -> None:
    """Count a file of export.alignment, or a shard of it, into a new folder. Raises UserError."""
    with whole(output) as part:
        part.mkdir(parents=True)
        counter, done = Counter(part, pieces), 0
        for batch in progress(batches(path, shard), "extracting phrases", unit="pair", size=len):
            try:
                counter.add(batch)
            except ValueError as error:
                of = f" of shard {shard[0]}/{shard[1]}" if shard else ""
                raise UserError(
                    f"{path}: record {done + error.args[0] + 1}{of} is no aligned pair: a link outside the pair,"
                    f" or a side of more than {LONGEST:,} pieces; delete it, run again"
                ) from None
            done += len(batch)
        counter.finish()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alignments", type=Path, required=True, help="records of export.alignment")
    parser.add_argument("--shard", type=records.shard, help="K/N: only this part of them")
    parser.add_argument("--vocabulary", type=Path, required=True, help="one piece a line")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()

    pieces = args.vocabulary.read_text(encoding="utf-8").splitlines()
    count(args.alignments, pieces, args.output, args.shard)


# Compiled


@numba.njit(cache=True, nogil=True)
def _slot(text, start, end, slots):  # pragma: no cover (compiled)
    """The first slot to look for a piece in: FNV-1a, folded."""
    value = np.uint64(0xCBF29CE484222325)
    for place in range(start, end):
        value = (value ^ np.uint64(text[place])) * np.uint64(0x100000001B3)
    return np.int64((value ^ (value >> np.uint64(32))) & np.uint64(len(slots) - 1))


@numba.njit(cache=True, nogil=True)
def _fill(text, ends, slots):  # pragma: no cover (compiled)
    for number in range(1, len(ends)):
        slot = _slot(text, ends[number - 1], ends[number], slots)
        while slots[slot]:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number


@numba.njit(cache=True, nogil=True)
def _number(text, start, end, pieces, ends, slots):  # pragma: no cover (compiled)
    slot = _slot(text, start, end, slots)
    while slots[slot]:
        number = slots[slot]
        first = ends[number - 1]
        if ends[number] - first == end - start:
            same = True
            for place in range(end - start):
                if text[start + place] != pieces[first + place]:
                    same = False
                    break
            if same:
                return number
        slot = (slot + 1) & (len(slots) - 1)
    return 0


@numba.njit(cache=True, nogil=True)
def _side(text, start, end, pieces, ends, slots, numbers):  # pragma: no cover (compiled)
    """Numbers of the pieces of a side, 0 for one outside the vocabulary; how many, or -1 if they are too many."""
    size = 0
    first = start
    for place in range(start, end + 1):
        if place == end or text[place] == 32:
            if place > first:
                if size == len(numbers):
                    return -1
                numbers[size] = _number(text, first, place, pieces, ends, slots)
                size += 1
            first = place + 1
    return size


@numba.njit(cache=True, nogil=True)
def _integer(text, place, end):  # pragma: no cover (compiled)
    """The number that begins here, -1 if none does, and the place behind it."""
    value = -1
    while place < end and 48 <= text[place] <= 57 and value < LONGEST:
        value = max(value, 0) * 10 + text[place] - 48
        place += 1
    return value, place


@numba.njit(cache=True, nogil=True)
def _extract(  # pragma: no cover (compiled)
    text,
    starts,
    row_ends,
    row,
    pieces,
    ends,
    slots,
    frequency,
    unaligned,
    phrases,
    n_phrases,
    links,
    n_links,
):
    """Count rows of a batch while their keys fit: the next row, keys used, and whether that row is well formed."""
    source, target = np.empty(LONGEST, np.int64), np.empty(LONGEST, np.int64)
    # The first and last target position of each source position, and the other way round; none: first > last.
    low, high = np.empty(LONGEST, np.int64), np.empty(LONGEST, np.int64)
    back_low, back_high = np.empty(LONGEST, np.int64), np.empty(LONGEST, np.int64)
    seen = np.zeros(1 << 16, np.int64)
    phrase = 0
    while row < len(starts):
        m = _side(text, starts[row, 0], row_ends[row, 0], pieces, ends, slots, source)
        n = _side(text, starts[row, 1], row_ends[row, 1], pieces, ends, slots, target)
        start, end = starts[row, 2], row_ends[row, 2]
        if m < 0 or n < 0:
            return row, n_phrases, n_links, False
        if n_phrases + m * MAX_NGRAM * n > len(phrases) or n_links + (end - start) > len(links):
            return row, n_phrases, n_links, True
        low[:m], high[:m], back_low[:n], back_high[:n] = LONGEST, -1, LONGEST, -1
        place = start
        while place < end:
            i, place = _integer(text, place, end)
            if place >= end or text[place] != 45:
                return row, n_phrases, n_links, False
            j, place = _integer(text, place + 1, end)
            if not (0 <= i < m and 0 <= j < n) or (place < end and text[place] != 32):
                return row, n_phrases, n_links, False
            place += 1
            low[i], high[i] = min(low[i], j), max(high[i], j)
            back_low[j], back_high[j] = min(back_low[j], i), max(back_high[j], i)
            if source[i] and target[j]:
                links[n_links] = source[i] << 16 | target[j]
                n_links += 1
        for j in range(n):
            frequency[target[j]] += 1
            if back_high[j] < 0:
                unaligned[target[j]] += 1
        for i in range(m):
            first, last, ngram = LONGEST, -1, 0
            for k in range(i, min(i + MAX_NGRAM, m)):
                if source[k] == 0:  # a piece outside the vocabulary: no n-gram with it can be looked up
                    break
                ngram = ngram << 16 | source[k]
                first, last = min(first, low[k]), max(last, high[k])
                consistent = last >= 0
                for j in range(first, last + 1):
                    if back_high[j] > k or back_low[j] < i:
                        consistent = False
                        break
                if not consistent:
                    continue
                phrase += 1
                for j in range(first, last + 1):
                    if target[j] and seen[target[j]] != phrase:
                        seen[target[j]] = phrase
                        phrases[n_phrases] = ngram << 16 | target[j]
                        n_phrases += 1
        row += 1
    return row, n_phrases, n_links, True


if __name__ == "__main__":
    command(main)
