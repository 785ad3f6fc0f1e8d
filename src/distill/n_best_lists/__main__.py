"""The program of ``distill.n_best_lists``."""

import argparse
from pathlib import Path

from distill.n_best_lists import __doc__ as about
from distill.n_best_lists import read
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import write_text


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--input", type=there, required=True, help="n-best lists, made by distill.translate or .rescore"
    )
    parser.add_argument("--output", type=Path, required=True, help="text; an empty line stands for an empty list")
    args = parser.parse_args()

    best = (n_best_list.hypotheses[0].text if n_best_list.hypotheses else "" for n_best_list in read(args.input))
    write_text(args.output, "".join(f"{text}\n" for text in best))


if __name__ == "__main__":
    command(main)
