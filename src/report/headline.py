"""The figures that a study is quoted by, as JSON."""

from typing import Any, NotRequired, TypedDict

from findings import best_model, captions, comparison
from formats.measurement import Measurement


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
