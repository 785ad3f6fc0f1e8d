"""One of the questions about search as a page, a table in Markdown with a picture in SVG and PNG.

Each question is a module with ``markdown`` and ``draw``, and JSON files of measurements that these are made from; of
several files the rows are taken together.
"""

import argparse
from pathlib import Path
from typing import Any

from decode import cache_report, components_report, figure, grid_report, ngram_report, overlap_report
from formats.errors import command
from formats.files import read_json, write_text

QUESTIONS = {
    "grid": grid_report,
    "components": components_report,
    "pipeline": overlap_report,
    "ngrams": ngram_report,
    "cache": cache_report,
}


def together(found: list[Any]) -> Any:
    """The measurements of all files, under the conditions of the first."""
    if len(found) == 1:
        return found[0]
    return {**found[0], "rows": [row for one in found for row in one["rows"]]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", choices=QUESTIONS)
    parser.add_argument("--measurements", type=Path, nargs="+", required=True, help="JSON")
    parser.add_argument("--markdown", type=Path, required=True)
    parser.add_argument("--pictures", type=Path, nargs="+", required=True, help=".svg and .png")
    args = parser.parse_args()
    found = together([read_json(path) for path in args.measurements])
    module = QUESTIONS[args.question]
    write_text(args.markdown, module.markdown(found))
    for path in args.pictures:
        figure.save(module.draw(found), path)


if __name__ == "__main__":
    command(main)
