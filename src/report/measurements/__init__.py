"""All measurements of a study, as tables in Markdown and as CSV; the headline figures as JSON."""

import csv
import io
import json
from typing import Any, NotRequired, TypedDict

from findings import best_model, captions, comparison
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


class BestQuality(TypedDict):
    """BLEU of the best search of a system's weights, and which search that is."""

    role: str
    parameters: int
    bleu: float | None
    decoding: str | None


class ToControl(TypedDict):
    """BLEU of a student above that of its control, and what sets the trainings apart."""

    control: str
    difference: str
    bleu: float
    p: float | None


class Largest(TypedDict):
    """The largest difference in BLEU, up or down, and where it was measured."""

    bleu: float
    system: str
    decoding: str


class OfTestSet(TypedDict):
    """By system, or by beam."""

    bleu: dict[str, BestQuality]
    to_control: dict[str, ToControl]
    int8_minus_float32: dict[str, Largest | None]
    map_minus_no_map: dict[str, Largest | None]


class Best(TypedDict):
    """The best model: its loss by test set, its speed-up over its own baseline, its cost, the students that beat it."""

    rule: str
    system: str | None
    reason: NotRequired[str]  # why there is none
    decoding: NotRequired[str]
    dev_set: NotRequired[str | None]
    dev_bleu: NotRequired[float | None]
    bleu: NotRequired[dict[str, float | None]]
    loss: NotRequired[dict[str, float | None]]
    source_words_per_second: NotRequired[float]
    times_baseline: NotRequired[float | None]
    core_seconds_per_million_words: NotRequired[float | None]
    cpu: NotRequired[str | None]
    beaten_by: NotRequired[list[str]]


class Headline(TypedDict):
    """``headline.json``, the figures that a study is quoted by."""

    study: str
    best: Best
    test_sets: dict[str, OfTestSet]


def headline(records: list[Measurement]) -> Headline:
    """The figures of each test set; a figure is None where the study did not measure what it compares."""
    names = comparison.test_sets(records)
    return {
        "study": records[0].study,
        "best": best(records),
        "test_sets": {name: of_test_set(comparison.of_test_set(records, name)) for name in names},
    }


def of_test_set(records: list[Measurement]) -> OfTestSet:
    drawn = comparison.drawn(records)
    return {
        "bleu": {system: quality(records, system) for system in comparison.systems(records)},
        "to_control": to_control(drawn),
        "int8_minus_float32": by_beam(drawn, "compute_type", "int8", "float32"),
        "map_minus_no_map": by_beam(drawn, "vocabulary_map", True, False),
    }


def quality(records: list[Measurement], system: str) -> BestQuality:
    record = comparison.best_search(records, system)
    about = comparison.systems(records)[system]
    return {
        "role": about.system.role,
        "parameters": about.system.parameters,
        "bleu": record.scores.bleu if record else None,
        "decoding": captions.configuration(record) if record else None,
    }


def to_control(records: list[Measurement]) -> dict[str, ToControl]:
    """BLEU of students at beam 4 in float32 minus that of their controls, and what sets the trainings apart."""
    by_student: dict[str, ToControl] = {}
    for system, (control, difference) in comparison.controls(records).items():
        record = comparison.full_precision(records, system)
        if record and record.scores.bleu_delta_control is not None:
            by_student[system] = {
                "control": control,
                "difference": difference,
                "bleu": record.scores.bleu_delta_control,
                "p": record.scores.bleu_p_control,
            }
    return by_student


def by_beam(records: list[Measurement], setting: str, value: Any, reference: Any) -> dict[str, Largest | None]:
    """For each beam size the largest difference in BLEU, up or down, of two values of a setting, all else equal."""
    beams: dict[int, list[Measurement]] = {}
    for record in records:
        beams.setdefault(record.decoding.beam_size, []).append(record)
    return {f"beam {beam}": largest_difference(beams[beam], setting, value, reference) for beam in sorted(beams)}


def largest_difference(records: list[Measurement], setting: str, value: Any, reference: Any) -> Largest | None:
    if not (contrasts := comparison.contrasts(records, setting, value, reference)):
        return None
    largest = max(contrasts, key=lambda contrast: abs(contrast.bleu))
    decoding = captions.configuration(largest.record)
    return {"bleu": round(largest.bleu, 4), "system": largest.record.system.name, "decoding": decoding}


def best(records: list[Measurement]) -> Best:
    if not (record := best_model.best(records)):
        return {"rule": best_model.RULE, "system": None, "reason": best_model.without_best(records)}
    names = comparison.test_sets(records)
    scored = {name: same for name in names if (same := comparison.on_test_set(records, record, name))}
    timed = comparison.drawn(comparison.of_test_set(records, record.test_set))
    return {
        "rule": best_model.RULE,
        "system": record.system.name,
        "decoding": captions.configuration(record),
        "dev_set": record.scores.dev_set,
        "dev_bleu": record.scores.dev_bleu,
        "bleu": {name: same.scores.bleu for name, same in scored.items()},
        "loss": {name: lost(records, same) for name, same in scored.items()},
        "source_words_per_second": record.words_per_second,
        "times_baseline": comparison.speed_up(timed, record),
        "core_seconds_per_million_words": record.core_seconds_per_million_words,
        "cpu": record.conditions.cpu,
        "beaten_by": [captions.title(other) for other in best_model.beating(records, record)],
    }


def lost(records: list[Measurement], record: Measurement) -> float | None:
    """The loss of a record on its test set; ``records`` are of all test sets."""
    value = comparison.loss(comparison.of_test_set(records, record.test_set), record)
    return value if value is None else round(value, 4)


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
