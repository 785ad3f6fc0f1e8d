"""One HTML page about a study, which needs no other file and tells its story from top to bottom.

The model to ship and why; the front; what each idea brought; sentences; the data; how everything was made.
"""

import argparse
import csv
import os
import re
from pathlib import Path
from typing import TypedDict

from findings import best_model, captions, comparison
from formats import measurement
from formats.gap import Gap
from formats.learning import Learning
from formats.measurement import Measurement
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_json, write_text
from report import ablation_table, recommendation, robustness, samples, teacher_student, training
from report import measurements as tables
from report.markup import data_uri, templates

CONDITIONS = {  # what all measurements share: field of a record, name on the page
    "cpu": "processor",
    "isa": "instructions",
    "forced_isa": "instructions the engine was set to use",
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
ROLES = {  # names of one and of several in a sentence
    "teacher": ("teacher", "teachers"),
    "student": ("student", "students"),
    "control": ("control (a student trained on the original data)", "controls (students trained on the original data)"),
    "untrained": ("untrained model", "untrained models"),
    "imported": ("imported model", "imported models"),
}
SHARD = re.compile(r"_\d+-of-\d+$")  # the end of the name of a job that is split
LEAST_SECONDS = 1.0
MIB = 1.048576  # MB; Snakemake's unit of memory


class Page(TypedDict, total=False):
    """``page.json``: what only the page of a study knows; names of the JSON of systems and corpora, in order."""

    note: str | None
    configuration: str | None
    trained: list[str]
    corpora: list[str]
    dev: list[str]
    timed: list[str]
    jobs: list[tuple[str, float, float]]  # as ``times``


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


def studied(records: list[Measurement]) -> str:
    """What was measured, in a sentence."""
    found: dict[str, list[int]] = {}
    for system in comparison.systems(records).values():
        found.setdefault(system.system.role, []).append(system.system.parameters)
    groups = [f"{len(sizes)} {ROLES[role][len(sizes) > 1]} of {millions(sizes)}" for role, sizes in found.items()]
    names = ", ".join(comparison.test_sets(records))
    return f"{len(records)} measurements on {names}: {', '.join(groups)}."


def millions(parameters: list[int]) -> str:
    low, high = min(parameters) / 1e6, max(parameters) / 1e6
    return f"{low:.1f} M parameters" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f} M parameters"


def systems(records: list[Measurement], learning: list[Learning]) -> list[dict[str, str]]:
    """A row for each system: what it is, the BLEU of its best search, and how it was trained, where that is known."""
    timed = comparison.of_test_set(records, comparison.test_sets(records)[0])
    trained = {row["system"]: row for row in map(training.row, learning)}
    rows = []
    for name, first in comparison.systems(records).items():
        best, system = comparison.best_search(timed, name), first.system
        about = {"system": name, "role": system.role, "shape": system.shape, "parameters": f"{system.parameters:,}"}
        rows.append(
            trained.pop(name, {}) | about | {"BLEU, best search": tables.number(best.scores.bleu if best else None, 2)}
        )
    rows += trained.values()  # such as the teachers of an ensemble, which are not timed
    columns = dict.fromkeys(["system", "role", *(name for row in rows for name in row)])
    return [{name: row.get(name, "") for name in columns} for row in rows]


def shared(records: list[Measurement], key: str) -> str | None:
    """The value that all records have for a key, or all values where they differ."""
    values = (value for record in records if (value := record.value(key)) is not None)
    texts = dict.fromkeys(str([*value] if isinstance(value, tuple) else value) for value in values)
    return ", ".join(texts) or None


def conditions(records: list[Measurement], gap: Gap | None) -> dict[str, str]:
    """What the numbers depend on: machine, versions, signatures, checksums of the test sets."""
    found = {title: shared(records, key) for key, title in CONDITIONS.items()}
    ship = best_model.to_ship(records)
    engines = dict.fromkeys(
        f"{captions.engine_label(one)} {one.decoding.engine_version or ''}".strip() for one in records
    )
    found |= {"engines": ", ".join(engines), "signature of the model to ship": ship.signature if ship else None}
    test_sets = gap["test_sets"] if gap else {}
    found |= {f"sha256 of {name}": test_set["sha256"] for name, test_set in test_sets.items()}
    return {title: value for title, value in found.items() if value is not None}


def page(records: list[Measurement], args: argparse.Namespace) -> str:
    """The page as HTML."""
    gap = teacher_student.read(args.gap) if args.gap else None
    learning = training.read(*args.trained)
    rounded = read_json(args.quantization) if args.quantization else {}
    found = samples.read(args.samples)
    pictures = [
        "front",
        "gap_picture",
        "funnel",
        "lengths",
        "robustness_picture",
        *["learning"] * any(map(training.learned, learning)),
    ]
    environment = templates()
    environment.filters["number"] = tables.number
    return environment.get_template("page.html.jinja").render(
        study=records[0].study,
        note=args.note,
        configuration=args.configuration,
        studied=studied(records),
        timed=comparison.test_sets(records)[0],
        distilled=any(record.system.role == "student" for record in records),
        taught=any(record.scores.bleu_delta_teacher is not None for record in records),
        repeated=any(record.timing.runs > 1 for record in records),
        answer=recommendation.answer(records),
        choices=recommendation.rows(records),
        repeats=captions.repeats((record.timing.runs for record in records), marked=True),
        rule=best_model.RULE,
        marks=captions.marks(records),
        cpu=captions.cpu(records[0]),
        front_page=args.front_page and os.path.relpath(args.front_page, args.output.parent),
        ideas=ablation_table.tables(records, gap, learning, (rounded.get("system"), rounded.get("elsewhere", []))),
        robustness=robustness.section(robustness.read(args.robustness)) if args.robustness else None,
        samples=found.samples,
        sampled=found.test_set,
        systems=systems(records, learning),
        times=args.jobs,
        least=f"{LEAST_SECONDS:g}",
        conditions=conditions(records, gap),
        pictures={name: data_uri(path) for name in pictures if (path := getattr(args, name))},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", type=there, required=True, help="measurements.json of a study")
    parser.add_argument("--front", type=there, help="picture of the front")
    parser.add_argument("--front-page", type=Path, help="page of report.front_page, which the page links to")
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
        "dev": [args.dev] * (args.dev is not None),
        "timed": [args.timed] * (args.timed is not None),
        "jobs": args.jobs,
    }


if __name__ == "__main__":
    command(main)
