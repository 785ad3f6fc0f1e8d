"""Word alignment in subword units with fast_align (Dyer et al. 2013), both ways, symmetrised.

Probabilities are trained on the first ``--pairs`` pairs; the data is shuffled, so these are a random sample.
Writes records ``source pieces<TAB>target pieces<TAB>alignment`` with the alignment as ``0-0 1-2``.
"""

import argparse
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import systran_align

from formats import records
from formats.errors import UserError, command
from formats.progress import progress

Pair = tuple[list[str], list[str]]


def read_pairs(source: Path, target: Path) -> Iterator[Pair]:
    """Stream two line-aligned files of pieces; pairs with an empty side have nothing to align."""
    with open(source, encoding="utf-8") as sources, open(target, encoding="utf-8") as targets:
        for number, (left, right) in enumerate(itertools.zip_longest(sources, targets), 1):
            if left is None or right is None:
                raise UserError(f"{source} and {target} differ in length: one of them ends before line {number}")
            if left.strip() and right.strip():
                yield left.split(), right.split()


def train(pairs: Iterator[Pair], folder: Path) -> systran_align.Aligner:
    """Train both directions with the switches of fast_align's own recommended call, ``-d -o -v``."""
    text, forward, backward = (str(folder / name) for name in ("pairs", "forward", "backward"))
    with open(text, "w", encoding="utf-8") as file:
        for source, target in pairs:
            file.write(f"{' '.join(source)} ||| {' '.join(target)}\n")
    systran_align.generate_alignment_probabilities(
        text, forward, backward, favor_diagonal=True, optimize_tension=True, variational_bayes=True
    )
    return systran_align.Aligner(forward, backward)


def align(pairs: Iterator[Pair], aligner: systran_align.Aligner) -> Iterator[records.Record]:
    for source, target in pairs:
        links = aligner.align(source, target)["alignments"]
        yield " ".join(source), " ".join(target), " ".join(f"{i}-{j}" for i, j in links)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True, help="pieces, a sentence a line")
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--output", type=Path, required=True, help="records to write")
    args = parser.parse_args()

    def pairs() -> Iterator[Pair]:
        return itertools.islice(read_pairs(args.source, args.target), args.pairs)

    with tempfile.TemporaryDirectory(dir=args.output.parent) as folder:
        aligner = train(progress(pairs(), "reading", unit="pair"), Path(folder))
        records.write(args.output, align(progress(pairs(), "aligning", unit="pair"), aligner))


if __name__ == "__main__":
    command(main)
