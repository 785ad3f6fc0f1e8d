"""Concatenate the shards of a corpus, merge their counts, drop duplicates, and check that nothing is lost.

Each shard is compared with the counts and the checksum in its JSON, and the output is read again.
"""

import argparse
import hashlib
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from corpora import duplicates
from corpora.duplicates import keys_file
from corpora.funnel import Funnel, chained, merged, rejected_file, require_lines, verify_written, with_reading
from corpora.rules import Dropped, Rows, Rule
from corpora.settings import SIDES
from corpora.text_features import Measured, characters
from formats import records
from formats.batches import Batch, batches
from formats.counts import Fetched, Shard, dropped_by_half, fetched
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import document, write_json
from nmt_frontier.progress import progress

DUPLICATES = {"duplicate": 0, "near_duplicate": 1}  # reason to drop: column of the keys


def counts_of(path: Path) -> Shard:
    """The counts beside a shard. Raises UserError for other JSON."""
    return document(records.info(path), Shard, "not the counts of a shard; delete it, run again")


def verified(path: Path) -> Iterator[Batch]:
    """The records of a shard. Raises UserError if number or checksum differ from its JSON."""
    counts = counts_of(path)
    number, digest = 0, hashlib.sha256()
    for batch in batches(path):
        digest.update(batch.text.data)
        number += len(batch)
        yield batch
    if (number, digest.hexdigest()) != (counts["lines_out"], counts.get("sha256")):
        raise UserError(
            f"{path}: its {number:,} lines are not those of {records.info(path).name}; delete both, run again"
        )


def duplicate_rules(shards: list[Path], reasons: list[str], folder: Path) -> dict[str, Rule]:
    """A rule for each reason; each rule must see every batch of the shards once, in order."""
    files = [keys_file(path) for path in shards] if reasons else []  # only cleaned shards have keys
    total = sum(path.stat().st_size for path in files) // 16

    def rule(column: int) -> Rule:
        marks = duplicates.repeated(duplicates.read_keys(files, column), total, folder)
        position = 0

        def seen_before(measured: Measured, rows: Rows) -> Dropped:
            nonlocal position
            repeated = duplicates.marked(marks, position, len(measured.batch))[rows]
            position += len(measured.batch)
            return repeated

        return seen_before

    return {reason: rule(DUPLICATES[reason]) for reason in reasons}


def gather(shards: list[Path], output: Path, about: Fetched, reasons: list[str], rejected: list[Path]) -> None:
    """Write ``output`` and its JSON, which extends ``about``. Raises UserError if lines are missing or none is left.

    reasons: keys of DUPLICATES to apply. rejected: files of dropped records, to concatenate beside ``output``.
    """
    before = merged([counts_of(path) for path in shards])
    if about.get("lines", before["lines_in"]) != before["lines_in"]:
        raise UserError(
            f"{output}: the shards were made of {before['lines_in']:,} lines, the corpus has {about['lines']:,}; "
            "delete the shards, run again"
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    sides = [*before.get("lengths", {})]  # of the first columns, if the shards were cleaned; scores may follow
    funnel, tables = Funnel(duplicate_rules(shards, reasons, output.parent), sides or SIDES), characters([])
    with ExitStack() as stack:
        kept = stack.enter_context(records.writer(output))
        dropped = stack.enter_context(records.writer(rejected_file(output))) if rejected else None
        stream = (batch for path in shards for batch in verified(path))
        for batch in progress(stream, f"gather {records.name(output)}", before["lines_out"], size=len):
            funnel.write_sorted(Measured(batch, tables, len(sides)), kept, dropped)
        if dropped:
            for text in (text for path in rejected for text in records.frames(path)):
                dropped.write(text)
        counts = chained(before, funnel.counts())
        require_lines(output, counts)
    verify_written(output, counts["lines_out"], kept.sha256)
    whole = with_reading(about, counts)
    for line in dropped_by_half(records.name(output), whole["lines_in"], whole["dropped"]):
        print(line, file=sys.stderr)
    write_json(records.info(output), {**about, **whole, "sha256": kept.sha256})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=there, nargs="+", required=True, help="shards in order, each with its JSON")
    parser.add_argument("--about", type=there, help="JSON of the corpus before it was divided; the new JSON extends it")
    parser.add_argument("--duplicates", action="store_true", help="drop repeated records")
    parser.add_argument("--near-duplicates", action="store_true", help="also if case, punctuation, numbers differ")
    parser.add_argument("--rejected", type=there, nargs="*", default=[], help="rejected records of the shards")
    parser.add_argument("--output", type=Path, required=True, help="records; counts go to the JSON beside them")
    args = parser.parse_args()
    about = fetched(args.about) if args.about else Fetched(name=records.name(args.output))
    enabled = {"duplicate": args.duplicates, "near_duplicate": args.near_duplicates}
    gather(args.inputs, args.output, about, [reason for reason in DUPLICATES if enabled[reason]], args.rejected)


if __name__ == "__main__":
    command(main)
