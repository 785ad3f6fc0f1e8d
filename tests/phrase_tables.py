"""Tiny phrase tables for tests, and the aligned pairs they count."""

import itertools
import subprocess
from collections.abc import Sequence
from pathlib import Path

import warm
from hypothesis import strategies as st

from export import phrase_table, phrases, sorted_counts
from export.phrase_table import PhraseTable
from export.vocabulary_map import Knobs, build, lines
from formats import records
from nmt_frontier.sentence import split_pieces

PIECES = ["!\xa0", "a", "b", "c", "x", "y", "z", "\u3000"]  # in order; two with spaces, as in Chinese


def counted(folder: Path, pairs, shards: int = 1, vocabulary: Sequence[str] = PIECES) -> PhraseTable:
    """The phrase table of some aligned pairs."""
    records.write(folder / "aligned.tsv.zst", pairs)
    (folder / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in vocabulary))
    folders = [folder / f"{k}" for k in range(1, shards + 1)]
    for k, output in enumerate(folders, 1):
        phrases.count(folder / "aligned.tsv.zst", [*vocabulary], output, (k, shards))
    phrase_table.merge(folders, folder / "vocabulary.txt", None, folder / "table")
    return PhraseTable.load(folder / "table")


def named(counts: sorted_counts.KeyCounts) -> dict[tuple[str, ...], int]:
    """Counts by the pieces of their keys."""
    numbers = (
        (*(int(key) >> shift & 0xFFFF for shift in (48, 32, 16, 0)), count) for key, count in zip(*counts, strict=True)
    )
    return {tuple(PIECES[n - 1] for n in key if n): int(count) for *key, count in numbers}


def map_entries(table: PhraseTable, **knobs: int) -> dict[tuple[str, ...], list[str]]:
    """The entries of the table's map, without the 0-grams."""
    values = {"max_ngram": 3, "min_frequency": 1, "meanings": 5, "unaligned": 0, "most_frequent": 0, **knobs}
    rows = itertools.chain.from_iterable(lines(block, table.pieces) for _, block in build(table, Knobs(**values)))
    sides = (row.rstrip("\n").split("\t") for row in rows)
    return {tuple(split_pieces(ngram)): split_pieces(targets) for ngram, targets in sides}


@st.composite
def aligned_pairs(draw):
    source = draw(st.lists(st.sampled_from([*PIECES, "outside"]), min_size=1, max_size=6))
    target = draw(st.lists(st.sampled_from([*PIECES, "outside"]), min_size=1, max_size=6))
    link = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    links = sorted(draw(st.sets(link, max_size=8)))
    return " ".join(source), " ".join(target), " ".join(f"{i}-{j}" for i, j in links)


def run(*arguments) -> None:
    """Run a command of the project, ``python -m`` and its arguments."""
    subprocess.run([warm.python(), "-m", *map(str, arguments)], check=True)
