"""One HTML page about the corpora of a study: counts, funnel, lengths, and samples of the dropped lines by reason."""

import argparse
from pathlib import Path

from common.errors import command
from common.files import read_json, write_text
from report.markup import data_uri, templates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--counts", type=Path, nargs="+", required=True, help="JSON beside each corpus")
    parser.add_argument("--funnel", type=Path, required=True, help="picture of the cleaning funnel")
    parser.add_argument("--lengths", type=Path, required=True, help="picture of the lengths")
    parser.add_argument("--output", type=Path, required=True, help="HTML page to write")
    args = parser.parse_args()
    corpora = [read_json(path) for path in args.counts]
    pictures = {"funnel": data_uri(args.funnel), "lengths": data_uri(args.lengths)}
    template = templates().get_template("corpora.html.jinja")
    write_text(args.output, template.render(study=args.study, corpora=corpora, **pictures))


if __name__ == "__main__":
    command(main)
