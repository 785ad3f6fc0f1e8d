"""Whether the corpora of a study can be had: `python -m study.available FILE` prints those that cannot."""

import argparse
import sys
from pathlib import Path

from corpora.availability import available
from corpora.download import CACHE
from nmt_frontier.errors import command
from study.config import read


def main() -> None:
    description = "Print the corpora of a study that cannot be had, a line each; exit with 1 if there are any."
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("config", help="a file of configs/")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder of downloads (default: %(default)s)")
    arguments = parser.parse_args()
    problems = available(read(arguments.config), arguments.cache)
    for line in (*problems.missing, *problems.unchecked):
        print(line)
    sys.exit(bool(any(problems)))


if __name__ == "__main__":
    command(main)
