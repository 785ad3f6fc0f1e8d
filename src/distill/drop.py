"""Leave out the pairs with the lowest scores: so many per cent of a distilled corpus.

The third column of the records is the score. Two passes: the first one reads the scores alone (four bytes a pair).
"""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from formats import records
from formats.errors import UserError, command
from formats.files import write_json
from formats.progress import progress


def threshold(path: Path, per_cent: float) -> tuple[np.float32, int]:
    """The lowest score that stays, and how many pairs with just this score must go."""
    scores = np.fromiter((score(record, path) for record in records.read(path)), np.float32, records.count(path))
    scores.sort()
    dropped = int(len(scores) * per_cent / 100)
    lowest = scores[dropped] if len(scores) else np.float32(0)
    return lowest, dropped - int(np.searchsorted(scores, lowest))


def score(record: records.Record, path: Path) -> float:
    """Of a record. Raises UserError for one without."""
    try:
        return float(record[2])
    except (IndexError, ValueError):
        raise UserError(f"{path}: {record!r} has no score in its third column; give a distilled corpus") from None


def kept(pairs: Iterable[records.Record], path: Path, lowest: np.float32, ties: int) -> Iterator[records.Record]:
    for record in pairs:
        value = np.float32(score(record, path))
        if value == lowest and ties:
            ties -= 1
        elif value >= lowest:
            yield record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="records of source, target and score")
    parser.add_argument("--per-cent", type=float, required=True)
    parser.add_argument("--output", type=Path, required=True, help="records to write; counts go to a .json beside it")
    args = parser.parse_args()

    lowest, ties = threshold(args.input, args.per_cent)
    pairs = progress(records.read(args.input), f"drop from {records.name(args.input)}", unit="pair")
    lines, checksum = records.write(args.output, kept(pairs, args.input, lowest, ties))
    total = records.count(args.input)
    counts = {"lines_in": total, "lines_out": lines, "dropped": {"low_score": total - lines}}
    write_json(records.info(args.output), counts | {"lowest_score": float(lowest), "sha256": checksum})


if __name__ == "__main__":
    command(main)
