"""Clean one shard of a corpus: every line is kept, or dropped for exactly one reason, and counted.

corpora.gather drops duplicates. It needs the keys written here, two 64-bit hashes of each kept record: of the text, and
of its letters and numerals without case and with all numerals alike. Dev and test sets are copied unchanged; in them, a
line with an empty side is an error.
"""

import argparse
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from corpora import rules
from corpora.funnel import KEPT, Funnel, with_reading
from corpora.text_features import Characters, Measured, characters
from formats import records
from formats.batches import batches
from nmt_frontier.command_line import json_value, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import atomic_path, read_json, write_json
from nmt_frontier.progress import progress

FILTERED_ROLES = ("train", "monolingual")
ROLES = (*FILTERED_ROLES, "dev", "test")
KEYS_SUFFIX = ".keys"


def keys_file(path: Path) -> Path:
    """The file of a shard's keys: uint64[records, 2], little-endian."""
    return path.with_name(records.name(path) + KEYS_SUFFIX)


def write_sorted(
    measured: Measured, funnel: Funnel, kept: records.Writer, dropped: records.Writer | None
) -> np.ndarray:
    """Write each record to ``kept`` or, reason first, to ``dropped``, if given. Returns the rows that were kept."""
    batch, verdict = measured.batch, funnel.sort_out(measured)
    rows = np.flatnonzero(verdict == KEPT)
    kept.write(batch.lines(rows))
    if dropped:
        refused = ((funnel.reasons[verdict[row]], *batch.record(row)) for row in np.flatnonzero(verdict != KEPT))
        dropped.write(b"".join(map(records.line, refused)))
    return rows


def clean(
    source: Path, shard: records.Shard | None, output: Path, funnel: Funnel, tables: Characters, rejected: Path | None
) -> None:
    """Write the records that pass the funnel, with their keys and counts, and the dropped ones to ``rejected``."""
    with ExitStack() as stack:
        kept = stack.enter_context(records.writer(output))
        keys = stack.enter_context(open(stack.enter_context(atomic_path(keys_file(output))), "wb"))
        dropped = stack.enter_context(records.writer(rejected)) if rejected else None
        for batch in progress(batches(source, shard), f"clean {records.name(output)}", size=len):
            measured = Measured(batch, tables)
            rows = write_sorted(measured, funnel, kept, dropped)
            keys.write(np.stack([measured.hash[rows], measured.folded[rows]], axis=1).astype("<u8").tobytes())
    write_json(records.info(output), funnel.counts() | {"sha256": kept.sha256})


def copy(source: Path, output: Path, role: str, tables: Characters) -> None:
    """Copy a dev or test set and write its counts. Raises UserError for a record with an empty side."""
    about = read_json(records.info(source)) if records.info(source).exists() else {"name": records.name(source)}
    funnel = Funnel({})
    with records.writer(output) as copied:
        for batch in batches(source):
            measured = Measured(batch, tables)
            for row in np.flatnonzero(rules.empty(measured, np.arange(len(batch)))):
                texts = " | ".join(side.strip() or "(empty)" for side in batch.record(row))
                raise UserError(
                    f"{source}: record {funnel.lines_in + row + 1} has an empty side: {texts}; {role} sets are not "
                    f"filtered: mend {about.get('origin', 'the original')}, delete this file and run again"
                )
            copied.write(batch.text.tobytes())
            funnel.sort_out(measured)
    counts = with_reading(about, funnel.counts())
    write_json(records.info(output), about | {"role": role} | counts | {"sha256": copied.sha256})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=there, required=True, help="records, X.tsv.zst")
    parser.add_argument("--shard", type=records.shard, help="K/N: the k-th of n parts (default: all)")
    parser.add_argument("--role", choices=ROLES, default="train", help="(default: %(default)s)")
    parser.add_argument("--languages", nargs="+", required=True, help="ISO 639-1 codes of the columns")
    parser.add_argument("--rules", type=json_value, default={}, help="`cleaning` of the configuration, as JSON")
    parser.add_argument("--held-out", type=there, nargs="*", default=[], help="all dev and test sets of the study")
    parser.add_argument("--output", type=Path, required=True, help="records; counts and keys are written beside them")
    parser.add_argument("--rejected", type=Path, help="records to write the dropped lines to, the reason in front")
    args = parser.parse_args()
    tables = characters(args.languages)
    if args.role not in FILTERED_ROLES:
        return copy(args.input, args.output, args.role, tables)
    chosen = rules.chosen(args.rules, args.languages, args.held_out, tables)
    clean(args.input, args.shard, args.output, Funnel(chosen), tables, args.rejected)


if __name__ == "__main__":
    command(main)
