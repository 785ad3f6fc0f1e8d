"""Tables and pictures of the kept results of benchmarks, from their JSON, for ``make pages``."""

import argparse
from pathlib import Path

from plot import SUBJECTS

from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_text
from report import figure

KEPT = Path("results/reference")
SCRIPTS = {  # what made the JSON below KEPT
    "any-model/speed": "whole_models",
    "benchmarks/marian": "marian",
    "benchmarks/stream": "stream",
    "engine/agreement": "agreement",
    "engine/build": "engine_build",
    "engine/loading": "engine_loading",
    "engine/ratios": "engine",
    "engine/recurrent": "engine_recurrent",
    "engine/stream": "stream",
    "multi30k-captions/aligners": "aligners",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", action="store_true", help="no pictures")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    for name, script in SCRIPTS.items():
        result, subject = read_json(KEPT / f"{name}.json"), SUBJECTS[script]
        if subject.table:
            write_text(args.output / f"{name}.md", subject.table(result))
        if subject.picture and not args.texts:
            figure.save(subject.picture(result), args.output / f"{name}.svg")


if __name__ == "__main__":
    command(main)
