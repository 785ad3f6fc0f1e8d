"""The vocabulary map of WNMT 2018 (Senellart et al., section 3.2): which target pieces a source sentence may need.

Always on (0-grams) are the most frequent unaligned target pieces, and the most frequent target pieces (WNGT 2020).
Each source n-gram brings the ``meanings`` most frequent target pieces of its phrase pairs, each seen in at least
``min_frequency`` of them, less those that its shorter n-grams bring already. The paper ranks whole phrases and keeps
the words of the best N; ranking pieces needs no phrase in memory.

The file is CTranslate2's (formats.vocabulary_map). Shorter n-grams come first, in the order of the vocabulary, and the
most frequent piece of each comes first, so that equal tables give equal bytes.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from common.command_line import json_value
from common.errors import command
from common.files import atomic_path, write_json
from common.progress import progress
from export.explain import explain
from export.map_entries import Entries, select
from export.map_knobs import Knobs
from export.phrase_table import PhraseTable
from export.sorted_counts import Counts

BLOCK_KEYS = 1 << 22  # keys of the phrase table in memory at a time


def build(table: PhraseTable, knobs: Knobs) -> Iterator[tuple[int, Entries]]:
    """Yield the length of n-grams and a block of their entries, shorter n-grams first."""
    counts: Counts = getattr(table, knobs.counted)
    mask = np.zeros(1 << 16, np.bool_)
    mask[always_on(table, knobs)] = True
    shorter = [Entries.empty(), Entries.empty()]  # the entries of one and of two pieces, to look up in longer n-grams
    for length in range(1, knobs.max_ngram + 1):
        start = np.searchsorted(counts.keys, np.uint64(1 << 16 * length))
        end = np.searchsorted(counts.keys, np.uint64((1 << 16 * (length + 1)) - 1), "right")
        blocks = []
        for part in _parts(counts, int(start), int(end)):
            block = select(part, mask, *shorter, knobs.min_frequency, knobs.meanings)
            yield length, block
            if length < knobs.max_ngram:
                blocks.append(block)
        if length < knobs.max_ngram:
            shorter[length - 1] = Entries.joined(blocks)


def always_on(table: PhraseTable, knobs: Knobs) -> list[int]:
    """The 0-grams, ascending piece numbers: pieces no source piece brings, and pieces almost every sentence has."""
    unaligned = _most_frequent(table.targets.unaligned, knobs.unaligned)
    return sorted({*unaligned, *_most_frequent(table.targets.frequency, knobs.most_frequent)})


def _most_frequent(counts: np.ndarray, size: int) -> list[int]:
    """The ``size`` piece numbers with the highest counts above 0; ties go to the lower one, and 0 is no piece."""
    order = np.argsort(-counts[1:], kind="stable")[:size] + 1
    return [int(number) for number in order if counts[number]]


def _parts(counts: Counts, start: int, end: int) -> Iterator[Counts]:
    """Yield the table from ``start`` to ``end`` in parts of at most BLOCK_KEYS keys that keep each n-gram whole.

    Such parts exist, as an n-gram has at most one key for each target piece, and there are fewer than BLOCK_KEYS.
    """
    while start < end:
        last = min(start + BLOCK_KEYS, end)
        if last < end:
            ngrams = np.asarray(counts.keys[start : last + 1]) >> np.uint64(16)
            last -= int(np.argmax(ngrams[-2::-1] != ngrams[-1]))
        yield counts.part(start, last)
        start = last


def lines(entries: Entries, pieces: list[str]) -> Iterator[str]:
    """The lines of the file; ``pieces`` is the vocabulary."""
    starts, ends = entries.offsets[:-1].tolist(), entries.offsets[1:].tolist()
    for ngram, start, end in zip(entries.ngrams.tolist(), starts, ends, strict=True):
        source = " ".join(pieces[n - 1] for n in (ngram >> 32, ngram >> 16 & 0xFFFF, ngram & 0xFFFF) if n)
        yield source + "\t" + " ".join([pieces[n - 1] for n in entries.targets[start:end].tolist()]) + "\n"


def write(path: Path, table: PhraseTable, knobs: Knobs) -> dict[str, int | dict[int, int]]:
    """Write the map. Returns the numbers of pieces always on, of n-grams by length, and of target pieces in all."""
    zero_grams = always_on(table, knobs)
    sizes = dict.fromkeys(range(1, knobs.max_ngram + 1), 0)
    targets = len(zero_grams)
    with atomic_path(path) as part, open(part, "w", encoding="utf-8") as file:
        file.write("\t" + " ".join(table.pieces[number - 1] for number in zero_grams) + "\n")
        for length, block in progress(build(table, knobs), "mapping", unit="n-gram", size=lambda item: len(item[1])):
            file.writelines(lines(block, table.pieces))
            sizes[length] += len(block)
            targets += len(block.targets)
    return {"always": len(zero_grams), "ngrams": sizes, "targets": targets}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    build_parser = commands.add_parser("build", help="write the map of a phrase table")
    build_parser.add_argument("--phrase-table", type=Path, required=True, help="folder of export.phrase_table")
    build_parser.add_argument("--knobs", type=Knobs.parse, default=Knobs(), help="JSON, or a file of export.coverage")
    build_parser.add_argument("--output", type=Path, required=True, help="map to write, with its counts in a .json")
    grid_parser = commands.add_parser("grid", help="write the maps of many knobs")
    grid_parser.add_argument("--phrase-table", type=Path, required=True, help="folder of export.phrase_table")
    grid_parser.add_argument("--grid", type=json_value, required=True, help="JSON: values of the knobs")
    grid_parser.add_argument("--output", type=Path, required=True, help="folder to write")
    explain_parser = commands.add_parser("explain", help="show what the map of a model folder does to a sentence")
    explain_parser.add_argument("model", type=Path)
    explain_parser.add_argument("sentence")
    args = parser.parse_args()

    if args.command == "explain":
        print(*explain(args.model, args.sentence), sep="\n")
        return
    table = PhraseTable.load(args.phrase_table)
    if args.command == "grid":
        with atomic_path(args.output) as part:
            for knobs in Knobs.grid(args.grid):
                write(part / f"{knobs.name}.txt", table, knobs)
        return
    counts = write(args.output, table, args.knobs)
    size = args.output.stat().st_size
    write_json(args.output.with_suffix(".json"), {**args.knobs._asdict(), **counts, "bytes": size})


if __name__ == "__main__":
    command(main)
