"""The text that cleaning.py, stages.py and vmap.py work on: the real pairs of the mirror folder, repeated as needed."""

import argparse
import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from formats import records
from nmt_frontier.errors import UserError

CORPORA = ("anki-deu-eng", "msdocs-ht", "ddtp-de", "lo-help", "phpdoc", "europarl-slice")
HELD_OUT = ("newstest2013", "newstest2014", "newstest2015", "newstest2016", "newstest2017", "newstest2018")
LANGUAGES = ["en", "de"]
BLOCK = 20_000
BAD = {"duplicate": 0.05, "swapped": 0.01, "long": 0.01, "short": 0.01, "empty": 0.01, "control": 0.01}  # shares


def options(description: str, space: str) -> argparse.ArgumentParser:
    """A parser with the options of all benchmarks on this text. space: what the scratch folder must hold."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, default=os.environ.get("NMT_FRONTIER_MIRROR"), help="folder of corpora")
    parser.add_argument("--folder", type=Path, help=f"scratch space, {space}")
    parser.add_argument("--output", type=Path, required=True, help="JSON")
    return parser


@contextmanager
def scratch(args: argparse.Namespace) -> Iterator[Path]:
    """A folder for the run. Raises UserError without a mirror."""
    if not args.mirror:
        raise UserError("needs real text: give --mirror or set NMT_FRONTIER_MIRROR")
    with tempfile.TemporaryDirectory(dir=args.folder, prefix="benchmark-") as folder:
        yield Path(folder)


def aligned(mirror: Path, name: str) -> list[tuple[str, str]]:
    """The pairs of a corpus or test set of the mirror."""
    files = [gzip.decompress((mirror / f"{name}.{code}.gz").read_bytes()).decode() for code in LANGUAGES]
    sides = [list(map(records.sentence, text.split("\n")[:-1])) for text in files]
    return list(zip(*sides, strict=True))


def real_pairs(mirror: Path) -> list[tuple[bytes, bytes]]:
    """The corpora of the mirror, shuffled."""
    pairs = [pair for name in CORPORA for pair in aligned(mirror, f"{name}/{name}")]
    order = np.random.default_rng(1).permutation(len(pairs))
    return [(pairs[place][0].encode(), pairs[place][1].encode()) for place in order]


def test_sets(mirror: Path, folder: Path) -> list[Path]:
    """WMT's test sets as records; cleaning drops their sentences from the training data."""
    paths = [folder / f"{name}.tsv.zst" for name in HELD_OUT]
    for path in paths:
        records.write(path, aligned(mirror, f"newstest/{records.name(path)}"))
    return paths


def load(pairs: list[tuple[bytes, bytes]], count: int) -> Iterator[bytes]:
    """``count`` pairs as blocks of TSV, the same every time.

    Another short pair is appended to a repeated pair, so that it is new; a few pairs are spoiled (BAD).
    """
    generator = np.random.default_rng(2)
    short = [pair for pair in pairs if len(pair[0]) < 40]
    earlier: list[bytes] = []  # every fiftieth line so far, for duplicates
    spoil = [  # in the order of BAD, which begins with the duplicates
        lambda s, t: (t, s),
        lambda s, t: (s * 30, t * 30),
        lambda s, t: (s, t.partition(b" ")[0]),
        lambda s, t: (s, b""),
        lambda s, t: (s + b"\x01", t),
    ]
    edges = np.cumsum(list(BAD.values()))
    for start in range(0, count, BLOCK):
        lines = []
        kinds = np.searchsorted(edges, generator.random(min(BLOCK, count - start)), side="right").tolist()
        for number, kind in enumerate(kinds, start):
            if kind == 0 and earlier:
                lines.append(earlier[number * 7919 % len(earlier)])
                continue
            cycle, place = divmod(number, len(pairs))
            (source, target), other = pairs[place], short[(place + cycle * 7919) % len(short)]
            source, target = source + b" " + other[0], target + b" " + other[1]
            if 0 < kind <= len(spoil):
                source, target = spoil[kind - 1](source, target)
            lines.append(source + b"\t" + target + b"\n")
        earlier += lines[::50]
        yield b"".join(lines)
