"""One HTML page about the corpora of a study: counts, funnel, lengths, and samples of what was dropped and why."""

import argparse
from pathlib import Path

from decode.page import data_uri
from decode.samples import templates
from formats.errors import command
from formats.files import read_json, write_text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--counts", type=Path, nargs="+", required=True, help="JSON beside each corpus")
    parser.add_argument("--funnel", type=Path, required=True, help="picture of decode.funnel_plot")
    parser.add_argument("--lengths", type=Path, required=True, help="picture of decode.lengths_plot")
    parser.add_argument("--output", type=Path, required=True, help="HTML page to write")
    args = parser.parse_args()
    page = (
        templates()
        .get_template("corpora.html.jinja")
        .render(
            study=args.study,
            corpora=[read_json(path) for path in args.counts],
            funnel=data_uri(args.funnel),
            lengths=data_uri(args.lengths),
        )
    )
    write_text(args.output, page)


if __name__ == "__main__":
    command(main)
