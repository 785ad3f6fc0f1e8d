"""The numbers of a shard, in its order, made in parts: a killed job loses at most one of them (distill.parts)."""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from distill import parts
from distill.parts import Written
from formats import records
from nmt_frontier.command_line import positive, there

SHOWN = 2000  # pairs scored before the progress says so

Pair = tuple[str, ...]  # of monolingual text one side


class Scored(Written):
    """The JSON beside the numbers. seconds: of this run; pairs_a_second: that it scored, of a core."""

    seconds: float
    pairs_a_second: float


def options(description: str | None) -> argparse.ArgumentParser:
    """Those that every command has which scores a shard."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=there, required=True, help="records")
    parser.add_argument("--sides", type=positive, default=2, help="columns that are text (default: %(default)s)")
    parser.add_argument("--shard", type=records.shard, help="K/N: the k-th of n parts of it (default: all of it)")
    parser.add_argument("--output", type=Path, required=True, help="a number a record; counts go to a JSON beside them")
    return parser


def write(
    args: argparse.Namespace,
    files: Iterable[Path],
    score: Callable[[list[Pair]], Iterable[float]],
    name: str,
    cores: int = 1,
    together: int | None = None,
) -> None:
    """Write the numbers of a shard. Raises as distill.parts.write.

    files: that decide on them, beside the corpus. score: the numbers of some pairs, in order. cores: that it uses.
    together: how many pairs a part has, if others than usual.
    """
    total = records.count(args.input, args.shard)
    what = f"{name} {records.name(args.input)} {records.name(args.output)}"
    seconds, made = 0.0, 0

    def numbers(pairs: list[Pair]) -> Iterator[records.Record]:
        nonlocal seconds, made
        step = together or SHOWN
        for first in range(0, len(pairs), step):
            start = time.monotonic()
            found = [*score(pairs[first : first + step])]
            seconds, made = seconds + time.monotonic() - start, made + len(found)
            yield from ((repr(round(number, 6)),) for number in found)

    def counts(lines: int, checksum: str) -> Scored:
        rate = made / seconds / cores if seconds else 0.0
        print(f"{what}: {rate:,.0f} pairs a second and core", file=sys.stderr)
        return {
            "lines_out": lines,
            "sha256": checksum,
            "seconds": round(seconds, 3),
            "pairs_a_second": round(rate, 1),
        }

    pairs = (record[: args.sides] for record in records.read(args.input, args.shard))
    parts.write(args.output, parts.key(args, [args.input, *files]), pairs, total, numbers, what, counts, together)
