"""What a training saw, for fair comparisons: whose translations, which corpora, how many of their sentences."""

import argparse
import json
from pathlib import Path

from distill.learning import sentences
from formats.errors import command
from formats.files import read_json, write_json


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mixture", type=json.loads, required=True, help="JSON of distill.systems.mixed")
    parser.add_argument("--learning", type=Path, required=True, help="learning.json of the system")
    parser.add_argument("--epochs", type=Path, nargs="+", required=True, help="JSON of distill.sample of each epoch")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()
    learning = read_json(args.learning)
    seen = sentences([read_json(path) for path in args.epochs], learning["seen"]["passes"])
    write_json(args.output, {"system": learning["system"], **args.mixture, "sentences": seen})


if __name__ == "__main__":
    command(main)
