"""The program of ``report.corpora_page``."""

import argparse
from pathlib import Path

from formats.counts import dropped_by_half
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_text
from report.corpora_page import __doc__ as about
from report.markup import data_uri, templates


def main() -> None:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--study", required=True)
    parser.add_argument("--counts", type=there, nargs="+", required=True, help="JSON beside each corpus")
    parser.add_argument("--changed", type=there, nargs="*", default=[], help="JSON beside each changed copy")
    parser.add_argument("--funnel", type=there, required=True, help="picture of the cleaning funnel")
    parser.add_argument("--lengths", type=there, required=True, help="picture of the lengths")
    parser.add_argument("--scores", type=there, help="picture of the scores, if a corpus has any")
    parser.add_argument("--output", type=Path, required=True, help="HTML page to write")
    args = parser.parse_args()
    corpora, changed = ([read_json(path) for path in paths] for paths in (args.counts, args.changed))
    halves = [line for one in corpora for line in dropped_by_half(one["name"], one["lines_in"], one["dropped"])]
    pictures = {"funnel": data_uri(args.funnel), "lengths": data_uri(args.lengths)}
    pictures |= {"scores": data_uri(args.scores)} if args.scores else {}
    template = templates().get_template("corpora.html.jinja")
    found = {"corpora": corpora, "halves": halves, "changed": changed}
    write_text(args.output, template.render(study=args.study, **found, **pictures))


if __name__ == "__main__":
    command(main)
