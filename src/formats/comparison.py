"""Compare measurements: lost quality, gained speed."""

from dataclasses import replace
from typing import Any, NamedTuple

from formats.measurement import Measurement
from formats.selection import baseline, configured, find, matching
from formats.spread import Spread

UNKNOWN = "what sets their trainings apart was not recorded"


class Contrast(NamedTuple):
    """Two records of one test set, of configurations that differ in one setting."""

    record: Measurement
    reference: Measurement

    @property
    def bleu(self) -> float:
        """BLEU above the reference's."""
        return self.record.bleu - self.reference.bleu

    @property
    def comet(self) -> float | None:
        """COMET above the reference's; None where it was not measured."""
        scores = self.record.comet, self.reference.comet
        return None if None in scores else scores[0] - scores[1]

    @property
    def speed(self) -> Spread:
        """How many times faster than the reference."""
        return faster(self.record, self.reference)


def best_search(records: list[Measurement], system: str) -> Measurement | None:
    """The result of a system in float32 without a map that has the highest BLEU, of any engine and beam.

    What a faster configuration of the same weights loses is measured against this search, not against a weaker one.
    ``records`` are of one test set.
    """
    exact = matching(records, system=system, compute_type="float32", vocabulary_map=False)
    return max((record for record in exact if record.bleu is not None), key=lambda record: record.bleu, default=None)


def loss(records: list[Measurement], record: Measurement) -> float | None:
    """BLEU below the best search of the same weights, negative above it. ``records`` are of the same test set."""
    reference = best_search(records, record.system)
    return None if reference is None or record.bleu is None else reference.bleu - record.bleu


def speed_up(records: list[Measurement], record: Measurement) -> float | None:
    """How many times faster a record is than the system's own baseline on the same test set: the median of the runs."""
    base = baseline(records, record.system)
    return faster(record, base).middle if base else None


def contrasts(records: list[Measurement], setting: str, value: Any, reference: Any) -> list[Contrast]:
    """The records with a value of a setting, each against that with the reference value and all else equal.

    setting: one of formats.selection.CONFIGURATION. ``records`` are of one test set.
    """
    pairs = ((record, configured(record) | {setting: reference}) for record in matching(records, **{setting: value}))
    return [Contrast(record, other) for record, same in pairs if (other := find(records, **same))]


def times_faster(record: Measurement, other: Measurement, seconds: str = "text_seconds") -> Spread:
    """How many times faster a record is than another one: run k against run k, which were made in turn.

    seconds: the field that is compared. ``measured_at`` shows where runs of an earlier measurement were used again.
    """
    runs = zip(getattr(record, f"{seconds}_runs"), getattr(other, f"{seconds}_runs"), strict=True)
    return Spread.of(reference / own for own, reference in runs)


def faster(record: Measurement, other: Measurement) -> Spread:
    """How many times faster from text to text: run by run where both have as many, else by the medians alone."""
    own, theirs = record.text_seconds_runs or (), other.text_seconds_runs or ()
    if len(own) == len(theirs) > 1:
        return times_faster(record, other)
    return Spread.of([record.source_words_per_second / other.source_words_per_second])


def fastest(by_tokens: dict[int, Measurement]) -> Measurement:
    """Of records by tokens of a batch the one with most target tokens a second; its ``tried`` has the rates of all."""
    rates = {tokens: record.target_tokens / record.text_seconds for tokens, record in by_tokens.items()}
    record = by_tokens[max(rates, key=lambda tokens: rates[tokens])]
    return replace(record, tried={str(tokens): rate for tokens, rate in rates.items()})


def controls(records: list[Measurement]) -> dict[str, tuple[str, str]]:
    """For each student that has a control the name of the control, and what sets the two trainings apart."""
    compared = (record for record in records if record.control)
    return {record.system: (record.control, record.control_difference or UNKNOWN) for record in compared}
