"""Score pairs by dual conditional cross-entropy (Junczys-Dowmunt 2018, arXiv 1809.00197).

H(y|x) is the mean negative log-probability of a piece of the target and its end, by a model from source to target with
forced decoding; H(x|y) is that of the source, by a model in the other direction. The score, from 0 to 1, is
exp(-(|H(y|x) - H(x|y)| + (H(y|x) + H(x|y)) / 2)): low where a model is surprised, and where one is more surprised than
the other, as by a side that says less.
"""

from collections.abc import Iterator
from math import exp

from nmt_frontier.errors import command
from scores import models, shards


def dual(forward: float, backward: float) -> float:
    """The score of two cross-entropies."""
    return exp(-(abs(forward - backward) + (forward + backward) / 2))


def main() -> None:
    args = models.options(__doc__).parse_args()
    forward, backward = models.loaded(args)

    def score(pairs: list[shards.Pair]) -> Iterator[float]:
        found = (
            [*forward.score((source, target) for source, target in pairs)],
            [*backward.score((target, source) for source, target in pairs)],
        )
        for one, other in zip(*found, strict=True):
            yield dual(-one, -other) if one and other else 0.0  # no side without pieces is sure of the other

    files = [*args.models, *filter(None, [args.sentencepiece])]
    shards.write(args, files, score, "translation", args.threads)


if __name__ == "__main__":
    command(main)
