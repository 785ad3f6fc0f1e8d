"""Word alignment in subword units, both ways, symmetrised.

``train`` learns from a sample, the first ``--pairs`` pairs of a shuffled corpus; ``apply`` aligns a shard of the
corpus with what was learned. Its records are ``source pieces<TAB>target
pieces<TAB>alignment``, the alignment as ``0-0 1-2``.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import sentencepiece

from export.aligners import ALIGNERS, Aligner, Pair
from export.phrases import LONGEST
from formats import records
from formats.errors import command
from formats.files import whole
from formats.loading import pieces
from formats.progress import progress

BATCH = 10_000  # pairs in memory


def encoded(corpus: Path, model: Path, shard: records.Shard | None = None, most: int | None = None) -> Iterator[Pair]:
    """Stream the pairs of a corpus as pieces, all or the first ones.

    Those that cannot be aligned are left out, and counted on stderr in the end.
    """
    given = left_out = 0
    for source, target in _in_pieces(records.read(corpus, shard), pieces(model)):
        if given == most:
            break
        if min(len(source), len(target)) > 0 and max(len(source), len(target)) <= LONGEST:
            given += 1
            yield source, target
        else:
            left_out += 1
    print(f"{left_out:,} pairs left out: a side is empty or has more than {LONGEST:,} pieces", file=sys.stderr)


def _in_pieces(pairs: Iterator[records.Record], processor: sentencepiece.SentencePieceProcessor) -> Iterator[Pair]:
    while batch := [record[:2] for record in itertools.islice(pairs, BATCH)]:
        sides = (processor.encode(list(side), out_type=str, num_threads=1) for side in zip(*batch, strict=True))
        yield from zip(*sides, strict=True)


def aligned(pairs: Iterator[Pair], aligner: Aligner) -> Iterator[records.Record]:
    while batch := list(itertools.islice(pairs, BATCH * 10)):
        for (source, target), links in zip(batch, aligner.align(batch), strict=True):
            yield " ".join(source), " ".join(target), " ".join(f"{i}-{j}" for i, j in links)


def train(args: argparse.Namespace) -> None:
    with whole(args.output) as part:
        part.mkdir(parents=True)
        pairs = encoded(args.corpus, args.sentencepiece, most=args.pairs)
        ALIGNERS[args.aligner].train(progress(pairs, "reading", unit="pair"), part)


def apply(args: argparse.Namespace) -> None:
    pairs = encoded(args.corpus, args.sentencepiece, args.shard)
    found = aligned(pairs, ALIGNERS[args.aligner](args.probabilities))
    records.write(args.output, progress(found, "aligning", unit="pair"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for step in (train, apply):
        options = commands.add_parser(step.__name__)
        options.set_defaults(step=step)
        options.add_argument("--aligner", choices=ALIGNERS, default="fast_align")
        options.add_argument("--corpus", type=Path, required=True, help="records of pairs")
        options.add_argument("--sentencepiece", type=Path, required=True, help="model of the pieces")
        if step is train:
            options.add_argument("--pairs", type=int, default=1_000_000)
        else:
            options.add_argument("--probabilities", type=Path, required=True, help="folder that train wrote")
            options.add_argument("--shard", type=records.shard, help="K/N: only this part of the corpus")
        options.add_argument(
            "--output", type=Path, required=True, help="train: folder to write; apply: records to write"
        )
    args = parser.parse_args()
    args.step(args)


if __name__ == "__main__":
    command(main)
