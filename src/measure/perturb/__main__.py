"""The program of ``measure.perturb``."""

import argparse
from itertools import islice
from pathlib import Path

from formats import records
from measure.perturb import __doc__ as about
from measure.perturb import lists
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import command
from nmt_frontier.files import atomic_path


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test-set", type=there, required=True, help="records with references")
    parser.add_argument("--languages", nargs=2, required=True, metavar=("SOURCE", "TARGET"), help="their codes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sentences", type=positive, help="only the first ones (default: all)")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()

    pairs = list(islice(records.pairs(args.test_set), args.sentences))
    with atomic_path(args.output) as part:
        part.mkdir()
        for name, rows in lists(pairs, tuple(args.languages), args.seed):
            records.write(part / f"{name}{records.SUFFIX}", rows)


if __name__ == "__main__":
    command(main)
