"""The figures a study is quoted by: quality of its systems, what rounding and the map cost, what speed they bring."""

from typing import Any

from decode import measurements
from decode.measurements import Record

SETTINGS = ("system", "engine", "compute_type", "beam_size", "vocabulary_map")


def headline(records: list[Record]) -> dict[str, Any]:
    """The figures of each test set; a figure is None where the study did not measure what it compares."""
    names = measurements.test_sets(records)
    return {
        "study": records[0]["study"],
        "tolerance_bleu": measurements.TOLERANCE,
        "test_sets": {name: of_test_set(measurements.drawn(measurements.of_test_set(records, name))) for name in names},
    }


def of_test_set(records: list[Record]) -> dict[str, Any]:
    return {
        "bleu": {system: quality(records, system) for system in measurements.systems(records)},
        "int8_minus_float32": by_beam(records, "compute_type", "int8", "float32"),
        "map_minus_no_map": by_beam(records, "vocabulary_map", True, False),
        "fastest_student": fastest(records),
    }


def quality(records: list[Record], system: str) -> dict[str, Any]:
    """BLEU at beam 4 and full precision, in CTranslate2 if it was measured there, else in OpenNMT-tf."""
    record = measurements.full_precision(records, system) or measurements.baseline(records, system)
    known = measurements.systems(records)[system]
    return {"role": known["role"], "parameters": known["parameters"], "bleu": record and record["bleu"]}


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
            same = {name: record[name] for name in SETTINGS} | {setting: reference}
            if other := measurements.find(records, **same):
                pairs.append((record["bleu"] - other["bleu"], record))
    if not pairs:
        return None
    difference, record = max(pairs, key=lambda pair: abs(pair[0]))
    return {"bleu": round(difference, 4), "system": record["system"], "decoding": measurements.configuration(record)}


def fastest(records: list[Record]) -> dict[str, Any] | None:
    """The fastest student within the tolerance of itself at full precision, and its speed over its own baseline."""
    if not (record := measurements.best(records)):
        return None
    reference = measurements.full_precision(records, record["system"])
    return {
        "system": record["system"],
        "decoding": measurements.configuration(record),
        "bleu": record["bleu"],
        "bleu_minus_full_precision": round(record["bleu"] - reference["bleu"], 4),
        "source_words_per_second": measurements.speed(record),
        "times_baseline": measurements.speed_up(records, record),
    }
