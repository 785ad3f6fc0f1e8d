"""The vocabulary map of WNMT 2018 (Senellart et al., section 3.2): which target words a source sentence may need.

0-grams, always on: the most frequent unaligned target words, and the most frequent target words (WNGT 2020).
n-grams: of each source n-gram the N most frequent words of its phrase pairs (``meanings``), each seen at least
``min_frequency`` times, without those that its shorter n-grams bring already. The paper ranks whole phrases and
keeps the words of the best N; ranking the words needs no phrase in memory.

The file is CTranslate2's: ``n-gram<TAB>target pieces``, n-grams sorted, so that equal tables give equal bytes.
"""

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from export.phrase_table import PhraseTable
from formats.errors import command
from formats.files import write_json, write_text

Ngram = tuple[int, ...]


def best(words: np.ndarray, counts: np.ndarray, size: int, minimum: int = 1) -> list[int]:
    """The ``size`` most frequent words with at least ``minimum`` occurrences; ties go to the lower number."""
    order = np.lexsort((words, -counts))
    return [
        int(words[k]) for k in order[:size] if counts[k] >= minimum and words[k]
    ]  # word 0 is outside the vocabulary


def always(table: PhraseTable, unaligned: int, most_frequent: int) -> set[int]:
    """The 0-grams: words that no source word brings, and words that almost every sentence has."""
    numbers = np.arange(len(table.frequency))
    return {*best(numbers, table.unaligned, unaligned), *best(numbers, table.frequency, most_frequent)}


def shorter(ngram: Ngram) -> Iterator[Ngram]:
    for length in range(1, len(ngram)):
        for start in range(len(ngram) - length + 1):
            yield ngram[start : start + length]


def build(
    table: PhraseTable, max_ngram: int, min_frequency: int, meanings: int, unaligned: int, most_frequent: int
) -> dict[Ngram, list[int]]:
    """Map each n-gram, the empty one included, to the target words it brings, as piece numbers."""
    zero = always(table, unaligned, most_frequent)
    entries: dict[Ngram, list[int]] = {(): sorted(zero)}
    for ngram, words, counts in table.ngrams():  # in the order of length: keys of short n-grams are small numbers
        if len(ngram) > max_ngram:
            break
        known = zero.union(*(entries.get(part, ()) for part in shorter(ngram)))
        brought = [word for word in best(words, counts, meanings, min_frequency) if word not in known]
        if brought:
            entries[ngram] = brought
    return entries


def lines(entries: dict[Ngram, list[int]], pieces: list[str]) -> Iterator[str]:
    for ngram, words in sorted(entries.items()):
        left, right = (" ".join(pieces[number - 1] for number in side) for side in (ngram, words))
        yield f"{left}\t{right}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--phrase-table", type=Path, required=True)
    parser.add_argument("--max-ngram", type=int, default=3)
    parser.add_argument("--min-frequency", type=int, default=2)
    parser.add_argument("--meanings", type=int, default=50)
    parser.add_argument("--unaligned", type=int, default=100)
    parser.add_argument("--most-frequent", type=int, default=50)
    parser.add_argument("--output", type=Path, required=True, help="map to write; its counts go to a .json beside it")
    args = parser.parse_args()

    table = PhraseTable.load(args.phrase_table)
    knobs = {k: getattr(args, k) for k in ("max_ngram", "min_frequency", "meanings", "unaligned", "most_frequent")}
    entries = build(table, **knobs)
    write_text(args.output, "".join(lines(entries, table.pieces)))
    sizes = {length: len(list(group)) for length, group in itertools.groupby(sorted(map(len, entries)))}
    write_json(args.output.with_suffix(".json"), {**knobs, "ngrams": sizes, "always": len(entries[()])})


if __name__ == "__main__":
    command(main)
