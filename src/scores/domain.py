"""Score lines by the difference of two cross-entropies (Moore and Lewis 2010): which are like a small text.

The first model has learned from text like the one that is wanted, the second from a sample of what is scored. The score
is H(second) - H(first), in nats a piece: above 0 where the first one is less surprised. A language model is here a
model whose every source is one full stop: the engine scores it as fast as any other, and needs nothing new.
"""

from collections.abc import Iterator

from nmt_frontier.errors import command
from scores import models, shards

SIDES = ("source", "target")


def main() -> None:
    parser = models.options(__doc__)
    parser.add_argument("--side", choices=SIDES, default="source", help="that is scored (default: %(default)s)")
    args = parser.parse_args()
    near, far = models.loaded(args)
    column = SIDES.index(args.side)

    def score(pairs: list[shards.Pair]) -> Iterator[float]:
        lines = [(models.NO_TEXT, pair[column]) for pair in pairs]
        yield from (one - other for one, other in zip([*near.score(lines)], [*far.score(lines)], strict=True))

    files = [*args.models, *filter(None, [args.sentencepiece])]
    shards.write(args, files, score, "domain", args.threads)


if __name__ == "__main__":
    command(main)
