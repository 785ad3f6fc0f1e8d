"""The program of ``study.keys``."""

import argparse

from nmt_frontier.errors import command
from nmt_frontier.files import write_text
from study import keys
from study.keys import page


def main() -> None:
    parser = argparse.ArgumentParser(description=keys.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    write_text(keys.SCHEMA, keys.schema_text())
    write_text(keys.PAGE, page.text(keys.schema()))


if __name__ == "__main__":
    command(main)
