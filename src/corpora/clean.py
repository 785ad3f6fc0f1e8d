"""Clean one shard of a corpus: every line is repaired, then kept, or dropped for exactly one reason, and counted.

corpora.gather drops duplicates. It needs the keys written here, two 64-bit hashes of each kept record: of the text, and
of its letters and numerals without case and with all numerals alike.
"""

import argparse
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from common.document import argument
from corpora import rules
from corpora.duplicates import keys_file
from corpora.funnel import Funnel
from corpora.repairs import Repairs
from corpora.settings import SIDES, Cleaning
from corpora.text_features import Characters, Measured, characters
from formats import records
from formats.batches import batches
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import atomic_path, write_json
from nmt_frontier.progress import progress


def clean(
    source: Path,
    shard: records.Shard | None,
    output: Path,
    repairs: Repairs,
    funnel: Funnel,
    tables: Characters,
    rejected: Path | None,
    sides: int | None = None,
) -> None:
    """Write the repaired records that pass the funnel, with keys and counts, and the dropped ones to ``rejected``.

    sides: as in Measured; further columns are scores, which are written as they are.
    """
    with ExitStack() as stack:
        kept = stack.enter_context(records.writer(output))
        keys = stack.enter_context(open(stack.enter_context(atomic_path(keys_file(output))), "wb"))
        dropped = stack.enter_context(records.writer(rejected)) if rejected else None
        for batch in progress(batches(source, shard), f"clean {records.name(output)}", size=len):
            measured = Measured(repairs.made(batch), tables, sides)
            rows = funnel.write_sorted(measured, kept, dropped)
            keys.write(np.stack([measured.hash[rows], measured.folded[rows]], axis=1).astype("<u8").tobytes())
    write_json(records.info(output), {**funnel.counts(), "repaired": repairs.repaired, "sha256": kept.sha256})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=there, required=True, help="records, X.tsv.zst")
    parser.add_argument("--shard", type=records.shard, help="K/N: the k-th of n parts (default: all)")
    parser.add_argument("--languages", nargs="+", required=True, help="ISO 639-1 codes of the sides")
    sides = "what these are (default: %(default)s)"
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES, help=sides)
    parser.add_argument(
        "--rules", type=argument(Cleaning), help="`cleaning` of the corpus, as JSON (default: no rules)"
    )
    parser.add_argument("--held-out", type=there, nargs="*", default=[], help="all dev and test sets of the study")
    parser.add_argument("--output", type=Path, required=True, help="records; counts and keys are written beside them")
    parser.add_argument("--rejected", type=Path, help="records to write the dropped lines to, the reason in front")
    args = parser.parse_args()
    tables = characters(args.languages)
    chosen = rules.chosen(args.rules, args.languages, args.held_out, tables, args.sides)
    repairs = Repairs(args.rules, args.languages)
    columns = len(args.languages)
    clean(args.input, args.shard, args.output, repairs, Funnel(chosen, args.sides), tables, args.rejected, columns)


if __name__ == "__main__":
    command(main)
