"""The program of ``report.front_page``."""

import argparse
from pathlib import Path

from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import write_text
from report.front_page import __doc__ as about
from report.front_page import page, read


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measurements", type=there, nargs="+", required=True, help="measurements.json of each study")
    parser.add_argument("--samples", type=there, nargs="*", default=[], help="JSON of report.samples, of each study")
    parser.add_argument("--output", type=Path, required=True, help="HTML page to write")
    args = parser.parse_args()
    write_text(args.output, page(read(args.measurements, args.samples)))


if __name__ == "__main__":
    command(main)
