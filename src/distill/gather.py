"""Put the shards of a corpus together, in order, and their counts; nothing may get lost on the way.

Here duplicates are dropped too: only now is the whole corpus at hand. The merge is checked on both sides by counts and
checksums: every shard against the JSON written when it was made, and what was written by reading it again. The JSON has
a checksum of the pairs that does not depend on their order: the sum of their 64-bit hashes.
"""

import argparse
import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from distill import duplicates
from distill.characters import characters
from distill.clean import keys_file, rejected_lines
from distill.funnel import KEPT, Funnel, chained, merged, require_lines
from distill.measures import Measured
from distill.rules import Rule
from formats import records
from formats.batches import Batch, batches
from formats.errors import UserError, command
from formats.files import read_json, write_json
from formats.progress import progress

DUPLICATES = {"duplicate": 0, "near_duplicate": 1}  # reason: column of the keys


def verified(path: Path) -> Iterator[Batch]:
    """The records of a shard. Raises UserError if they are not those that its JSON tells of."""
    counts = read_json(records.info(path))
    number, digest = 0, hashlib.sha256()
    for batch in batches(path):
        digest.update(batch.text)
        number += len(batch)
        yield batch
    if (number, digest.hexdigest()) != (counts["lines_out"], counts["sha256"]):
        raise UserError(
            f"{path}: its {number:,} lines are not those of {records.info(path).name}; delete both, run again"
        )


def duplicate_rules(shards: list[Path], reasons: list[str], folder: Path) -> dict[str, Rule]:
    """For each reason a rule that has to be asked about all records of the shards, in their order."""
    files = [keys_file(path) for path in shards] if reasons else []  # only cleaned shards have keys
    total = sum(path.stat().st_size for path in files) // 16

    def rule(column: int) -> Rule:
        marks = duplicates.repeated(duplicates.read_keys(files, column), total, folder)
        position = 0

        def seen_before(measured: Measured, rows: np.ndarray) -> np.ndarray:
            nonlocal position
            answer = duplicates.marked(marks, position, len(measured.batch))[rows]
            position += len(measured.batch)
            return answer

        return seen_before

    return {reason: rule(DUPLICATES[reason]) for reason in reasons}


def gather(shards: list[Path], output: Path, about: dict[str, Any], reasons: list[str], rejected: list[Path]) -> None:
    """Write ``output`` and the JSON beside it, which continues ``about`` and the counts of the shards.

    ``rejected`` are the rejected records of the shards, to be put together beside ``output``.
    """
    before = merged([read_json(records.info(path)) for path in shards])
    if about.get("lines", before["lines_in"]) != before["lines_in"]:
        raise UserError(
            f"{output}: the shards were made of {before['lines_in']:,} lines, the corpus has {about['lines']:,}; "
            "delete the shards, run again"
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    funnel, tables, kept_sum = Funnel(duplicate_rules(shards, reasons, output.parent)), characters([]), 0
    with ExitStack() as stack:
        kept = stack.enter_context(records.writer(output))
        dropped = stack.enter_context(records.writer(rejected_file(output))) if rejected else None
        stream = (batch for path in shards for batch in verified(path))
        for batch in progress(stream, f"gather {records.name(output)}", before["lines_out"], size=len):
            measured = Measured(batch, tables)
            verdict = funnel.sort_out(measured)
            rows = np.flatnonzero(verdict == KEPT)
            kept_sum += int(measured.hash[rows].sum(dtype=np.uint64))
            kept.write(batch.lines(rows))
            if dropped:
                dropped.write(b"".join(rejected_lines(batch, verdict, funnel.reasons)))
        for text in (text for path in rejected for text in records.frames(path)):
            dropped.write(text)
        counts = chained(before, funnel.counts())
        require_lines(output, counts)
    verify_written(output, counts["lines_out"], kept.sha256)
    counts = with_reading(about, counts)
    counts["samples"] = {reason: [record for _, record in samples] for reason, samples in counts["samples"].items()}
    write_json(records.info(output), about | counts | {"sha256": kept.sha256, "checksum": f"{kept_sum % 2**64:016x}"})


def with_reading(about: dict[str, Any], counts: dict[str, Any]) -> dict[str, Any]:
    """The counts with what was dropped already when the corpus was read, such as invalid UTF-8."""
    dropped = about.get("dropped", {})
    return counts | {"lines_in": counts["lines_in"] + sum(dropped.values()), "dropped": dropped | counts["dropped"]}


def verify_written(path: Path, count: int, sha256: str) -> None:
    """Read it again. Raises UserError, and deletes the file, if it does not hold what was meant to be written."""
    lines, digest = 0, hashlib.sha256()
    for text in records.frames(path):
        lines += text.count(b"\n")
        digest.update(text)
    if (lines, digest.hexdigest()) != (count, sha256):
        path.unlink()
        raise UserError(f"{path}: was not written as it was meant to be and is deleted; check the disk, run again")


def rejected_file(path: Path) -> Path:
    return path.with_name(f"{records.name(path)}.rejected{records.SUFFIX}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=Path, nargs="+", required=True, help="shards in order, each with its JSON")
    parser.add_argument("--about", type=Path, help="JSON of the corpus that was cut into shards, which goes on here")
    parser.add_argument("--duplicates", action="store_true", help="drop records that were there before")
    parser.add_argument("--near-duplicates", action="store_true", help="and near ones: other case, signs, numbers")
    parser.add_argument("--rejected", type=Path, nargs="*", default=[], help="rejected records of the shards")
    parser.add_argument("--output", type=Path, required=True, help="records; counts go to the JSON beside them")
    args = parser.parse_args()
    about = read_json(args.about) if args.about else {"name": records.name(args.output)}
    asked = {"duplicate": args.duplicates, "near_duplicate": args.near_duplicates}
    gather(args.inputs, args.output, about, [reason for reason in DUPLICATES if asked[reason]], args.rejected)


if __name__ == "__main__":
    command(main)
