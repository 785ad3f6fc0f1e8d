"""The program of ``report.measurements``."""

import argparse
from pathlib import Path

from formats import measurement
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json, write_text
from report.headline import headline
from report.measurements import __doc__ as about
from report.measurements import as_csv


def main() -> None:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--measurements", type=there, required=True, help="measurements.json of a study")
    parser.add_argument("--csv", type=Path, help="all records, all fields")
    parser.add_argument("--headline", type=Path, help="JSON of the figures a study is quoted by")
    args = parser.parse_args()
    if not (args.csv or args.headline):
        parser.error("nothing to do: give --csv or --headline")

    records = measurement.read(args.measurements)
    if args.csv:
        write_text(args.csv, as_csv(records))
    if args.headline:
        write_json(args.headline, headline(records))


if __name__ == "__main__":
    command(main)
