"""The program of ``report.study_page``."""

import argparse
import csv
from pathlib import Path

from formats import measurement
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json, write_text
from report import training
from report.study_page import LEAST_SECONDS, MIB, SHARD, Page, page
from report.study_page import __doc__ as about


def times(folder: Path) -> list[tuple[str, float, float]]:
    """Name, seconds and peak memory in MB of each job, the longest first, from Snakemake's benchmarks.

    Shards of one job are added up.
    """
    jobs: dict[str, tuple[float, float]] = {}
    for path in sorted(folder.glob("*.tsv")):
        name = SHARD.sub("", path.stem)
        with open(path, encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream, delimiter="\t"):
                seconds, memory = jobs.get(name, (0.0, 0.0))
                jobs[name] = seconds + number(row["s"]), max(memory, number(row["max_rss"]) * MIB)
    shown = [(name, *job) for name, job in jobs.items() if job[0] >= LEAST_SECONDS]
    return sorted(shown, key=lambda job: job[1], reverse=True)


def number(cell: str) -> float:
    """Snakemake writes NA or - where a job was too short to measure."""
    return 0.0 if cell in {"NA", "-", ""} else float(cell)


def main() -> None:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--measurements", type=there, required=True, help="measurements.json of a study")
    parser.add_argument("--front", type=there, help="picture of the front")
    parser.add_argument("--front-page", type=Path, help="page of report.front_page, which the page links to")
    parser.add_argument("--try-page", type=Path, help="page of report.try_page, which the page links to")
    parser.add_argument("--gap", type=there, help="gap.json of measure.teacher_student")
    parser.add_argument("--gap-picture", type=there, help="picture of the gap")
    parser.add_argument("--quantization", type=there, help="JSON of export.quantization")
    parser.add_argument("--robustness", type=there, help="JSON of measure.robustness")
    parser.add_argument("--robustness-picture", type=there, help="picture of it")
    parser.add_argument("--trained", type=there, nargs="*", default=[], help="learning.json of each system")
    parser.add_argument("--learning", type=there, help="picture of the learning curves")
    parser.add_argument("--funnel", type=there, help="picture of the cleaning funnel")
    parser.add_argument("--lengths", type=there, help="picture of the lengths of the sentences")
    parser.add_argument("--samples", type=there, help="JSON of report.samples")
    parser.add_argument("--benchmarks", type=Path, help="folder of Snakemake's benchmarks")
    parser.add_argument("--note", help="what the data are")
    parser.add_argument("--configuration", help="file of the study, if it is not the default one")
    parser.add_argument("--output", type=Path, required=True, help="HTML page to write")
    parser.add_argument("--corpora", nargs="*", default=[], help="names of the training corpora, for --record")
    parser.add_argument("--scored", nargs="*", default=[], help="those of them that have scores, for --record")
    parser.add_argument("--dev", help="name of the dev set, for --record")
    parser.add_argument("--timed", help="name of the test set that is timed, for --record")
    parser.add_argument("--record", type=Path, help="JSON to write: what only this page knows, for report.pages")
    args = parser.parse_args()
    args.jobs = times(args.benchmarks) if args.benchmarks else []
    write_text(args.output, page(measurement.read(args.measurements), args))
    if args.record:
        write_json(args.record, record(args))


def record(args: argparse.Namespace) -> Page:
    """What the page shows that is in no other JSON, and the names of the JSON of systems and corpora, in order."""
    return {
        "note": args.note,
        "configuration": args.configuration,
        "trained": [learning.system for learning in training.read(*args.trained)],
        "corpora": args.corpora,
        "scored": args.scored,
        "dev": [args.dev] * (args.dev is not None),
        "timed": [args.timed] * (args.timed is not None),
        "jobs": args.jobs,
    }


if __name__ == "__main__":
    command(main)
