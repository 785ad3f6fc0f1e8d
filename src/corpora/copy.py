"""Copy a dev or test set unchanged, with its counts; a line with an empty side is an error."""

import argparse
from pathlib import Path

import numpy as np

from corpora import rules
from corpora.funnel import Funnel, with_reading
from corpora.sources.source import WHOLE_ROLES
from corpora.text_features import Characters, Measured, characters
from formats import records
from formats.batches import batches
from formats.counts import Fetched, fetched
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json


def copy(source: Path, output: Path, role: str, tables: Characters, reverse: bool = False) -> None:
    """Write the records, reversed with the target first, and their JSON.

    Raises UserError for a record with an empty side.
    """
    info = records.info(source)
    about = fetched(info) if info.exists() else Fetched(name=records.name(source))
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
            turned = (batch.record(row)[::-1] for row in range(len(batch) if reverse else 0))
            copied.write(b"".join(map(records.line, turned)) if reverse else batch.text.tobytes())
            funnel.sort_out(measured)
    counts = with_reading(about, funnel.counts())
    write_json(records.info(output), {**about, "role": role, **counts, "sha256": copied.sha256})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", type=there, required=True, help="records, X.tsv.zst")
    parser.add_argument("--role", choices=WHOLE_ROLES, required=True, help="what the set is for")
    parser.add_argument("--languages", nargs="+", required=True, help="ISO 639-1 codes of the columns")
    parser.add_argument("--reverse", action="store_true", help="the target side first, for a backward teacher")
    parser.add_argument("--output", type=Path, required=True, help="records; their counts are written beside them")
    args = parser.parse_args()
    copy(args.input, args.output, args.role, characters(args.languages), args.reverse)


if __name__ == "__main__":
    command(main)
