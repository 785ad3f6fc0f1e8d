"""Put the shards of a corpus together, in order, and their counts; nothing may get lost on the way."""

import argparse
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distill import rules
from formats import records
from formats.errors import UserError, command
from formats.files import read_json, write_json


def verified(path: Path) -> Iterator[records.Record]:
    """The records of a shard. Raises UserError if they are not those that its JSON tells of."""
    counts = read_json(records.info(path))
    number, digest = 0, hashlib.sha256()
    for record in records.read(path):
        digest.update(records.line(record))
        number += 1
        yield record
    if (number, digest.hexdigest()) != (counts["lines_out"], counts["sha256"]):
        raise UserError(
            f"{path}: its {number:,} lines are not those of {records.info(path).name}; delete both, run again"
        )


def chained(before: dict[str, Any], counts: dict[str, Any]) -> dict[str, Any]:
    """The counts of two stages as those of one. Raises UserError if the second did not see all that the first kept."""
    if before["lines_out"] != counts["lines_in"]:
        raise UserError(
            f"the shards have {counts['lines_in']:,} lines, the stage before kept {before['lines_out']:,}; "
            "delete the shards, run again"
        )
    return before | {
        "lines_out": counts["lines_out"],
        "dropped": before["dropped"] | counts["dropped"],
        "samples": before["samples"] | counts["samples"],
        "seconds": round(before["seconds"] + counts["seconds"], 3),
    }


def gather(shards: list[Path], output: Path, before: Path | None) -> None:
    """Write ``output`` and the JSON beside it, which continues ``before``, the JSON of the stage that was sharded."""
    counts = rules.merged([read_json(records.info(path)) for path in shards])
    counts = chained(read_json(before), counts) if before else {"name": records.name(output)} | counts
    rules.require_lines(output, counts)
    _, checksum = records.write(output, (record for path in shards for record in verified(path)))
    write_json(records.info(output), counts | {"sha256": checksum})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=Path, nargs="+", required=True, help="shards in order, each with its JSON")
    parser.add_argument("--after", type=Path, help="JSON of the corpus that was sharded, if its counts go on here")
    parser.add_argument("--output", type=Path, required=True, help="records; counts go to the JSON beside them")
    args = parser.parse_args()
    gather(args.inputs, args.output, args.after)


if __name__ == "__main__":
    command(main)
