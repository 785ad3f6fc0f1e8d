"""The program of ``export.vocabulary_map``."""

import argparse
from pathlib import Path

from export.phrase_table import PhraseTable
from export.vocabulary_map import Knobs, explain, write
from export.vocabulary_map import __doc__ as about
from nmt_frontier.command_line import json_value, there
from nmt_frontier.errors import command
from nmt_frontier.files import atomic_path, write_json


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    build_parser = commands.add_parser("build", help="write the map of a phrase table")
    build_parser.add_argument("--phrase-table", type=there, required=True, help="folder of export.phrase_table")
    build_parser.add_argument("--knobs", type=Knobs.parse, default=Knobs(), help="JSON, or a file of export.coverage")
    build_parser.add_argument("--output", type=Path, required=True, help="map to write, with its counts in a .json")
    grid_parser = commands.add_parser("grid", help="write the maps of many knobs")
    grid_parser.add_argument("--phrase-table", type=there, required=True, help="folder of export.phrase_table")
    grid_parser.add_argument("--grid", type=json_value, required=True, help="JSON: values of the knobs")
    grid_parser.add_argument("--output", type=Path, required=True, help="folder to write")
    explain_parser = commands.add_parser("explain", help="show what the map of a model folder does to a sentence")
    explain_parser.add_argument("model", type=there)
    explain_parser.add_argument("sentence")
    args = parser.parse_args()

    if args.command == "explain":
        print(*explain(args.model, args.sentence), sep="\n")
        return
    table = PhraseTable.load(args.phrase_table)
    if args.command == "grid":
        with atomic_path(args.output) as part:
            for knobs in Knobs.grid(args.grid):
                write(part / f"{knobs.name}.txt", table, knobs)
        return
    counts = write(args.output, table, args.knobs)
    size = args.output.stat().st_size
    write_json(args.output.with_suffix(".json"), {**args.knobs._asdict(), **counts, "bytes": size})


if __name__ == "__main__":
    command(main)
