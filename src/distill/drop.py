"""Drop a percentage of a distilled corpus: the pairs with the lowest scores.

The score is the third column of the records. The corpus is read twice; memory holds only the scores, four bytes per
pair.
"""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from nmt_frontier.progress import progress


def threshold(path: Path, per_cent: float) -> tuple[np.float32, int]:
    """The lowest score to keep, and how many pairs with exactly this score to drop."""
    scores = np.fromiter((score(record, path) for record in records.read(path)), np.float32, records.count(path))
    scores.sort()
    dropped = int(len(scores) * per_cent / 100)
    lowest = scores[dropped] if len(scores) else np.float32(0)
    return lowest, dropped - int(np.searchsorted(scores, lowest))


def score(record: records.Record, path: Path) -> float:
    """The score of a record of the corpus ``path``. Raises UserError if it has none."""
    try:
        return float(record[2])
    except (IndexError, ValueError):
        raise UserError(f"{path}: {record!r} has no score in its third column; give a distilled corpus") from None


def without_lowest(
    pairs: Iterable[records.Record], path: Path, lowest: np.float32, ties: int
) -> Iterator[records.Record]:
    """Pass on pairs that score at least ``lowest``, in float32, except the first ``ties`` that score exactly that."""
    for record in pairs:
        value = np.float32(score(record, path))
        if value == lowest and ties:
            ties -= 1
        elif value >= lowest:
            yield record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=there, required=True, help="records of source, target and score")
    parser.add_argument("--per-cent", type=float, required=True, help="share of the pairs to drop, less than 100")
    parser.add_argument("--output", type=Path, required=True, help="records to write; counts go to a JSON beside them")
    args = parser.parse_args()
    if not 0 <= args.per_cent < 100:
        raise UserError(f"--per-cent {args.per_cent:g}: must be 0 or more, and less than 100")

    lowest, ties = threshold(args.input, args.per_cent)
    pairs = progress(records.read(args.input), f"drop from {records.name(args.input)}", unit="pair")
    lines, checksum = records.write(args.output, without_lowest(pairs, args.input, lowest, ties))
    total = records.count(args.input)
    counts = {"lines_in": total, "lines_out": lines, "dropped": {"low_score": total - lines}}
    write_json(records.info(args.output), counts | {"lowest_score": float(lowest), "sha256": checksum})


if __name__ == "__main__":
    command(main)
