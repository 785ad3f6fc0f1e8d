"""The phrase table: which target pieces each source n-gram brings, as counts on disk.

The command sums the folders that export.phrases wrote, one for each shard of the corpus, into the table of all pairs.
"""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from export import sorted_counts
from formats import opennmt_tf
from nmt_frontier.errors import UserError
from nmt_frontier.files import atomic_path
from nmt_frontier.progress import progress
from nmt_frontier.sentence import split_pieces

TARGETS = "words.npz"
MAX_NGRAM = 3  # source pieces of a phrase; with the target piece they fill the four 16-bit places of a key


class TargetCounts(NamedTuple):
    """Occurrences of each target piece, and those without a link; int64 (pieces + 1,).

    Index 0 counts everything outside the vocabulary.
    """

    frequency: NDArray[Any]
    unaligned: NDArray[Any]

    @classmethod
    def zeros(cls, pieces: int) -> "TargetCounts":
        return cls(np.zeros(pieces + 1, np.int64), np.zeros(pieces + 1, np.int64))

    @classmethod
    def load(cls, folder: Path) -> "TargetCounts":
        with np.load(folder / TARGETS) as arrays:
            return cls(**arrays)

    def save(self, folder: Path) -> None:
        with open(folder / TARGETS, "wb") as file:
            np.savez(file, **self._asdict())


class PhraseTable(NamedTuple):
    """Counts over a corpus of aligned pairs.

    pieces: the vocabulary; piece number n is ``pieces[n - 1]``. phrases: keys of three source pieces and a target
    piece, 16 bits each, shorter n-grams first. links: keys of a source and a target piece. Both are mapped into memory.
    targets: the target side alone.
    """

    pieces: list[str]
    phrases: sorted_counts.KeyCounts
    links: sorted_counts.KeyCounts
    targets: TargetCounts

    @classmethod
    def load(cls, folder: Path) -> "PhraseTable":
        pieces = opennmt_tf.read_vocabulary(folder / "vocabulary.txt")
        phrases, links = (sorted_counts.KeyCounts.load(folder / name) for name in ("phrases", "links"))
        return cls(pieces, phrases, links, TargetCounts.load(folder))


def frequencies(epoch: Path, pieces: list[str]) -> NDArray[Any]:
    """Count the pieces of an epoch, a file with one tokenized sentence a line. Returns ``TargetCounts.frequency``."""
    occurrences: Counter[str] = Counter()
    with open(epoch, encoding="utf-8") as lines:
        for line in progress(lines, "counting pieces"):
            occurrences.update(split_pieces(line.rstrip("\n")))
    counts = [occurrences[piece] for piece in pieces]
    return np.array([occurrences.total() - sum(counts), *counts], np.int64)


def merge(shards: list[Path], vocabulary: Path, epoch: Path | None, output: Path) -> None:
    """Sum the counts of the shards into a new folder. Raises UserError for a vocabulary of another size.

    The shards hold each pair once, so that rare phrases count. But a student generates most often what was frequent in
    its training epochs, in which corpora have weights: with ``epoch``, piece frequencies come from there.
    """
    pieces = opennmt_tf.read_vocabulary(vocabulary)
    targets = TargetCounts.zeros(len(pieces))
    for shard in shards:
        for total, part in zip(targets, TargetCounts.load(shard), strict=True):
            if len(part) != len(total):
                raise UserError(
                    f"{shard}: counted with a vocabulary of {len(part) - 1:,} pieces, {vocabulary} has {len(pieces):,}"
                )
            total += part
    if epoch:
        targets = targets._replace(frequency=frequencies(epoch, pieces))
    with atomic_path(output) as folder:
        for name in ("phrases", "links"):
            segments = [segment for shard in shards for segment in sorted((shard / name).iterdir())]
            blocks = sorted_counts.merge(segments)
            sorted_counts.write(
                folder / name, progress(blocks, f"merging {name}", unit="key", size=lambda block: len(block.keys))
            )
        targets.save(folder)
        (folder / "vocabulary.txt").write_bytes(vocabulary.read_bytes())
