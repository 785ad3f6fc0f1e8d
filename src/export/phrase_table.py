"""Which target words the source n-grams bring: the counts of all shards of export.phrases as one table on disk."""

import argparse
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from export import runs
from export.phrases import Words
from formats.errors import UserError, command
from formats.files import whole
from formats.progress import progress


class PhraseTable(NamedTuple):
    """Counts over a corpus of aligned pairs, mapped into memory.

    pieces: the vocabulary; number n is pieces[n - 1]. phrases: keys of three source pieces and a target word, 16 bits
    each, shorter n-grams first. links: keys of a source and a target piece. words: the target side alone.
    """

    pieces: list[str]
    phrases: runs.Counts
    links: runs.Counts
    words: Words

    @classmethod
    def load(cls, folder: Path) -> "PhraseTable":
        pieces = (folder / "vocabulary.txt").read_text(encoding="utf-8").splitlines()
        counts = (runs.Counts.load(folder / name) for name in ("phrases", "links"))
        return cls(pieces, *counts, Words.load(folder / "words.npz"))


def frequencies(epoch: Path, pieces: list[str]) -> np.ndarray:
    """How often each piece is met in an epoch, one sentence in pieces a line; as Words.frequency."""
    counts: Counter[str] = Counter()
    with open(epoch, encoding="utf-8") as lines:
        for line in progress(lines, "counting pieces"):
            counts.update(line.split())
    known = [counts[piece] for piece in pieces]
    return np.array([counts.total() - sum(known), *known], np.int64)


def merge(shards: list[Path], vocabulary: Path, epoch: Path | None, output: Path) -> None:
    """Sum the counts of the shards into a new folder. Raises UserError for a vocabulary of another size.

    The shards have every pair once, so that the rare ones count; what a student says most often it learned from an
    epoch, in which corpora have weights. With an epoch, the frequencies of single pieces are taken from there.
    """
    pieces = vocabulary.read_text(encoding="utf-8").splitlines()
    words = Words.none(len(pieces))
    for shard in shards:
        for total, part in zip(words, Words.load(shard / "words.npz"), strict=True):
            if len(part) != len(total):
                raise UserError(
                    f"{shard}: counted with a vocabulary of {len(part) - 1:,} pieces, {vocabulary} has {len(pieces):,}"
                )
            total += part
    if epoch:
        words = words._replace(frequency=frequencies(epoch, pieces))
    with whole(output) as folder:
        for name in ("phrases", "links"):
            counts = [run for shard in shards for run in sorted((shard / name).iterdir())]
            runs.write(
                folder / name, progress(runs.merge(counts), f"merging {name}", unit="key", size=lambda b: len(b.keys))
            )
        words.save(folder / "words.npz")
        (folder / "vocabulary.txt").write_bytes(vocabulary.read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=Path, nargs="+", required=True, help="folders of export.phrases")
    parser.add_argument("--vocabulary", type=Path, required=True, help="one piece a line")
    parser.add_argument("--epoch", type=Path, help="targets in pieces: the most frequent ones are those in it")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    merge(args.shards, args.vocabulary, args.epoch, args.output)


if __name__ == "__main__":
    command(main)
