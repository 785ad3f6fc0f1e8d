"""Find records among all measurements of a study."""

import itertools
from collections.abc import Iterable
from typing import Any

from common.errors import UserError
from formats.front import pareto
from formats.measurement import ROLES, Measurement

BASELINE = "opennmt-tf"  # the engine that every system was trained with
CTRANSLATE2, NATIVE = "ctranslate2", "native"  # other engines that the tables single out
BEAM = 4  # of the baseline and of the reference of quality, as in the papers
CONFIGURATION = ("system", "engine", "compute_type", "beam_size", "vocabulary_map")  # distinguishes rows of a test set


def compared(roles: Iterable[str | None]) -> str:
    """The role of the systems whose speed a study is about: students, or controls where it has no student."""
    return "student" if "student" in roles else "control"


def configured(record: Measurement) -> dict[str, Any]:
    """The values of CONFIGURATION."""
    return {name: getattr(record, name) for name in CONFIGURATION}


def matching(records: Iterable[Measurement], **values: Any) -> list[Measurement]:
    """The records with these values."""
    return [record for record in records if all(getattr(record, name) == value for name, value in values.items())]


def find(records: Iterable[Measurement], **values: Any) -> Measurement | None:
    """The first record with these values."""
    return next(iter(matching(records, **values)), None)


def test_sets(records: list[Measurement]) -> list[str]:
    """Their names; the first is the one that is timed in every run."""
    return list(dict.fromkeys(record.test_set for record in records))


def of_test_set(records: list[Measurement], name: str) -> list[Measurement]:
    """The records of one test set. Raises UserError for one that nothing was measured on."""
    if selected := matching(records, test_set=name):
        return selected
    raise UserError(f"nothing was measured on the test set {name}; there are {', '.join(test_sets(records))}")


def on_test_set(records: list[Measurement], record: Measurement | None, name: str) -> Measurement | None:
    """The record of the same configuration on a test set."""
    return None if record is None else find(records, test_set=name, **configured(record))


def systems(records: list[Measurement]) -> dict[str, Measurement]:
    """The first record of each system, by name: the teacher first, then students, then controls."""
    first: dict[str, Measurement] = {}
    for record in records:
        first.setdefault(record.system, record)
    return dict(sorted(first.items(), key=lambda item: ROLES.index(item[1].role)))


def baseline(records: list[Measurement], system: str) -> Measurement | None:
    """The system in the toolkit it was trained with, OpenNMT-tf at beam 4: the 1 of its speed-ups."""
    return find(records, system=system, engine=BASELINE, beam_size=BEAM)


def full_precision(records: list[Measurement], system: str) -> Measurement | None:
    """The system with float32, beam 4 and no map: the quality that faster configurations may lose.

    In CTranslate2, else in the native engine or in OpenNMT-tf, which decode systems that CTranslate2 does not.
    """
    values = {"compute_type": "float32", "beam_size": BEAM, "vocabulary_map": False}
    found = (find(records, system=system, engine=engine, **values) for engine in (CTRANSLATE2, NATIVE, BASELINE))
    return next(filter(None, found), None)


def drawn(records: list[Measurement]) -> list[Measurement]:
    """The records that have both a quality and a speed; without those that others disturbed, if any was not."""
    complete = [record for record in records if record.bleu is not None and record.source_words_per_second]
    return [record for record in complete if not record.noisy] or complete


def on_front(records: list[Measurement]) -> list[Measurement]:
    """The records that no other one beats in both speed and quality, fastest first."""
    records = drawn(records)
    flags = pareto([(record.source_words_per_second, record.bleu) for record in records])
    return sorted(itertools.compress(records, flags), key=lambda record: record.source_words_per_second, reverse=True)
