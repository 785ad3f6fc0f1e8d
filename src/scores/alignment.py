"""Score pairs by the word aligner: the mean log-probability of a piece, given the other side, in both directions.

fast_align's (Dyer et al. 2013), of what corpora.alignment learned: its tables say which pieces translate each other, so
that sides that do not belong together, and such that are cut off, have low scores. How likely the text itself is has no
influence; a short pair is near the middle, as few pieces say little: one rare word would make it the worst of all.
"""

from collections.abc import Iterator

from corpora.alignment import FastAlign, alignable
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.text.tokenizers import pieces
from scores import shards

LOWEST = -100.0  # of a pair that cannot be aligned: a side has no piece, or too many


def main() -> None:
    parser = shards.options(__doc__)
    parser.add_argument("--sentencepiece", type=there, required=True, help="model that cuts both sides into pieces")
    parser.add_argument("--probabilities", type=there, required=True, help="folder of corpora.alignment train")
    args = parser.parse_args()
    processor, aligner = pieces(args.sentencepiece), FastAlign(args.probabilities)

    def score(pairs: list[shards.Pair]) -> Iterator[float]:
        sides = (processor.encode(list(side), out_type=str, num_threads=1) for side in zip(*pairs, strict=True))
        for source, target in zip(*sides, strict=True):
            yield aligner.score(source, target) if alignable(source, target) else LOWEST

    shards.write(args, [args.sentencepiece, args.probabilities], score, "alignment")


if __name__ == "__main__":
    command(main)
