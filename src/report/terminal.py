"""What `make demo` prints at the end: a short table, and where the report and the best model of a study are."""

import argparse
import sys
import textwrap
from pathlib import Path

from common.command_line import there
from common.errors import command
from findings import best_model, captions, comparison
from formats import measurement
from formats.measurement import Measurement
from report import markup
from report.measurements import WORDS, row

COLUMNS = 120  # of a terminal
COLUMN = ("BLEU", "loss", "to teacher", "source words/s", "×", "core-s/M words", "disk MB")  # in the Markdown table
SHORT = {"to teacher": "Δ BLEU", "source words/s": "words/s", "core-s/M words": "core-s"}  # of those with other names


def summary(records: list[Measurement], folder: Path) -> str:
    """Of each system the baseline, what is on the front and the best model; then where the report and the model are."""
    name = comparison.test_sets(records)[0]
    best = best_model.best(records)
    records = comparison.of_test_set(records, name)
    front = comparison.on_front(records)
    rows = []
    for system in comparison.systems(records):
        marked = [("baseline", comparison.baseline(records, system))]
        marked += [("front", record) for record in front if record.system.name == system]
        marked += [("best", best)] if best and best.system.name == system else []
        marks: dict[int, list[str]] = {}
        for mark, record in marked:
            marks.setdefault(id(record), []).append(mark)
        shown = {id(record): record for _, record in marked if record}
        for key, record in sorted(shown.items(), key=lambda item: item[1].words_per_second):
            rows.append(short_row(record, records, ", ".join(marks[key])))
    text = f"\n{name}, slowest first. front: no configuration of any system is both faster and better.\n"
    text += textwrap.fill(f"best: {best_model.RULE}.", COLUMNS) + "\n"
    text += "loss: BLEU below the best search of the same weights in float32 without a map.\n"
    text += f"×: speed over OpenNMT-tf, beam {comparison.BEAM}. * p < {markup.SIGNIFICANT}\n"
    text += f"Δ BLEU: to the teacher. core-s: core-seconds per million source words, on {captions.cpu(records[0])}.\n\n"
    return f"{text}{markup.table(rows, left=WORDS, style='simple')}\n{paths(records, folder)}"


def short_row(record: Measurement, records: list[Measurement], mark: str) -> dict[str, str]:
    cells = row(record, records)
    numbers = {SHORT.get(name, name): cells[name] for name in COLUMN}
    return {"system": record.system.name, "decoding": captions.configuration(record), **numbers, "": mark}


def paths(records: list[Measurement], folder: Path) -> str:
    """Where the report and the best model are in a study folder, if they are there, and how to run the model."""
    text = ""
    if (report := folder / "report" / "report.html").exists():
        text += f"\nreport:     {report}\n"
    if not (record := best_model.best(records)):
        return text + f"best model: none: {best_model.without_best(records)}\n"
    if (model := folder / captions.model_folder(record)).exists():
        options = "" if record.decoding.beam_size == 1 else f" --beam-size {record.decoding.beam_size}"
        options += "" if record.decoding.vocabulary_map else " --no-vocabulary-map"
        about = f"{captions.configuration(record)}: {best_model.RULE}. {best_model.verdict(records, record)}"
        indent = " " * len("best model: ")
        text += f"best model: {model}\n"
        text += textwrap.fill(about, COLUMNS, initial_indent=indent, subsequent_indent=indent) + "\n"
        text += f'{indent}echo "..." | python -m decode.translate --model {model}{options}\n'
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", type=there, required=True, help="measurements.json of a study")
    args = parser.parse_args()
    sys.stdout.write(summary(measurement.read(args.measurements), args.measurements.parent))


if __name__ == "__main__":
    command(main)
