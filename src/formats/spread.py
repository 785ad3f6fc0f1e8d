"""The median of several runs, with the lowest and the highest value."""

import statistics
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self


class Spread(NamedTuple):
    """The median, the lowest and the highest value of several runs."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        runs = list(values)
        return cls(statistics.median(runs), min(runs), max(runs))

    @classmethod
    def read(cls, row: Mapping[str, Any], name: str, scale: float = 1.0) -> Self:
        """The fields ``name``, ``name_min`` and ``name_max`` of a row of JSON, times a scale."""
        return cls(*(row[f"{name}{end}"] * scale for end in ("", "_min", "_max")))

    def fields(self, name: str) -> dict[str, float]:
        return {name: self.middle, f"{name}_min": self.low, f"{name}_max": self.high}

    def __format__(self, form: str) -> str:
        return f"{self.middle:{form}} ({self.low:{form}} to {self.high:{form}})"

    def short(self, form: str) -> str:
        """As ``format``, but one number if all runs are equal."""
        return f"{self.middle:{form}}" if self.low == self.high else format(self, form)
