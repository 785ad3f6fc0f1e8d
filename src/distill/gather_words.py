"""Join the shards of an epoch's words to the text that a training reads, a line a pair, and add their counts up."""

import argparse
from pathlib import Path

from msgspec import Struct

from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import atomic_path, document, write_json


class Counts(Struct):
    """Of the JSON beside a shard (distill.words)."""

    lines_out: int
    positions: int
    kept: int
    empty: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=there, nargs="+", required=True, help="records of distill.words, in order")
    parser.add_argument("--output", type=Path, required=True, help="text to write; counts go to a JSON beside it")
    args = parser.parse_args()

    counts = [document(records.info(path), Counts, "not made by distill.words") for path in args.inputs]
    with atomic_path(args.output) as part, open(part, "wb") as file:
        for path, expected in zip(args.inputs, counts, strict=True):
            lines = sum(text.count(b"\n") for text in records.frames(path) if file.write(text))
            if lines != expected.lines_out:
                raise UserError(f"{path}: its {lines:,} lines are not those of its JSON; delete both, run again")
    total = {name: sum(getattr(each, name) for each in counts) for name in Counts.__struct_fields__}
    write_json(args.output.with_suffix(".json"), {**total, "bytes": sum(path.stat().st_size for path in args.inputs)})


if __name__ == "__main__":
    command(main)
