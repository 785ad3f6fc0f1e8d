"""One HTML page about a study, which needs no other file: figures, pictures, tables, sentences, times."""

import argparse
import csv
import os
import re
from pathlib import Path
from typing import Any

from common.errors import command
from common.files import read_json, write_text
from formats import best_model, measurement, selection
from formats.measurement import Measurement
from report import markdown
from report import measurements as tables
from report.headline import headline
from report.html import data_uri, templates

DIFFERENCES = {"int8 against float32": "int8_minus_float32", "map against no map": "map_minus_no_map"}
CONDITIONS = {  # what all measurements share: field of a record, name on the page
    "cpu": "processor",
    "isa": "instructions",
    "forced_isa": "instructions the engine was told to use",
    "cores": "cores",
    "workers": "workers",
    "batch_tokens": "tokens a batch",
    "price": "price",
    "bleu_signature": "BLEU",
    "chrf_signature": "chrF",
    "comet_signature": "COMET",
    "commit": "commit",
    "config_hash": "configuration",
}
CAPTIONS = {
    "front_speed": f"BLEU against source words per second, logarithmic. A ring: the best model, {best_model.RULE}.",
    "published": "BLEU against words per USD among the 24 systems of Junczys-Dowmunt et al. 2018 (grey), "
    "at the prices of that paper, which serve this picture only.",
}
SHARD = re.compile(r"_\d+-of-\d+$")  # the end of the name of a job that is split
LEAST_SECONDS = 1.0


def caption(path: Path) -> str:
    """The caption of a picture of a study."""
    return CAPTIONS.get(path.stem, path.stem)


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
                jobs[name] = seconds + number(row["s"]), max(memory, number(row["max_rss"]))
    shown = [(name, *job) for name, job in jobs.items() if job[0] >= LEAST_SECONDS]
    return sorted(shown, key=lambda job: job[1], reverse=True)


def number(cell: str) -> float:
    """Snakemake writes NA or - where a job was too short to measure."""
    return 0.0 if cell in {"NA", "-", ""} else float(cell)


def figures(records: list[Measurement]) -> dict[str, Any]:
    """The part of the page that is made of measurements.json alone."""
    names = selection.test_sets(records)
    by_test_set = {name: selection.of_test_set(records, name) for name in names}
    quoted, best = headline(records), best_model.best(records)
    short = quoted["test_sets"][names[0]]
    return {
        "study": records[0].study,
        "records": records,
        "systems": selection.systems(records),
        "timed": names[0],
        "short": short,
        "differences": {title: short[key] for title, key in DIFFERENCES.items()},
        "best": quoted["best"],
        "verdict": best and best_model.verdict(records, best),
        "tables": [
            (name, tables.rows(group), markdown.plain(tables.notes(group))) for name, group in by_test_set.items()
        ],
        "left": tables.WORDS,
        "conditions": {title: shared(records, key) for key, title in CONDITIONS.items()},
    }


def shared(records: list[Measurement], key: str) -> str | None:
    """The value that all records have for a key, or all values where they differ."""
    values = (value for record in records if (value := getattr(record, key)) is not None)
    texts = dict.fromkeys(str([*value] if isinstance(value, tuple) else value) for value in values)
    return ", ".join(texts) or None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", type=Path, required=True, help="measurements.json of a study")
    parser.add_argument("--fronts", type=Path, nargs="*", default=[], help="pictures of the fronts")
    parser.add_argument("--front-page", type=Path, help="page of report.front_page, which the page links to")
    parser.add_argument("--learning", type=Path, help="picture of the learning curves")
    parser.add_argument("--gap", type=Path, help="picture of the gap")
    parser.add_argument("--funnel", type=Path, help="picture of the cleaning funnel")
    parser.add_argument("--samples", type=Path, help="JSON of report.samples")
    parser.add_argument("--benchmarks", type=Path, help="folder of Snakemake's benchmarks")
    parser.add_argument("--note", help="what the data are")
    parser.add_argument("--output", type=Path, required=True, help="HTML page to write")
    args = parser.parse_args()

    environment = templates()
    environment.filters["number"] = tables.number
    sentences = read_json(args.samples) if args.samples else {"test_set": None, "samples": []}
    page = environment.get_template("page.html.jinja").render(
        **figures(measurement.read(args.measurements)),
        fronts=[(data_uri(path), caption(path)) for path in args.fronts],
        front_page=args.front_page and os.path.relpath(args.front_page, args.output.parent),
        learning=args.learning and data_uri(args.learning),
        gap=args.gap and data_uri(args.gap),
        funnel=args.funnel and data_uri(args.funnel),
        samples=sentences["samples"],
        sampled=sentences["test_set"],
        times=times(args.benchmarks) if args.benchmarks else [],
        least=f"{LEAST_SECONDS:g}",
        note=args.note,
    )
    write_text(args.output, page)


if __name__ == "__main__":
    command(main)
