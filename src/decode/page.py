"""One HTML page about a study that needs no other file: figures, pictures, tables, sentences, times."""

import argparse
import base64
import csv
import re
from pathlib import Path
from typing import Any

from decode import measurements, table
from decode.headline import headline
from decode.measurements import Record
from decode.samples import templates
from formats.errors import UserError, command
from formats.files import read_json, write_text

TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
DIFFERENCES = {"int8 against float32": "int8_minus_float32", "map against no map": "map_minus_no_map"}
CONDITIONS = {  # what all measurements share: name in a record, name for people
    "cpu": "processor",
    "isa": "instructions",
    "forced_isa": "instructions CTranslate2 was told to use",
    "cores": "cores",
    "workers": "workers",
    "batch_tokens": "tokens a batch",
    "price": "price",
    "bleu_signature": "BLEU",
    "chrf_signature": "chrF",
    "commit": "commit",
    "config_hash": "configuration",
}
CAPTIONS = {
    "front_speed": f"BLEU against source words per second, logarithmic. A ring: the best model, {measurements.RULE}.",
    "published": "BLEU against words per USD among the 24 systems of Junczys-Dowmunt et al. 2018 (grey), "
    "at the prices of that paper, which serve this picture only.",
}
PART = re.compile(r"_\d+-of-\d+$")  # of a job that is split into shards
LEAST_SECONDS = 1.0


def data_uri(path: Path) -> str:
    """A picture as an address that holds it. Raises UserError for a format browsers do not show."""
    if path.suffix not in TYPES:
        raise UserError(f"{path}: pictures on the page are {' or '.join(TYPES)}")
    return f"data:{TYPES[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def caption(path: Path) -> str:
    """From the name that the picture has in a study."""
    return CAPTIONS.get(path.stem, path.stem)


def times(folder: Path) -> list[tuple[str, float, float]]:
    """Name, seconds and peak memory in MB of each job, the longest first, from Snakemake's benchmarks.

    Shards of one job are added up.
    """
    jobs: dict[str, tuple[float, float]] = {}
    for path in sorted(folder.glob("*.tsv")):
        name = PART.sub("", path.stem)
        with open(path, encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream, delimiter="\t"):
                seconds, memory = jobs.get(name, (0.0, 0.0))
                jobs[name] = seconds + number(row["s"]), max(memory, number(row["max_rss"]))
    known = [(name, *job) for name, job in jobs.items() if job[0] >= LEAST_SECONDS]
    return sorted(known, key=lambda job: job[1], reverse=True)


def number(cell: str) -> float:
    """Snakemake writes NA or - for what a job was too short to show."""
    return 0.0 if cell in {"NA", "-", ""} else float(cell)


def figures(records: list[Record]) -> dict[str, Any]:
    """What the page tells from measurements.json alone."""
    names = measurements.test_sets(records)
    chosen = {name: measurements.of_test_set(records, name) for name in names}
    quoted, best = headline(records), measurements.best(records)
    short = quoted["test_sets"][names[0]]
    return {
        "study": records[0]["study"],
        "records": records,
        "systems": measurements.systems(records),
        "timed": names[0],
        "short": short,
        "differences": {title: short[key] for title, key in DIFFERENCES.items()},
        "best": quoted["best"],
        "verdict": best and measurements.verdict(records, best),
        "tables": [(name, table.rows(some), plain(table.notes(some))) for name, some in chosen.items()],
        "left": table.LEFT,
        "conditions": {title: shared(records, key) for key, title in CONDITIONS.items()},
    }


def plain(markdown: str) -> str:
    """The text of Markdown that has no more than code and escapes."""
    return markdown.replace("`", "").replace("\\", "").strip()


def shared(records: list[Record], key: str) -> str | None:
    """All values that records have for a key, normally one."""
    values = dict.fromkeys(str(value) for record in records if (value := record.get(key)) is not None)
    return ", ".join(values) or None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", type=Path, required=True, help="measurements.json of a study")
    parser.add_argument("--fronts", type=Path, nargs="*", default=[], help="pictures of decode.front_plot")
    parser.add_argument("--learning", type=Path, help="picture of decode.learning_plot")
    parser.add_argument("--gap", type=Path, help="picture of decode.gap_plot")
    parser.add_argument("--funnel", type=Path, help="picture of decode.funnel_plot")
    parser.add_argument("--samples", type=Path, help="JSON of decode.samples")
    parser.add_argument("--benchmarks", type=Path, help="folder of Snakemake's benchmarks")
    parser.add_argument("--note", help="what the data are")
    parser.add_argument("--output", type=Path, required=True, help="HTML page to write")
    args = parser.parse_args()

    environment = templates()
    environment.filters["number"] = table.number
    sampled = read_json(args.samples) if args.samples else {"test_set": None, "samples": []}
    page = environment.get_template("page.html.jinja").render(
        **figures(measurements.read(args.measurements)),
        fronts=[(data_uri(path), caption(path)) for path in args.fronts],
        learning=args.learning and data_uri(args.learning),
        gap=args.gap and data_uri(args.gap),
        funnel=args.funnel and data_uri(args.funnel),
        samples=sampled["samples"],
        sampled=sampled["test_set"],
        times=times(args.benchmarks) if args.benchmarks else [],
        least=f"{LEAST_SECONDS:g}",
        note=args.note,
    )
    write_text(args.output, page)


if __name__ == "__main__":
    command(main)
