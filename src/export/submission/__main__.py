"""The program of ``export.submission``."""

import argparse
from pathlib import Path

from export.submission import HARDWARE, PROCESSORS, make
from export.submission import __doc__ as about
from export.translate_command import HERE
from nmt_frontier.command_line import there
from nmt_frontier.errors import command


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, required=True, help="model folder of the native engine or CTranslate2")
    parser.add_argument("--hardware", choices=HARDWARE, default="cpu", help="gpu: CTranslate2 with cuBLAS")
    parser.add_argument("--processor", choices=PROCESSORS, default=HERE, help="that runs it (default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    make(args.model, args.output, args.hardware, args.processor)


if __name__ == "__main__":
    command(main)
