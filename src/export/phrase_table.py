"""Which target words the source n-grams bring: counts over phrase pairs consistent with a word alignment.

A phrase pair is consistent if no link leaves it (Och and Ney 2004). For the vocabulary map only the words of the
target phrase matter, so the table counts (source n-gram, target word), once a phrase pair. An n-gram of at most
three pieces and a target piece are four 16-bit numbers in one 64-bit key: a table is two sorted arrays.
"""

import argparse
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import numba
import numpy as np

from formats import records
from formats.errors import UserError, command
from formats.files import whole
from formats.progress import progress

MAX_NGRAM = 3
MAX_PIECES = 2**16 - 1
CHUNK = 10_000  # pairs counted before their keys are merged into the table


@numba.njit(cache=True)
def extract(source, target, links, max_ngram):  # pragma: no cover (compiled)
    """Keys of all (n-gram, target word) of one sentence pair. source, target: uint64 (n,); links: int64 (k, 2)."""
    keys = np.empty(len(source) * max_ngram * len(target), np.uint64)
    count = 0
    for start in range(len(source)):
        for end in range(start + 1, min(start + max_ngram, len(source)) + 1):
            if source[end - 1] == 0:  # a piece outside the vocabulary: no n-gram with it can be looked up
                break
            low, high = len(target), -1
            for k in range(len(links)):
                if start <= links[k, 0] < end:
                    low, high = min(low, links[k, 1]), max(high, links[k, 1])
            if high < 0:
                continue
            consistent = True
            for k in range(len(links)):
                if low <= links[k, 1] <= high and not (start <= links[k, 0] < end):
                    consistent = False
                    break
            if not consistent:
                continue
            ngram = np.uint64(0)
            for position in range(start, end):
                ngram = (ngram << np.uint64(16)) | source[position]
            for position in range(low, high + 1):
                word = target[position]
                seen = False
                for before in range(low, position):
                    seen = seen or target[before] == word
                if not seen:
                    keys[count] = (ngram << np.uint64(16)) | word
                    count += 1
    return keys[:count]


class PhraseTable:
    """Counts over a corpus of aligned pairs. Piece numbers start at 1; 0 fills the place of a shorter n-gram.

    keys: uint64 (n,), sorted, unique: three source pieces and a target piece; counts: int64 (n,).
    frequency, unaligned: int64 (pieces + 1,), occurrences of each target piece, and those without a link.
    """

    def __init__(self, pieces: list[str]):
        if len(pieces) > MAX_PIECES:
            raise UserError(f"a vocabulary of {len(pieces):,} pieces; the phrase table holds at most {MAX_PIECES:,}")
        self.pieces = pieces
        self.keys, self.counts = np.empty(0, np.uint64), np.empty(0, np.int64)
        self.frequency, self.unaligned = (np.zeros(len(pieces) + 1, np.int64) for _ in range(2))

    def add(self, pairs: Iterable[records.Record], max_ngram: int) -> None:
        """Count records ``source pieces<TAB>target pieces<TAB>alignment``, a chunk of sentences at a time."""
        numbers = {piece: number for number, piece in enumerate(self.pieces, 1)}
        pairs = iter(pairs)
        while chunk := list(itertools.islice(pairs, CHUNK)):
            self._merge(np.concatenate([self._keys(record, numbers, max_ngram) for record in chunk]))

    def _keys(self, record: records.Record, numbers: dict[str, int], max_ngram: int) -> np.ndarray:
        # A piece outside the vocabulary keeps its place as number 0 and is never exported.
        source, target = (np.array([numbers.get(p, 0) for p in side.split()], np.uint64) for side in record[:2])
        links = np.array([link.split("-") for link in record[2].split()], np.int64).reshape(-1, 2)
        np.add.at(self.frequency, target.astype(np.int64), 1)
        linked = np.zeros(len(target), bool)
        linked[links[:, 1]] = True
        np.add.at(self.unaligned, target[~linked].astype(np.int64), 1)
        return extract(source, target, links, max_ngram)

    def _merge(self, keys: np.ndarray) -> None:
        keys, counts = np.unique(keys, return_counts=True)
        merged, places = np.unique(np.concatenate([self.keys, keys]), return_inverse=True)
        total = np.zeros(len(merged), np.int64)
        np.add.at(total, places, np.concatenate([self.counts, counts]))
        self.keys, self.counts = merged, total

    def ngrams(self) -> Iterator[tuple[tuple[int, ...], np.ndarray, np.ndarray]]:
        """Yield each n-gram as piece numbers with its target words and their counts, shorter n-grams first."""
        sources, words = self.keys >> np.uint64(16), (self.keys & np.uint64(0xFFFF)).astype(np.int64)
        starts = np.flatnonzero(np.r_[True, sources[1:] != sources[:-1]]) if len(sources) else []
        for start, end in itertools.pairwise([*starts, len(sources)]):
            packed = int(sources[start])
            ngram = tuple(n for n in (packed >> 32, packed >> 16 & 0xFFFF, packed & 0xFFFF) if n)
            yield ngram, words[start:end], self.counts[start:end]

    def save(self, path: Path) -> None:
        with whole(path) as part, open(part, "wb") as file:
            np.savez(
                file,
                keys=self.keys,
                counts=self.counts,
                frequency=self.frequency,
                unaligned=self.unaligned,
                pieces=np.array(self.pieces),
            )

    @classmethod
    def load(cls, path: Path) -> "PhraseTable":
        with np.load(path) as arrays:
            table = cls(arrays["pieces"].tolist())
            for name in ("keys", "counts", "frequency", "unaligned"):
                setattr(table, name, arrays[name])
        return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--alignments", type=Path, required=True, help="records of export.alignment")
    parser.add_argument("--vocabulary", type=Path, required=True, help="one piece a line")
    parser.add_argument("--max-ngram", type=int, choices=range(1, MAX_NGRAM + 1), default=MAX_NGRAM)
    parser.add_argument("--output", type=Path, required=True, help=".npz to write")
    args = parser.parse_args()

    table = PhraseTable(args.vocabulary.read_text(encoding="utf-8").splitlines())
    table.add(progress(records.read(args.alignments), "extracting phrases", unit="pair"), args.max_ngram)
    table.save(args.output)


if __name__ == "__main__":
    command(main)
