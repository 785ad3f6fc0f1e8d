"""Find measurements of a study and compare them: lost quality, gained speed, the Pareto front."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from formats.measurement import ROLES, Measurement
from formats.spread import Spread
from nmt_frontier.errors import UserError

BASELINE = "opennmt-tf"  # the engine that every system was trained with
CTRANSLATE2, NATIVE = "ctranslate2", "native"
HTTP = "http"  # no engine: a language model that answers (measure.language_model)
BEAM = 4  # of the baseline and of the reference of quality, as in the papers
CONFIGURATION = ("system", "engine", "compute_type", "beam_size", "vocabulary_map")  # identifies a row of a test set

UNKNOWN = "what sets their trainings apart was not recorded"


def dominates(point: tuple[float, float], other: tuple[float, float]) -> bool:
    """At least as good in both, better in one. More is better."""
    return point[0] >= other[0] and point[1] >= other[1] and point != other


def pareto(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether each point (speed, quality) is on the front: no point dominates it.

    From the fastest point to the slowest, and from the best to the worst among equally fast ones, a point is on the
    front if its quality is the best so far.
    """
    on_front = [False] * len(points)
    last, best = None, float("-inf")
    for number in sorted(range(len(points)), key=lambda number: points[number], reverse=True):
        if points[number][1] > best or points[number] == last:
            on_front[number] = True
            last, best = points[number], points[number][1]
    return on_front


def compared(roles: Iterable[str | None]) -> str:
    """The role of the systems that a study compares: students, or controls if it has no student."""
    return "student" if "student" in roles else "control"


def configured(record: Measurement) -> dict[str, object]:
    """The values of CONFIGURATION."""
    return {name: record.value(name) for name in CONFIGURATION}


def matching(records: Iterable[Measurement], **values: Any) -> list[Measurement]:
    """The records with these values of fields, which formats.measurement.columns names."""
    return [record for record in records if all(record.value(name) == value for name, value in values.items())]


def find(records: Iterable[Measurement], **values: Any) -> Measurement | None:
    return next(iter(matching(records, **values)), None)


def number(record: Measurement, name: str) -> float:
    """A field that some records lack. Raises UserError for a record without it."""
    if (value := record.value(name)) is None:
        raise UserError(f"{record.study}: {record.system.name} on {record.test_set} has no {name}; measure it again")
    return float(value)


def spread(record: Measurement, name: str) -> Spread:
    """A time or a rate of all runs. Raises UserError for a record without it."""
    return Spread(*(number(record, f"{name}{end}") for end in ("", "_min", "_max")))


def translations(records: Path, record: Measurement) -> Path:
    """The file of a record's translations. records: the file of records. Raises UserError for a record without."""
    if record.decoding.output is None:
        raise UserError(f"{records}: {record.system.name} on {record.test_set} names no translations; measure it again")
    return records.parent / record.decoding.output


def test_sets(records: list[Measurement]) -> list[str]:
    """Their names; the first one is timed in every run."""
    return list(dict.fromkeys(record.test_set for record in records))


def of_test_set(records: list[Measurement], name: str) -> list[Measurement]:
    """The records of one test set. Raises UserError if there are no records of it."""
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
        first.setdefault(record.system.name, record)
    return dict(sorted(first.items(), key=lambda item: ROLES.index(item[1].system.role)))


def baseline(records: list[Measurement], system: str) -> Measurement | None:
    """The system in OpenNMT-tf with beam 4, relative to which its speed-ups are."""
    return find(records, system=system, engine=BASELINE, beam_size=BEAM)


def full_precision(records: list[Measurement], system: str) -> Measurement | None:
    """The system with float32, beam 4 and no map, in CTranslate2 if it runs the system, else in another engine."""
    values = {"compute_type": "float32", "beam_size": BEAM, "vocabulary_map": False}
    found = (find(records, system=system, engine=engine, **values) for engine in (CTRANSLATE2, NATIVE, BASELINE))
    return next(filter(None, found), None)


def drawn(records: list[Measurement]) -> list[Measurement]:
    """The records with BLEU and speed; without disturbed ones, unless all are."""
    complete = [record for record in records if record.scores.bleu is not None and record.words_per_second]
    return [record for record in complete if not record.noisy] or complete


def on_front(records: list[Measurement]) -> list[Measurement]:
    """The records on the Pareto front of speed and quality, fastest first."""
    records = drawn(records)
    flags = pareto([(record.words_per_second, number(record, "bleu")) for record in records])
    return sorted(itertools.compress(records, flags), key=lambda record: record.words_per_second, reverse=True)


class Contrast(NamedTuple):
    """Two records of one test set, of configurations that differ in one setting, and the record's gains."""

    record: Measurement
    reference: Measurement

    @property
    def bleu(self) -> float:
        return number(self.record, "bleu") - number(self.reference, "bleu")

    @property
    def comet(self) -> float | None:
        own, other = self.record.scores.comet, self.reference.scores.comet
        return None if own is None or other is None else own - other

    @property
    def speed(self) -> Spread:
        return faster(self.record, self.reference)


def best_search(records: list[Measurement], system: str) -> Measurement | None:
    """The record of a system in float32 without a map that has the highest BLEU, of any engine and beam.

    Lost BLEU of the same weights is relative to this search. records: of one test set.
    """
    exact = matching(records, system=system, compute_type="float32", vocabulary_map=False)
    scored = (record for record in exact if record.scores.bleu is not None)
    return max(scored, key=lambda record: number(record, "bleu"), default=None)


def loss(records: list[Measurement], record: Measurement) -> float | None:
    """BLEU below the best search of the same weights, negative above it. records: of the same test set."""
    reference = best_search(records, record.system.name)
    return None if reference is None or record.scores.bleu is None else number(reference, "bleu") - record.scores.bleu


def speed_up(records: list[Measurement], record: Measurement) -> float | None:
    """How many times faster a record is than the baseline of its system, the median of the runs."""
    base = baseline(records, record.system.name)
    return faster(record, base).middle if base else None


def contrasts(records: list[Measurement], setting: str, value: Any, reference: Any) -> list[Contrast]:
    """Records with a value of one of CONFIGURATION, each against its reference value. records: of one test set."""
    pairs = ((record, configured(record) | {setting: reference}) for record in matching(records, **{setting: value}))
    return [Contrast(record, other) for record, same in pairs if (other := find(records, **same))]


def times_faster(record: Measurement, other: Measurement, seconds: str = "text_seconds") -> Spread:
    """How many times faster a record is than another, run by run, as runs were made in turn. seconds: the field."""
    runs = zip(record.value(f"{seconds}_runs"), other.value(f"{seconds}_runs"), strict=True)
    return Spread.of(reference / own for own, reference in runs)


def faster(record: Measurement, other: Measurement) -> Spread:
    """How many times faster from text to text: run by run if both have the same number of runs, else by medians."""
    runs, other_runs = record.timing.text_seconds_runs or (), other.timing.text_seconds_runs or ()
    if len(runs) == len(other_runs) > 1:
        return times_faster(record, other)
    return Spread.of([record.words_per_second / other.words_per_second])


def fastest(by_tokens: dict[int, Measurement]) -> Measurement:
    """The record with most target tokens a second, by tokens of a batch; its ``tried`` has the rates of all."""
    rates = {
        tokens: number(record, "target_tokens") / number(record, "text_seconds") for tokens, record in by_tokens.items()
    }
    record = by_tokens[max(rates, key=lambda tokens: rates[tokens])]
    return replace(record, tried={str(tokens): rate for tokens, rate in rates.items()})


def controls(records: list[Measurement]) -> dict[str, tuple[str, str]]:
    """For each student with a control the control's name, and how their trainings differ."""
    return {
        record.system.name: (record.scores.control, record.scores.control_difference or UNKNOWN)
        for record in records
        if record.scores.control
    }
