"""Measurements for tests, with defaults for all fields that a test is not about."""

from collections.abc import Iterable

from formats.measurement import Measurement
from nmt_frontier.search import switches

DEFAULTS = {
    "study": "s",
    "system": "deep",
    "role": "student",
    "shape": "1:1 d16 ff32 h2",
    "parameters": 1234,
    "engine": "ctranslate2",
    "compute_type": "int8",
    "beam_size": 1,
    "vocabulary_map": False,
    "test_set": "t",
    "source_words_per_second": 100.0,
}


def measured(without: Iterable[str] = (), **values: object) -> Measurement:
    off = dict.fromkeys(switches.off([*without]), False)
    return Measurement.of(DEFAULTS | off | values)


def replaced(record: Measurement, **values: object) -> Measurement:
    """With other values of fields of JSON."""
    return Measurement.of(record.as_json() | values)
