"""The program of ``export.phrase_table``."""

import argparse
from pathlib import Path

from export.phrase_table import __doc__ as about
from export.phrase_table import merge
from nmt_frontier.command_line import there
from nmt_frontier.errors import command


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=there, nargs="+", required=True, help="folders of export.phrases")
    parser.add_argument("--vocabulary", type=there, required=True, help="one piece a line")
    parser.add_argument(
        "--epoch", type=there, help="tokenized targets; the most frequent pieces are those of this file"
    )
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    merge(args.shards, args.vocabulary, args.epoch, args.output)


if __name__ == "__main__":
    command(main)
