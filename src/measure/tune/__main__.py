"""The program of ``measure.tune``."""

import argparse
import json

from measure.tune import SENTENCES, tune
from measure.tune import __doc__ as about
from nmt_frontier.command.translate import decoded
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import command


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, required=True, help="model folder")
    parser.add_argument("--text", type=there, required=True, help=f"{SENTENCES:,} lines of the kind to translate")
    parser.add_argument("--beam-size", type=positive, default=1, help="to tune for; 1 is greedy search")
    args = parser.parse_args()

    with open(args.text, "rb") as source:
        print(json.dumps(tune(args.model, map(decoded, source), args.beam_size)))


if __name__ == "__main__":
    command(main)
