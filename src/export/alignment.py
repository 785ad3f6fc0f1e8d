"""Align a corpus in subword units, in both directions, symmetrised.

``train`` learns from a sample, the first ``--pairs`` pairs of a shuffled corpus; ``apply`` aligns a shard of the
corpus with what was learned. Its records are ``source pieces<TAB>target pieces<TAB>links``, the links as ``0-0 1-2``.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import sentencepiece

from common.errors import UserError, command
from common.files import atomic_path
from common.progress import progress
from export.aligners import ALIGNERS, Aligner, Pair
from export.phrase_extraction import MAX_LENGTH
from formats import records
from formats.loading import pieces

BATCH = 10_000  # pairs encoded at a time; ten times as many are aligned at a time


def encoded(corpus: Path, model: Path, shard: records.Shard | None = None, most: int | None = None) -> Iterator[Pair]:
    """Stream the pairs of a corpus as pieces, at most ``most`` of them.

    Pairs that cannot be aligned are left out; their number goes to stderr at the end.
    """
    yielded = left_out = 0
    for source, target in _in_pieces(records.read(corpus, shard), pieces(model)):
        if yielded == most:
            break
        if min(len(source), len(target)) > 0 and max(len(source), len(target)) <= MAX_LENGTH:
            yielded += 1
            yield source, target
        else:
            left_out += 1
    print(f"{left_out:,} pairs left out: a side is empty or has more than {MAX_LENGTH:,} pieces", file=sys.stderr)


def _in_pieces(pairs: Iterator[records.Record], processor: sentencepiece.SentencePieceProcessor) -> Iterator[Pair]:
    while batch := [record[:2] for record in itertools.islice(pairs, BATCH)]:
        sides = (processor.encode(list(side), out_type=str, num_threads=1) for side in zip(*batch, strict=True))
        yield from zip(*sides, strict=True)


def aligned(pairs: Iterator[Pair], aligner: Aligner) -> Iterator[records.Record]:
    """Stream the records of ``apply``."""
    while batch := list(itertools.islice(pairs, BATCH * 10)):
        for (source, target), links in zip(batch, aligner.align(batch), strict=True):
            yield " ".join(source), " ".join(target), " ".join(f"{i}-{j}" for i, j in links)


def train(aligner: type[Aligner], pairs: Iterator[Pair], output: Path) -> None:
    """Raises UserError where there is no pair."""
    if (first := next(pairs, None)) is None:
        raise UserError("the corpus has no pair that can be aligned; see the counts in corpora/clean/*.json")
    with atomic_path(output) as part:
        part.mkdir(parents=True)
        aligner.train(progress(itertools.chain([first], pairs), "reading", unit="pair"), part)


def apply(aligner: Aligner, pairs: Iterator[Pair], output: Path) -> None:
    records.write(output, progress(aligned(pairs, aligner), "aligning", unit="pair"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("train", "apply"):
        options = commands.add_parser(name)
        options.add_argument("--aligner", choices=ALIGNERS, default="fast_align")
        options.add_argument("--corpus", type=Path, required=True, help="records of pairs")
        options.add_argument("--sentencepiece", type=Path, required=True, help="model that cuts the pairs into pieces")
        if name == "train":
            options.add_argument("--pairs", type=int, default=1_000_000)
        else:
            options.add_argument("--probabilities", type=Path, required=True, help="folder that train wrote")
            options.add_argument("--shard", type=records.shard, help="K/N: only this part of the corpus")
        options.add_argument(
            "--output", type=Path, required=True, help="train: folder to write; apply: records to write"
        )
    args = parser.parse_args()

    aligner = ALIGNERS[args.aligner]
    if args.command == "train":
        train(aligner, encoded(args.corpus, args.sentencepiece, most=args.pairs), args.output)
    else:
        apply(aligner(args.probabilities), encoded(args.corpus, args.sentencepiece, args.shard), args.output)


if __name__ == "__main__":
    command(main)
