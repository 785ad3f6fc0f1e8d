"""The program of ``study.rates``."""

import argparse

from nmt_frontier.errors import command
from study.rates import __doc__ as about
from study.rates import measure, measured_once


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=about, formatter_class=raw)
    parser.add_argument("--once", action="store_true", help="measure only if no rates of a CPU like this are kept")
    print((measured_once() if parser.parse_args().once else measure()).origin)


if __name__ == "__main__":
    command(main)
