"""Write learned.json of a system: whose translations it learned, from which corpora, and how many sentences of each.

Comparisons read it to tell whether two systems are twins.
"""

import argparse
from pathlib import Path

from common.command_line import json_value
from common.errors import command
from common.files import read_json, write_json
from train.learning import sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mixture", type=json_value, required=True, help="JSON of study.mixtures.composition")
    parser.add_argument("--learning", type=Path, required=True, help="learning.json of the system")
    parser.add_argument("--epochs", type=Path, nargs="+", required=True, help="JSON that train.sample wrote, per epoch")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()

    learning = read_json(args.learning)
    counts = sentences([read_json(path) for path in args.epochs], learning["seen"]["passes"])
    write_json(args.output, {"system": learning["system"], **args.mixture, "sentences": counts})


if __name__ == "__main__":
    command(main)
