"""Make a table or a picture: python -m report NAME --input FILE.json... --output X.md X.tex X.svg X.pdf

The suffix of an output chooses between the table and the picture of NAME. The names, and what each is made from, below
the folder of a study:
"""

import argparse
import functools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from matplotlib.figure import Figure

from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_text
from report import figure, latex
from report.registry import SUBJECTS, read

OPTIONS = {
    "systems": "names, separated by commas (front_overview)",
    "test_set": "(default: the first one)",
    "axis": "speed or usd (front_overview; default: speed)",
    "remark": "a last sentence below the picture",
}
TABLES: dict[str, Callable[[str], str]] = {".md": str, ".tex": latex.tables}  # what writes the Markdown of a table


def make(name: str, module: SimpleNamespace, data: Any, path: Path, draw: Callable[[], Figure]) -> None:
    """Write a table or a picture. Raises UserError where the module has none, or for an unknown suffix."""
    kind = "table" if path.suffix in TABLES else "draw"
    if path.suffix not in {**TABLES, **figure.FORMATS}:
        written, drawn = (" or ".join(formats) for formats in (TABLES, figure.FORMATS))
        raise UserError(f"{path}: tables are written as {written}, pictures as {drawn}")
    if not hasattr(module, kind):
        raise UserError(f"{path}: {name} is a {'picture' if kind == 'table' else 'table'} only")
    if kind == "table":
        write_text(path, TABLES[path.suffix](module.table(data)))
    else:
        figure.save(draw(), path)


def main() -> None:
    names = "".join(f"  {name:20}{', '.join(subject.files)}\n" for name, subject in SUBJECTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m report", description=__doc__ + names, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=SUBJECTS, metavar="NAME")
    parser.add_argument("--input", type=there, nargs="+", required=True, help="JSON files")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help=", ".join([*TABLES, *figure.FORMATS]))
    for option, text in OPTIONS.items():
        parser.add_argument(f"--{option.replace('_', '-')}", help=text)
    args = parser.parse_args()
    subject = SUBJECTS[args.name]
    options = {option: value for option in OPTIONS if (value := getattr(args, option)) is not None}
    if foreign := set(options) - set(subject.options):
        parser.error(f"{args.name} has no --{min(foreign).replace('_', '-')}")

    module = subject.functions()
    try:
        data = read(module, subject.files, args.input)
        draw = functools.cache(lambda: module.draw(data, **options))  # once: it takes long to place the names
        for path in args.output:
            make(args.name, module, data, path, draw)
    except (ValueError, LookupError, TypeError, AttributeError) as error:  # whatever another file's content leads to
        given, needed = " ".join(map(str, args.input)), ", ".join(subject.files)
        raise UserError(f"{given}: not what {args.name} is made from, {needed} ({error!r})") from error


if __name__ == "__main__":
    command(main)
