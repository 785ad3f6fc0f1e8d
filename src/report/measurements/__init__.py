"""All measurements of a study, as tables in Markdown and as CSV; the headline figures as JSON."""

import csv
import io
import json
from typing import Any

from findings import captions, comparison
from findings.cost import NO_PRICE
from formats import measurement
from formats.measurement import Measurement
from report import markup

read = measurement.read

WORDS = {"", "system", "role", "engine", "type", "decoding", "map"}  # columns that are no numbers
NOTES = """
Speeds on {cpu}, {runs}: target tokens over the engine's time alone, source words over the time from text to text, \
in which the stages overlap. Core-seconds: that time on every core the run was pinned to, of this CPU. \
USD: {price}. ×: source words a second as a multiple of OpenNMT-tf at beam {beam} with the same system.{loss}\
{differences} BLEU: `{bleu}`. chrF: `{chrf}`.{comet}{marks}
"""


def table(records: list[Measurement]) -> str:
    """A table for each test set, fastest first."""
    parts = [f"# Measurements of the study {records[0].study}\n"]
    for name in comparison.test_sets(records):
        selected = comparison.of_test_set(records, name)
        parts.append(f"\n## {name}\n\n{markup.table(rows(selected), left=WORDS)}\n{notes(selected)}")
    return "".join(parts)


def rows(records: list[Measurement]) -> list[dict[str, str]]:
    """The rows of a test set, fastest first."""
    ordered = sorted(records, key=lambda record: record.words_per_second, reverse=True)
    return [row(record, records) for record in ordered]


def row(record: Measurement, records: list[Measurement]) -> dict[str, str]:
    """The cells of a record; ``records`` are those of its test set."""
    return {
        "system": record.system.name,
        "role": record.system.role,
        "parameters": number(record.system.parameters),
        "engine": captions.engine_label(record),
        "type": captions.compute_type(record),
        "beam": str(record.decoding.beam_size),
        "map": "yes" if record.decoding.vocabulary_map else "no",
        "BLEU": number(record.scores.bleu, 2),
        "loss": number(comparison.loss(records, record), 2),
        "chrF": number(record.scores.chrf, 2),
        **(
            {"COMET": number(record.scores.comet, 2)}
            if any(other.scores.comet is not None for other in records)
            else {}
        ),
        "to teacher": difference(record, "teacher"),
        "to control": difference(record, "control"),
        "target tokens/s": number(record.value("target_tokens_per_second")),
        "source words/s": speed(record, records),
        "×": times(record, records),
        "core-s/M words": number(record.core_seconds_per_million_words, 1),
        "load s": number(record.value("load_seconds"), 2),
        "peak RSS MB": megabytes(record.timing.peak_rss_bytes),
        "disk MB": megabytes(record.decoding.model_bytes),
        "USD/M words": number(record.usd_per_million_words, 5),
    }


def speed(record: Measurement, records: list[Measurement]) -> str:
    """Source words a second, with the signs of a disturbed measurement and of one that was taken once."""
    return number(record.words_per_second) + captions.mark(record) + captions.once(record, records)


def times(record: Measurement, records: list[Measurement]) -> str:
    """How many times faster than the baseline, with the mark of a disturbed measurement, be it the baseline's."""
    base = comparison.baseline(records, record.system.name)
    return number(comparison.speed_up(records, record), 1) + (captions.mark(record, base) if base else "")


def number(value: float | None, digits: int = 0) -> str:
    return markup.NONE if value is None else f"{value:z,.{digits}f}"


def difference(record: Measurement, other: str) -> str:
    """The difference in BLEU to the teacher or the control, with a mark where it is significant."""
    if (value := record.value(f"bleu_delta_{other}")) is None:
        return markup.NONE
    p = record.value(f"bleu_p_{other}")
    return f"{value:+z.2f}" + ("*" if p is not None and p < markup.SIGNIFICANT else "")


def megabytes(value: float | None) -> str:
    return number(value and value / 1e6, 1)


def notes(records: list[Measurement]) -> str:
    """How the numbers of one test set were made, in Markdown."""
    return NOTES.format(
        runs=captions.repeats((record.timing.runs for record in records), marked=True),
        cpu=captions.cpu(records[0]),
        price=records[0].conditions.price or NO_PRICE,
        beam=comparison.BEAM,
        loss=loss(records),
        differences=differences(records),
        bleu=records[0].scores.bleu_signature,
        chrf=records[0].scores.chrf_signature,
        comet=f" COMET: `{signature}`." if (signature := records[0].scores.comet_signature) else "",
        marks=f" {marks}" if (marks := captions.marks(records)) else "",
    )


def loss(records: list[Measurement]) -> str:
    """What the losses are measured from; nothing where no search in float32 was measured."""
    if not (searches := captions.best_searches(records)):
        return ""
    best = "the best search of the same weights in float32 without a map, of any engine and beam"
    return f" Loss: BLEU below {best}: {searches}."


def differences(records: list[Measurement]) -> str:
    """What the differences in BLEU are to; nothing where there are none."""
    to = []
    if any(record.scores.bleu_delta_teacher is not None for record in records):
        name = records[0].scores.teacher or "teacher"
        found = comparison.full_precision(records, name)
        engine = f" in {captions.engine_label(found)}" if found else ""
        to.append(f"the teacher ({name}) with float32, beam {comparison.BEAM}, no map{engine}")
    if any(record.scores.bleu_delta_control is not None for record in records):
        to.append(f"a control decoded in the same way{controls(records)}")
    paired = f"\\* p < {markup.SIGNIFICANT}, paired bootstrap"
    return f" Differences in BLEU are to {', and to '.join(to)}; {paired}." if to else ""


def controls(records: list[Measurement]) -> str:
    """The control of each student, and what sets the two trainings apart, as part of a sentence."""
    if not (by_student := comparison.controls(records)):
        return ""
    pairs = "; ".join(f"{name} to {other}: {apart}" for name, (other, apart) in by_student.items())
    return f" ({pairs}; only twins, which learned from the same sentences, show the effect of distillation)"


def as_csv(records: list[Measurement]) -> str:
    """All records of a study with all fields; a list is one cell of JSON."""
    columns = measurement.header(records)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([cell(record.value(name)) for name in columns] for record in records)
    return text.getvalue()


def cell(value: Any) -> str:
    """Text as it is, nothing for None, everything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
