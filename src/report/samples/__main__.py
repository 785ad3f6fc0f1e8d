"""The program of ``report.samples``."""

import argparse
from pathlib import Path

from nmt_frontier.command_line import named_path, positive
from nmt_frontier.errors import command
from report.samples import Samples, choose, write
from report.samples import __doc__ as about


def main() -> None:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--test-set", type=named_path, required=True, help="name=path of records")
    parser.add_argument("--outputs", type=named_path, nargs="+", required=True, help="system=path, in order of display")
    parser.add_argument("--count", type=positive, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="files to write: .md, .json")
    args = parser.parse_args()
    name, path = args.test_set
    samples = Samples(name, choose(path, dict(args.outputs), args.count, args.seed))
    for output in args.output:
        write(output, samples)


if __name__ == "__main__":
    command(main)
