"""Tables of a study: all records as CSV, the systems as Markdown and on the terminal, the headline figures as JSON."""

import argparse
import csv
import io
import json
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tabulate import tabulate

from decode import measurements
from decode.cost import NO_PRICE
from decode.headline import headline
from decode.measurements import Record
from formats.errors import command
from formats.files import write_json, write_text

SIGNIFICANT = 0.05
NONE = "–"
COLUMNS = 120  # of a terminal
LEFT = {"", "system", "role", "engine", "type", "decoding", "map"}
NOTES = """
Speeds on {cpu}, {runs}: target tokens over the engine's time alone, source words over the time from text to text, \
in which the stages overlap. Core-seconds: that time on every core the run was pinned to, of this CPU. \
USD: {price}. ×: source words a second as a multiple of OpenNMT-tf at beam {beam} with the same system. \
Loss: BLEU below the best search of the same weights in float32 without a map, of any engine and beam: {searches}. \
Differences in BLEU are to the teacher{teacher} in CTranslate2 with float32, beam {beam}, no map, and to a control \
decoded in the same way{controls}; \\* p < {significant}, paired bootstrap. BLEU: `{bleu}`. chrF: `{chrf}`.{marks}
"""


def number(value: float | None, digits: int = 0) -> str:
    return NONE if value is None else f"{value:z,.{digits}f}"


def difference(record: Record, other: str) -> str:
    """The difference in BLEU to the teacher or the control, with a mark where it is significant."""
    if (value := record.get(f"bleu_delta_{other}")) is None:
        return NONE
    p = record.get(f"bleu_p_{other}")
    return f"{value:+.2f}" + ("*" if p is not None and p < SIGNIFICANT else "")


def megabytes(value: float | None) -> str:
    return number(value and value / 1e6, 1)


def row(record: Record, records: list[Record]) -> dict[str, str]:
    """A record as cells of the Markdown table; ``records`` are those of its test set."""
    return {
        "system": record["system"],
        "role": record["role"],
        "parameters": number(record["parameters"]),
        "engine": measurements.ENGINES.get(record["engine"], record["engine"]),
        "type": measurements.compute_type(record),
        "beam": str(record["beam_size"]),
        "map": "yes" if record["vocabulary_map"] else "no",
        "BLEU": number(record["bleu"], 2),
        "loss": number(measurements.loss(records, record), 2),
        "chrF": number(record.get("chrf"), 2),
        "to teacher": difference(record, "teacher"),
        "to control": difference(record, "control"),
        "target tokens/s": number(record.get("target_tokens_per_second")),
        "source words/s": number(measurements.speed(record))
        + measurements.mark(record)
        + measurements.once(record, records),
        "×": number(measurements.speed_up(records, record), 1),
        "core-s/M words": number(record.get("core_seconds_per_million_words"), 1),
        "load s": number(record.get("load_seconds"), 2),
        "peak RSS MB": megabytes(record.get("peak_rss_bytes")),
        "disk MB": megabytes(record.get("model_bytes")),
        "USD/M words": number(record.get("usd_per_million_words"), 5),
    }


def rows(records: list[Record]) -> list[dict[str, str]]:
    """All rows of a test set, fastest first."""
    ordered = sorted(records, key=lambda record: measurements.speed(record) or 0, reverse=True)
    return [row(record, records) for record in ordered]


def layout(rows: list[dict[str, str]], style: str) -> str:
    sides = ["left" if name in LEFT else "right" for name in rows[0]]
    return tabulate(rows, headers="keys", tablefmt=style, disable_numparse=True, colalign=sides)


def cpu(records: list[Record]) -> str:
    """What the measurements of a test set were made on."""
    return records[0].get("cpu", "an unknown machine")


def notes(records: list[Record]) -> str:
    """How the numbers of one test set were made, in Markdown."""
    return NOTES.format(
        runs=measurements.repeats(records, marked=True),
        cpu=cpu(records),
        price=records[0].get("price", NO_PRICE),
        beam=measurements.BEAM,
        searches=measurements.best_searches(records),
        teacher=f" {name}" if (name := records[0].get("teacher")) else "",
        controls=controls(records),
        significant=SIGNIFICANT,
        bleu=records[0].get("bleu_signature"),
        chrf=records[0].get("chrf_signature"),
        marks=f" {marks}" if (marks := measurements.marks(records)) else "",
    )


def controls(records: list[Record]) -> str:
    """Which control each student is held against, and what sets the two apart, as a part of a sentence."""
    found = measurements.controls(records)
    if not found:
        return ""
    pairs = "; ".join(f"{name} to {other}: {apart}" for name, (other, apart) in found.items())
    return f" ({pairs}; only twins, which learned from the same sentences, say what distillation is worth)"


def markdown(records: list[Record]) -> str:
    """A table for each test set, fastest first."""
    parts = [f"# Measurements of the study {records[0]['study']}\n"]
    for name in measurements.test_sets(records):
        chosen = measurements.of_test_set(records, name)
        parts.append(f"\n## {name}\n\n{layout(rows(chosen), 'github')}\n{notes(chosen)}")
    return "".join(parts)


def as_csv(records: Iterable[Record]) -> str:
    """All records with all fields; a list is one cell of JSON."""
    records = list(records)
    fields = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({name: json.dumps(v) if isinstance(v, list | dict | bool) else v for name, v in record.items()})
    return text.getvalue()


def terminal(records: list[Record], folder: Path) -> str:
    """Of each system the baseline, what is on the front and the best model, and where to go on from here."""
    name = measurements.test_sets(records)[0]
    best = measurements.best(records)
    records = measurements.of_test_set(records, name)
    front = measurements.on_front(records)
    table = []
    for system in measurements.systems(records):
        marked = [("baseline", measurements.baseline(records, system))]
        marked += [("front", r) for r in front if r["system"] == system]
        marked += [("best", best)] if best and best["system"] == system else []
        marks: dict[int, list[str]] = {}
        for mark, record in marked:
            marks.setdefault(id(record), []).append(mark)
        shown = {id(record): record for _, record in marked if record}
        for key, record in sorted(shown.items(), key=lambda item: measurements.speed(item[1])):
            table.append(short_row(record, records, ", ".join(marks[key])))
    text = f"\n{name}, slowest first. front: no configuration of any system is both faster and better.\n"
    text += textwrap.fill(f"best: {measurements.RULE}.", COLUMNS) + "\n"
    text += "loss: BLEU below the best search of the same weights in float32 without a map.\n"
    text += f"×: speed over OpenNMT-tf, beam {measurements.BEAM}. * p < {SIGNIFICANT}\n"
    text += f"Δ BLEU: to the teacher. core-s: core-seconds per million source words, on {cpu(records)}.\n\n"
    return text + layout(table, "simple") + "\n" + paths(records, folder)


def short_row(record: Record, records: list[Record], mark: str) -> dict[str, str]:
    cells = row(record, records)
    kept = ("BLEU", "loss", "to teacher", "source words/s", "×", "core-s/M words", "disk MB")
    names = {"to teacher": "Δ BLEU", "source words/s": "words/s", "core-s/M words": "core-s"}
    decoding = measurements.configuration(record)
    return {"system": record["system"], "decoding": decoding, **{names.get(k, k): cells[k] for k in kept}, "": mark}


def paths(records: list[Record], folder: Path) -> str:
    """Where the report and the best model of a study folder are, as far as they are there."""
    text = ""
    if (report := folder / "report" / "report.html").exists():
        text += f"\nreport:     {report}\n"
    if not (record := measurements.best(records)):
        return text + f"best model: none: {measurements.without_best(records)}\n"
    if (model := model_folder(record, folder)).exists():
        options = "" if record["beam_size"] == 1 else f" --beam-size {record['beam_size']}"
        options += "" if record["vocabulary_map"] else " --no-vocabulary-map"
        about = f"{measurements.configuration(record)}: {measurements.RULE}. {measurements.verdict(records, record)}"
        indent = " " * len("best model: ")
        text += f"best model: {model}\n"
        text += textwrap.fill(about, COLUMNS, initial_indent=indent, subsequent_indent=indent) + "\n"
        text += f'{indent}echo "..." | python -m decode.translate --model {model}{options}\n'
    return text


def model_folder(record: Record, folder: Path) -> Path:
    baseline = record["engine"] == measurements.BASELINE
    return folder / "models" / record["system"] / (record["engine"] if baseline else record["compute_type"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", type=Path, required=True, help="measurements.json of a study")
    parser.add_argument("--csv", type=Path, help="all records, all fields")
    parser.add_argument("--markdown", type=Path, help="a table for each test set, fastest first")
    parser.add_argument("--headline", type=Path, help="JSON of the figures a study is quoted by")
    parser.add_argument("--terminal", action="store_true", help="print a short table, the report and the best model")
    args = parser.parse_args()
    if not (args.csv or args.markdown or args.headline or args.terminal):
        parser.error("nothing to do: give --csv, --markdown, --headline or --terminal")

    records = measurements.read(args.measurements)
    made: dict[Path | None, Any] = {args.csv: as_csv(records), args.markdown: markdown(records)}
    for path, text in made.items():
        if path:
            write_text(path, text)
    if args.headline:
        write_json(args.headline, headline(records))
    if args.terminal:
        sys.stdout.write(terminal(records, args.measurements.parent))


if __name__ == "__main__":
    command(main)
