"""The program of ``train.sample``."""

import argparse
import math
from pathlib import Path

from common.document import argument
from corpora.alignment import ALIGNERS
from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.text.tokenizers import pieces
from train import aligned_words
from train.aligned_words import Align
from train.augmentation import MEANT, RULES, check
from train.sample import __doc__ as about
from train.sample import draw
from train.settings import Augmentation


def _check(
    corpora: list[Path], weights: list[float] | None, pairs: int | None, epoch: int, augmentation: Augmentation | None
) -> None:
    """Raises UserError for arguments that no epoch can be drawn with."""
    if augmentation:
        check("both_sides", augmentation.both_sides, RULES)
        check("meant", augmentation.meant, MEANT)
    weights = weights or [1] * len(corpora)
    if len(weights) != len(corpora):
        raise UserError(f"{len(corpora)} corpora need as many weights, not {len(weights)}")
    for path, weight in zip(corpora, weights, strict=True):
        if not (weight > 0 and math.isfinite(weight)):
            raise UserError(f"{path}: weight {weight:g} is not above zero; leave the corpus out instead")
        if corpora.count(path) > 1:
            raise UserError(f"{path}: is there twice; give it one weight")
    if pairs is not None and pairs < 1:
        raise UserError(f"--pairs {pairs}: needs at least one")
    if epoch < 1:
        raise UserError(f"--epoch {epoch}: epochs are counted from 1")
    firsts = [next(records.read(path), None) for path in corpora]
    if None in firsts:
        raise UserError(f"{corpora[firsts.index(None)]}: there is nothing to draw from an empty corpus")
    if len({len(record) for record in firsts if record}) > 1:
        raise UserError(f"pairs and monolingual text do not mix: {' '.join(map(str, corpora))}")
    if augmentation and len(firsts[0] or ()) < 2:
        raise UserError(f"{corpora[0]}: monolingual text has no pairs to augment; leave out --augmentation or --added")


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=there, nargs="+", required=True, help="records, X.tsv.zst")
    parser.add_argument("--weights", type=float, nargs="+", help="relative, one per corpus (default: their sizes)")
    parser.add_argument("--pairs", type=int, help="size of the epoch (default: that of the corpora together)")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--epoch", type=int, default=1, help="number of the epoch, from 1 (default: %(default)s)")
    changes = parser.add_mutually_exclusive_group()
    changes.add_argument("--augmentation", type=argument(Augmentation), help="changes, as JSON (default: none)")
    changes.add_argument(
        "--added", type=argument(Augmentation), help="changed pairs beside the unchanged ones, as JSON"
    )
    parser.add_argument("--aligner", choices=ALIGNERS, default="fast_align", help="(default: %(default)s)")
    parser.add_argument("--probabilities", type=there, help="what it learned: copies stand inside of sentences, too")
    parser.add_argument("--sentencepiece", type=there, help="model of the pieces that it learned from")
    parser.add_argument("--output", type=Path, required=True, help="records to write; counts go to a JSON beside them")
    args = parser.parse_args()

    changes = args.augmentation or args.added
    if bool(args.probabilities) != bool(args.sentencepiece):
        raise UserError("--probabilities and --sentencepiece need one another")
    _check(args.corpora, args.weights, args.pairs, args.epoch, changes)
    align = _align(args.aligner, args.probabilities, args.sentencepiece) if args.probabilities else None
    draw(args.corpora, args.weights, args.pairs, args.seed, args.epoch, args.output, changes, align, bool(args.added))


def _align(aligner: str, probabilities: Path, sentencepiece: Path) -> Align:
    processor = pieces(sentencepiece)
    return aligned_words.by(ALIGNERS[aligner](probabilities), lambda lines: processor.encode(lines, out_type=str))


if __name__ == "__main__":
    command(main)
