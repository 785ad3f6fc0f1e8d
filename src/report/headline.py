"""The figures a study is quoted by: quality of its systems, what rounding and the map cost, what speed they gain."""

from typing import Any

from formats import best_model, comparison, selection, wording
from formats.measurement import Measurement


def headline(records: list[Measurement]) -> dict[str, Any]:
    """The figures of each test set; a figure is None where the study did not measure what it compares."""
    names = selection.test_sets(records)
    return {
        "study": records[0].study,
        "best": best(records),
        "test_sets": {name: of_test_set(selection.of_test_set(records, name)) for name in names},
    }


def of_test_set(records: list[Measurement]) -> dict[str, Any]:
    drawn = selection.drawn(records)
    return {
        "bleu": {system: quality(records, system) for system in selection.systems(records)},
        "to_control": to_control(drawn),
        "int8_minus_float32": by_beam(drawn, "compute_type", "int8", "float32"),
        "map_minus_no_map": by_beam(drawn, "vocabulary_map", True, False),
    }


def quality(records: list[Measurement], system: str) -> dict[str, Any]:
    """BLEU of the best search of a system's weights, and which search that is."""
    record = comparison.best_search(records, system)
    about = selection.systems(records)[system]
    return {
        "role": about.role,
        "parameters": about.parameters,
        "bleu": record and record.bleu,
        "decoding": record and wording.configuration(record),
    }


def to_control(records: list[Measurement]) -> dict[str, Any]:
    """BLEU of students at beam 4 in float32 minus that of their controls, and what sets the trainings apart."""
    by_student = {}
    for system, (control, difference) in comparison.controls(records).items():
        record = selection.full_precision(records, system)
        if record and record.bleu_delta_control is not None:
            values = {"bleu": record.bleu_delta_control, "p": record.bleu_p_control}
            by_student[system] = {"control": control, "difference": difference} | values
    return by_student


def by_beam(records: list[Measurement], setting: str, value: Any, reference: Any) -> dict[str, Any]:
    """For each beam size the largest difference in BLEU, up or down, of two values of a setting, all else equal."""
    beams: dict[int, list[Measurement]] = {}
    for record in records:
        beams.setdefault(record.beam_size, []).append(record)
    return {f"beam {beam}": largest_difference(beams[beam], setting, value, reference) for beam in sorted(beams)}


def largest_difference(records: list[Measurement], setting: str, value: Any, reference: Any) -> dict[str, Any] | None:
    contrasts = comparison.contrasts(records, setting, value, reference)
    if not contrasts:
        return None
    largest = max(contrasts, key=lambda contrast: abs(contrast.bleu))
    record = largest.record
    return {
        "bleu": round(largest.bleu, 4),
        "system": record.system,
        "decoding": wording.configuration(record),
    }


def best(records: list[Measurement]) -> dict[str, Any]:
    """The best model by its rule: its loss, its speed-up over its own baseline, its cost, the students that beat it."""
    rule = {"rule": best_model.RULE}
    if not (record := best_model.best(records)):
        return rule | {"system": None, "reason": best_model.without_best(records)}
    names = selection.test_sets(records)
    scored = {name: same for name in names if (same := selection.on_test_set(records, record, name))}
    timed = selection.drawn(selection.of_test_set(records, record.test_set))
    return {
        **rule,
        "system": record.system,
        "decoding": wording.configuration(record),
        "dev_set": record.dev_set,
        "dev_bleu": record.dev_bleu,
        "bleu": {name: same.bleu for name, same in scored.items()},
        "loss": {name: lost(records, same) for name, same in scored.items()},
        "source_words_per_second": record.source_words_per_second,
        "times_baseline": comparison.speed_up(timed, record),
        "core_seconds_per_million_words": record.core_seconds_per_million_words,
        "cpu": record.cpu,
        "beaten_by": [wording.title(other) for other in best_model.beating(records, record)],
    }


def lost(records: list[Measurement], record: Measurement) -> float | None:
    """The loss of a record on its test set; ``records`` are of all test sets."""
    value = comparison.loss(selection.of_test_set(records, record.test_set), record)
    return value if value is None else round(value, 4)
