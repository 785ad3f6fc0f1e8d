"""The program of ``train.training_record``."""

import argparse
from pathlib import Path

from formats.learning import Learned, Learning
from nmt_frontier.command_line import json_value, there
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, typed, write_json
from train.training_record import __doc__ as about
from train.training_record import read_epochs, sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mixture", type=json_value, required=True, help="JSON of study.systems.composition")
    parser.add_argument("--learning", type=there, required=True, help="learning.json of the system")
    parser.add_argument(
        "--epochs", type=there, nargs="+", required=True, help="JSON that train.sample wrote, per epoch"
    )
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()

    learning = typed(read_json(args.learning), Learning, f"{args.learning}: not made by train.train")
    counts = sentences(read_epochs(args.epochs), learning.seen.passes)
    learned = {"system": learning.system, **args.mixture, "sentences": counts}
    learned["started"] = learning.start_from is not None
    write_json(args.output, typed(learned, Learned, "--mixture: not of study.systems.composition"))


if __name__ == "__main__":
    command(main)
