"""The figures a study is quoted by: quality of its systems, what rounding and the map cost, what speed they bring."""

from typing import Any

from decode import measurements
from decode.measurements import Record


def headline(records: list[Record]) -> dict[str, Any]:
    """The figures of each test set; a figure is None where the study did not measure what it compares."""
    names = measurements.test_sets(records)
    return {
        "study": records[0]["study"],
        "best": best(records),
        "test_sets": {name: of_test_set(measurements.of_test_set(records, name)) for name in names},
    }


def of_test_set(records: list[Record]) -> dict[str, Any]:
    drawn = measurements.drawn(records)
    return {
        "bleu": {system: quality(records, system) for system in measurements.systems(records)},
        "to_control": to_control(drawn),
        "int8_minus_float32": by_beam(drawn, "compute_type", "int8", "float32"),
        "map_minus_no_map": by_beam(drawn, "vocabulary_map", True, False),
    }


def quality(records: list[Record], system: str) -> dict[str, Any]:
    """BLEU of the best search of its weights, and which one that is."""
    record = measurements.best_search(records, system)
    known = measurements.systems(records)[system]
    return {
        "role": known["role"],
        "parameters": known["parameters"],
        "bleu": record and record["bleu"],
        "decoding": record and measurements.configuration(record),
    }


def to_control(records: list[Record]) -> dict[str, Any]:
    """BLEU of students at beam 4 and full precision minus that of their controls, and what sets the trainings apart."""
    found = {}
    for system, (control, difference) in measurements.controls(records).items():
        record = measurements.full_precision(records, system)
        if record and record["bleu_delta_control"] is not None:
            values = {"bleu": record["bleu_delta_control"], "p": record["bleu_p_control"]}
            found[system] = {"control": control, "difference": difference} | values
    return found


def by_beam(records: list[Record], setting: str, value: Any, reference: Any) -> dict[str, Any]:
    """For each beam size the largest difference, either way, that one value of a setting makes and nothing else."""
    beams = sorted({record["beam_size"] for record in records})
    return {
        f"beam {beam}": largest_difference([r for r in records if r["beam_size"] == beam], setting, value, reference)
        for beam in beams
    }


def largest_difference(records: list[Record], setting: str, value: Any, reference: Any) -> dict[str, Any] | None:
    pairs = []
    for record in records:
        if record[setting] == value:
            same = {name: record[name] for name in measurements.CONFIGURATION} | {setting: reference}
            if other := measurements.find(records, **same):
                pairs.append((record["bleu"] - other["bleu"], record))
    if not pairs:
        return None
    difference, record = max(pairs, key=lambda pair: abs(pair[0]))
    return {"bleu": round(difference, 4), "system": record["system"], "decoding": measurements.configuration(record)}


def best(records: list[Record]) -> dict[str, Any]:
    """The best model by its rule: its loss, its speed over its own baseline, its cost, the students that beat it."""
    rule = {"rule": measurements.RULE}
    if not (record := measurements.best(records)):
        return rule | {"system": None, "reason": measurements.without_best(records)}
    found = {name: measurements.on_test_set(records, record, name) for name in measurements.test_sets(records)}
    timed = measurements.drawn(measurements.of_test_set(records, record["test_set"]))
    return {
        **rule,
        "system": record["system"],
        "decoding": measurements.configuration(record),
        "dev_set": record["dev_set"],
        "dev_bleu": record["dev_bleu"],
        "bleu": {name: same["bleu"] for name, same in found.items() if same},
        "loss": {name: lost(records, same) for name, same in found.items() if same},
        "source_words_per_second": measurements.speed(record),
        "times_baseline": measurements.speed_up(timed, record),
        "core_seconds_per_million_words": record.get("core_seconds_per_million_words"),
        "cpu": record.get("cpu"),
        "beaten_by": [measurements.title(other) for other in measurements.beating(records, record)],
    }


def lost(records: list[Record], record: Record) -> float | None:
    """The loss of a record on its test set; ``records`` are of all test sets."""
    value = measurements.loss(measurements.of_test_set(records, record["test_set"]), record)
    return value if value is None else round(value, 4)
