"""Draw what a model of scores learns from: records of several corpora at random, with the columns that it needs.

A corpus may have scores behind its sides, which are left out. The order is random, and the JSON beside the records is
that of train.sample, so that a training reads them as an epoch.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from corpora.permutation import keys, places
from formats import records
from formats.batches import batches
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import command
from scores.models import NO_TEXT
from train.sample import draw, shares

Columns = tuple[int | None, int]  # that a model reads, and has to write; a language model reads no text
KINDS: dict[str, Columns] = {"forward": (0, 1), "backward": (1, 0), "source": (None, 0), "target": (None, 1)}


def drawn(path: Path, share: int, size: int, columns: Columns, seed: int) -> Iterator[bytes]:
    """So many of the ``size`` records of a corpus, as blocks of TSV."""
    order, first = keys(seed, "scores", records.name(path)), 0
    for batch in batches(path):
        rows = np.flatnonzero(places(np.arange(first, first + len(batch)), size, order) < share)
        first += len(batch)
        sides = (batch.record(row) for row in rows)
        yield b"".join(
            records.line(tuple(NO_TEXT if column is None else record[column] for column in columns)) for record in sides
        )


def text(corpora: list[Path], columns: Columns, pairs: int, seed: int, output: Path) -> None:
    """Write the records and their JSON. pairs: at most."""
    sizes = [records.count(path) for path in corpora]
    most = min(pairs, sum(sizes))
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".text.") as folder:
        parts = []
        for path, share, size in zip(corpora, shares(most, sizes), sizes, strict=True):
            part = Path(folder, f"{records.name(path)}{records.SUFFIX}")
            if records.write_blocks(part, drawn(path, share, size, columns, seed))[0]:
                parts.append(part)
        draw(parts, None, None, seed, 1, output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=there, nargs="+", required=True, help="records")
    parser.add_argument("--kind", choices=KINDS, default="forward", help="(default: %(default)s)")
    parser.add_argument("--pairs", type=positive, required=True, help="the most that are drawn")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="records; their JSON is written beside them")
    args = parser.parse_args()
    text(args.corpora, KINDS[args.kind], args.pairs, args.seed, args.output)


if __name__ == "__main__":
    command(main)
