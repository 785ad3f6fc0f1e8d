"""Cut records into contiguous shards of equal size (within one record), the unit of resuming and of parallel work."""

import argparse
import itertools
from pathlib import Path

from formats import records
from formats.errors import command
from formats.progress import progress


def sizes(lines: int, shards: int) -> list[int]:
    return [(lines * (k + 1)) // shards - (lines * k) // shards for k in range(shards)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", type=Path, required=True, help="records")
    parser.add_argument("--outputs", type=Path, nargs="+", required=True, help="a file a shard")
    args = parser.parse_args()

    lines = sum(1 for _ in progress(records.read(args.input), "counting"))
    stream = records.read(args.input)
    for output, size in zip(args.outputs, sizes(lines, len(args.outputs)), strict=True):
        records.write(output, itertools.islice(stream, size))


if __name__ == "__main__":
    command(main)
