"""Keep a finished study in git: its JSON, from which ``report.pages`` makes all that people look at, and its log.

JSON is written with a record on a line and seven digits of each number, which is more than clocks tell, without what is
in no page: of the counts of a corpus the samples of its text. Translations are not kept, but for the sentences that the
front shows, and the shares of those that stay the same.
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formats.measurement import brief
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import read_json, write_text
from report import front_page, table_parts
from report.compact import compact
from report.registry import MEASUREMENTS
from report.study_page import Page

KEPT = ("alignment/coverage/*.json", "search/*.json", "report/*.json", MEASUREMENTS)  # page.json names the others
LEARNING, COUNTS = "systems/{}/learning.json", "corpora/clean/{}.json"
DIGITS = 7
# Of a log: what a job reads and writes, as its log names it; and what Snakemake begins with about user and machine.
LEFT_OUT = re.compile(r"^    (?!log:).*\n|^  (?!Date|Snakemake)[A-Z][\w() ]*: .*\n", re.MULTILINE)


def rounded(value: Any) -> Any:
    """A document whose floating-point numbers have DIGITS significant digits."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [*map(rounded, value)]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def found(study: Path) -> Iterator[tuple[str, Any]]:
    """Path and content of each JSON file to keep; those of report/ are kept beside the others."""
    for pattern in KEPT:
        for path in sorted(study.glob(pattern)):
            content = read_json(path)
            if path.name == MEASUREMENTS:
                content = [*map(brief, content)]
            yield str(path.relative_to(study)).removeprefix("report/"), content
    page = study / "report/page.json"
    about = read_json(page) if page.exists() else without_page(study)
    if not page.exists():
        yield "page.json", about
    for name in (LEARNING.format(system) for system in about["trained"]):
        yield name, read_json(study / name)
    for name in (COUNTS.format(corpus) for corpus in about["corpora"]):
        yield name, {key: value for key, value in read_json(study / name).items() if key != "samples"}


def without_page(study: Path) -> Page:
    """What page.json names, of a study of which only a part was made: explain, maps, search, speed."""
    roles = {path.stem: read_json(path)["role"] for path in sorted(study.glob(COUNTS.format("*")))}
    covered = {path.stem for path in study.glob("alignment/coverage/*.json")}
    return {
        "note": None,
        "configuration": None,
        "trained": [
            path.parent.name
            for path in sorted(study.glob(LEARNING.format("*")))
            if "training" in (learning := read_json(path)) and learning["role"] != "backward"
        ],
        "corpora": [name for name, role in roles.items() if role not in ("dev", "test")],
        "dev": [name for name, role in roles.items() if role == "dev" and name in covered],
        "timed": [name for name, role in roles.items() if role == "test" and name in covered],
        "jobs": [],
    }


def translations(study: Path) -> dict[str, list[str]]:
    """How each configuration translates the sentences that the front shows, by the path of its translations."""
    measurements, samples = study / MEASUREMENTS, study / "report/samples.json"
    if not (measurements.exists() and samples.exists()):
        return {}
    (read,) = front_page.read([measurements], [samples])
    found = {record.decoding.output or "": read.translations(record) for record in read.records}
    return {path: lines for path, lines in found.items() if lines is not None}


def keep(study: Path, log: Path, output: Path) -> None:
    if not study.is_dir():
        raise UserError(f"{study}: no such folder; run the study, then keep it")
    kept = dict(found(study))
    if shown := translations(study):
        kept[front_page.TRANSLATIONS] = shown
    for path in sorted(study.glob("report/identities.*.json")):
        kept[table_parts.shares(path).name] = table_parts.same_translations(path)
    for name, value in kept.items():
        write_text(output / name, compact(rounded(value)) + "\n")
    text = log.read_text(encoding="utf-8").replace(f"{Path.cwd()}/", "")
    write_text(output / "run.log", LEFT_OUT.sub("", text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", type=there, required=True, help="folder of a finished study")
    parser.add_argument("--log", type=there, required=True, help="Snakemake's log of it")
    parser.add_argument("--output", type=Path, required=True, help="folder in results/reference")
    args = parser.parse_args()
    keep(args.study, args.log, args.output)


if __name__ == "__main__":
    command(main)
