"""The program of ``report.rows``."""

import argparse
from pathlib import Path

from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_text
from report import claims
from report.compact import compact
from report.rows import REFERENCE, read, rows
from report.rows import __doc__ as about


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paper", choices=claims.NAMES, help="(default: all)")
    files = "measurements.json, architectures.json, ladders (default: those of paper.yaml, below results/reference)"
    parser.add_argument("--measurements", type=there, nargs="*", help=files)
    parser.add_argument("--values", type=there, help="JSON list of numbers that are in no measurement")
    parser.add_argument("--output", type=Path, help="(default: papers/NAME/rows.json)")
    args = parser.parse_args()
    if args.paper is None and (args.measurements or args.values or args.output):
        parser.error("--paper: needed with other options")
    for name in [args.paper] if args.paper else claims.NAMES:
        folder, kept = claims.PAPERS / name, claims.papers()[name].measurements
        paths = [REFERENCE / path for path in kept] if args.measurements is None else args.measurements
        found = rows(name, [*map(read, paths)], read_json(args.values or folder / "values.json"))
        write_text(args.output or folder / "rows.json", compact(found) + "\n")


if __name__ == "__main__":
    command(main)
