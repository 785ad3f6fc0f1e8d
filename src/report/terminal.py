"""What `make demo` prints at the end: a short table, the best model, three translations, what to open, a command."""

import argparse
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from findings import best_model, captions, comparison
from formats import measurement
from formats.measurement import Measurement
from formats.records import read_output
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from report import markup, samples
from report.measurements import WORDS, row

COLUMNS = 120  # of a terminal
COLUMN = ("BLEU", "loss", "to teacher", "source words/s", "×", "core-s/M words", "disk MB")  # in the Markdown table
SHORT = {"to teacher": "Δ BLEU", "source words/s": "words/s", "core-s/M words": "core-s"}  # of those with other names
LINES = 3  # of a translation: one that repeats itself is cut
OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # characters that a terminal would not show
WORTH_OPENING = {  # files of the report
    "report.html": "which model to ship and why, on one page",
    "front.html": "every measurement, with its command",
    "try.html": "the best student, which translates on the page",
    "samples.md": "more sentences, as all systems translate them",
}


def summary(records: list[Measurement], folder: Path) -> str:
    """Of each system the baseline, what is on the front and the best model; then what the folder of the study has."""
    name = comparison.test_sets(records)[0]
    best, ship = best_model.best(records), best_model.to_ship(records)
    records = comparison.of_test_set(records, name)
    front = comparison.on_front(records)
    chosen = [("best", best), *([("to ship", ship)] if ship is not best else [])]
    rows = []
    for system in comparison.systems(records):
        marked = [("baseline", comparison.baseline(records, system))]
        marked += [("front", record) for record in front if record.system.name == system]
        marked += [(mark, record) for mark, record in chosen if record and record.system.name == system]
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
    text += f"{markup.table(rows, left=WORDS, style='simple')}\n"
    parts = [conclusion(records), sentences(records, folder), worth_opening(folder), translating(records, folder)]
    return text + "".join(f"\n{part}" for part in parts if part)


def short_row(record: Measurement, records: list[Measurement], mark: str) -> dict[str, str]:
    cells = row(record, records)
    numbers = {SHORT.get(name, name): cells[name] for name in COLUMN}
    return {"system": record.system.name, "decoding": captions.configuration(record), **numbers, "": mark}


def line(label: str, text: str, most: int | None = None) -> str:
    """Text behind a label, in at most so many lines of a terminal."""
    wrapper = textwrap.TextWrapper(COLUMNS, max_lines=most, placeholder=" …")
    wrapper.initial_indent, wrapper.subsequent_indent = f"{label:14}", " " * 14
    return f"{wrapper.fill(' '.join(OBEYED.sub(' ', text).split())) or label}\n"


def conclusion(records: list[Measurement]) -> str:
    """The best model with its result, beside its teacher. records: of one test set, as below."""
    if not (record := best_model.best(records)):
        return line("best student:", f"none: {best_model.without_best(records)}")
    beside = [beside_teacher(records, record), best_model.beside_teacher(records)]
    about = [captions.title(record), f"It has {best_model.verdict(records, record)}", *filter(None, beside)]
    return "".join(line("best student:" if text is about[0] else "", text) for text in about)


def beside_teacher(records: list[Measurement], record: Measurement) -> str:
    """What a record loses to the teacher's best search, and gains on its greedy search that is otherwise the same."""
    teacher, parts = record.scores.teacher, []
    if teacher and (search := comparison.best_search(records, teacher)):
        lost = comparison.number(search, "bleu") - comparison.number(record, "bleu")
        side = "above" if lost < 0 else "below"
        parts.append(f"{abs(lost):.2f} BLEU {side} the teacher's best search ({captions.configuration(search)})")
    same = comparison.configured(record) | {"system": teacher, "beam_size": 1}
    if greedy := comparison.find(comparison.drawn(records), **same):
        times = comparison.faster(record, greedy).short(".2f")
        parts.append(f"{times} times as fast as the teacher in {captions.configuration(greedy)}")
    return f"It is {' and '.join(parts)}." if parts else ""


def sentences(records: list[Measurement], folder: Path) -> str:
    """Three of the report's samples, which are spread evenly, with translations of teacher, student and control."""
    if not (path := folder / "report" / "samples.json").exists():
        return ""
    drawn = samples.read(path)
    parts = dict.fromkeys(len(drawn.samples) * quarter // 4 for quarter in (1, 2, 3))
    shown = [drawn.samples[part] for part in parts]
    outputs = {}
    for record in translated(records):
        output, count = folder / str(record.decoding.output), record.decoding.sentences
        if count and output.exists():
            outputs[record.system.role] = captions.title(record), read_output(output, count)
    numbers = ", ".join(str(sample.line) for sample in shown)
    text = f"Sentences {numbers} of {drawn.test_set}, drawn at random near a quarter, a half and three quarters of it. "
    text += " ".join(f"{role.capitalize()}: {title}." for role, (title, _) in outputs.items())
    text = textwrap.fill(text, COLUMNS) + "\n"
    for sample in shown:
        lines = {"source": sample.source, "reference": sample.reference}
        lines |= {role: translations[sample.line - 1] for role, (_, translations) in outputs.items()}
        text += "\n" + "".join(line(label, words, LINES) for label, words in lines.items())
    return text


def translated(records: list[Measurement]) -> Iterator[Measurement]:
    """The best search of the teacher, the best student, and its control decoded in the same way; those that are.

    A student without a control has that of another student.
    """
    yield from filter(None, [comparison.best_search(records, records[0].scores.teacher or "")])
    if student := best_model.best(records):
        yield student
        names = [student.scores.control, *(record.scores.control for record in records)]
        controls = (comparison.configured(student) | {"system": name} for name in names if name)
        yield from filter(None, [next(filter(None, (comparison.find(records, **each) for each in controls)), None)])


def worth_opening(folder: Path) -> str:
    """The paths of files, if they are there."""
    report, width = folder / "report", max(map(len, WORTH_OPENING))
    found = {name: about for name, about in WORTH_OPENING.items() if (report / name).exists()}
    rows = [f"  {report}/{name:{width}}  {about}\n" for name, about in found.items()]
    return "".join(["Worth opening:\n", *rows]) if rows else ""


def translating(records: list[Measurement], folder: Path) -> str:
    """The command that translates with the model to ship, if its folder is there."""
    record = best_model.to_ship(records)
    if not record or not (model := folder / captions.model_folder(record)).exists():
        return ""
    options = "" if record.decoding.beam_size == 1 else f" --beam-size {record.decoding.beam_size}"
    options += "" if record.decoding.vocabulary_map else " --no-vocabulary-map"
    # `make demo` needs no active environment; what it prints runs without one, too.
    beside = str(Path(sys.executable).with_name("nmt-frontier"))
    program = "nmt-frontier" if shutil.which("nmt-frontier") == beside else beside
    text = f"To translate with {captions.title(record)}:\n"
    return f'{text}  echo "..." | {program} translate --model {model}{options}\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", type=there, required=True, help="measurements.json of a study")
    args = parser.parse_args()
    sys.stdout.write(summary(measurement.read(args.measurements), args.measurements.parent))


if __name__ == "__main__":
    command(main)
