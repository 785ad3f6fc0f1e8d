"""One HTML page about a study, which needs no other file and tells its story from top to bottom.

The model to ship and why; the front; what each idea brought; sentences; the data; how everything was made.
"""

import argparse
import os
import re
from typing import TypedDict

from findings import best_model, captions, comparison
from formats.gap import Gap
from formats.learning import Learning
from formats.measurement import Measurement
from nmt_frontier.files import read_json
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
PICTURES = ("front", "gap_picture", "funnel", "lengths", "robustness_picture")  # options with their files
LINKED = ("front_page", "try_page")  # options with pages beside this one
SHARD = re.compile(r"_\d+-of-\d+$")  # the end of the name of a job that is split
LEAST_SECONDS = 1.0
MIB = 1.048576  # MB; Snakemake's unit of memory


class Page(TypedDict, total=False):
    """``page.json``: what only the page of a study knows; names of the JSON of systems and corpora, in order."""

    note: str | None
    configuration: str | None
    trained: list[str]
    corpora: list[str]
    scored: list[str]
    dev: list[str]
    timed: list[str]
    jobs: list[tuple[str, float, float]]  # as ``times``


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
    pictures = [*PICTURES, *["learning"] * any(map(training.learned, learning))]
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
        **{key: (page := getattr(args, key)) and os.path.relpath(page, args.output.parent) for key in LINKED},
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
