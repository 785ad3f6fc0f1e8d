"""The five papers (papers/NAME/paper.yaml), the numbers that they print (claims.csv), and how far one may be off.

OpenNMT at WNMT 2018: tables 1 and 3 and the caption of figure 2. Marian at WNMT 2018: tables 2, 3 (on a GPU) and 4.
Devlin 2017: the numbers of its text. OpenNMT at WNGT 2020: tables 1 and 3 to 6. FastSeq: all tables. And the numbers of
their texts that are in no table.
"""

import csv
import importlib.resources
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import sub
from pathlib import Path
from typing import NamedTuple

from formats.measurement import RecordPlace
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_yaml

PAPERS = Path(str(importlib.resources.files("papers")))
WNGT, MARIAN, WNMT, DEVLIN, FASTSEQ = NAMES = "wngt2020", "marian2018", "wnmt2018", "devlin2017", "fastseq2021"
SIZE_UNITS = {"MiB": 2**20, "MB": 10**6, "GB": 10**9}
LOWER = ("s", "ms", *SIZE_UNITS)  # units in which less is better
RATIO = "×"  # the unit of ratios
SWITCHES = {"yes": True, "no": False}
SINGLE = "single"
WAYS = {SINGLE: "one sentence at a time"}  # in which rows are decoded, for people
LABELS = {  # of quantities that are looked for in records, for people
    "total_seconds": "seconds with loading",
    "target_tokens_per_second": "target tokens per second",
    "source_tokens_per_usd": "source tokens per USD",
}

AGREES, LARGER, SMALLER, OPPOSITE = "agrees", "larger", "smaller", "opposite"
OTHER, OPEN, NOT_RUN = "not comparable", "not run yet", "not run here"
VERDICTS = (AGREES, LARGER, SMALLER, OPPOSITE, OTHER, OPEN, NOT_RUN)
NEEDS = {  # what a number needs that a CPU and texts for all do not give; the only reasons for NOT_RUN
    "system": "another team's system",
    "GPU": "a GPU",
    "training": "WMT's training",
    "test set": "a test set that is not public",
}


class Paper(NamedTuple):
    """A paper. entries: of its vocabulary, where its sizes count.

    scope, method, easy, hard: lines of the report of its reproduction, by hand. measurements: files of records below
    results/reference, in which its numbers are looked for in this order. pictures: those at the top of its page, in the
    form of its figures and tables: paths below the root of the repository, with their captions.
    """

    title: str
    source: str
    scope: str
    method: str
    easy: str
    hard: str
    entries: int = 0
    measurements: tuple[str, ...] = ()
    pictures: Mapping[str, str] = {}


class NumberKey(NamedTuple):
    """Of a printed number in values.json. over: the row that a ratio is over; empty for a number of the row itself."""

    table: str
    row: str
    way: str
    quantity: str
    over: str
    test_set: str


class Printed(NamedTuple):
    """A number of a paper.

    table: its number, ``Figure 2`` or ``text``. page: as printed, where it is known. row: as the paper numbers it, else
    counted. way: one of WAYS. quantity: what the number is. test_set: of times and scores. over: rows of the same table
    that this one is compared with; the ratio to each of them is a claim of its own. shape: its name in
    formats/shapes.yaml. role: of the trained system whose BLEU may be compared. engine, type, beam, map, settings: of
    the measurement to compare; empty or None where any will do. needs: one of NEEDS; empty where a CPU could measure
    the number. reason: why it was not measured, or more about what it needs. other: the second number of a ratio, which
    is of the same quantity.
    """

    paper: str
    table: str
    page: str
    row: str
    system: str
    way: str
    quantity: str
    value: float
    unit: str
    test_set: str
    over: tuple[str, ...]
    shape: str
    role: str
    engine: str
    type: str
    beam: int | None
    map: bool | None
    settings: dict[str, bool | int]
    needs: str
    reason: str
    other: "Printed | None" = None

    @property
    def place(self) -> RecordPlace:
        """That of a record that was measured for it."""
        return RecordPlace(self.paper, self.table, self.row, self.way)

    @property
    def key(self) -> NumberKey:
        """What tells it from the other numbers of its paper."""
        over = self.other.row if self.other else ""
        return NumberKey(self.table, self.row, self.way, self.quantity, over, self.test_set)

    @property
    def name(self) -> str:
        """The row for people."""
        return f"({self.row}) {self.system}"

    @property
    def label(self) -> str:
        """The quantity for people, with the way."""
        what = LABELS.get(self.quantity, self.quantity)
        if self.other:
            what = f"times {'smaller' if self.other.unit in SIZE_UNITS else 'faster'} than ({self.other.row})"
        return f"{what}, {WAYS[self.way]}" if self.way else what


@cache
def papers() -> dict[str, Paper]:
    """By name, in the order of the report."""
    return {name: Paper(**read_yaml(PAPERS / name / "paper.yaml")) for name in NAMES}


@cache
def read() -> tuple[Printed, ...]:
    """All printed numbers, in the order of the papers."""
    return tuple(printed for name in NAMES for printed in _printed_by(name))


def of_paper(paper: str) -> list[Printed]:
    """The printed numbers of a paper. Raises UserError for an unknown one."""
    if found := [printed for printed in read() if printed.paper == paper]:
        return found
    raise UserError(f"--paper {paper}: there are {', '.join(papers())}")


def value(paper: str, table: str, row: int, quantity: str = "", test_set: str = "") -> float:
    """A number of a row. quantity, test_set: where the row has several."""
    (found,) = (
        printed.value
        for printed in of_paper(paper)
        if (printed.table, printed.row) == (table, str(row))
        and quantity in ("", printed.quantity)
        and test_set in ("", printed.test_set)
    )
    return found


def row_name(place: RecordPlace) -> str:
    """A row of a paper's table for people, with its way. Raises UserError for one that claims.csv lacks."""
    rows = (printed for printed in of_paper(place.paper) if (printed.table, printed.row) == (place.table, place.row))
    if (printed := next(rows, None)) is None:
        raise UserError(f"papers/{place.paper}/claims.csv: has no row {place.row} of table {place.table}")
    return f"{printed.name}, {WAYS[place.way]}" if place.way else printed.name


def ratios(printed: Printed) -> Iterator[Printed]:
    """How many times better a number is than those it is to be compared with, as claims of their own."""
    for row in printed.over:
        key = printed.key._replace(row=row)
        (other,) = (other for other in read() if other.paper == printed.paper and other.key == key)
        lower = printed.unit in LOWER
        yield printed._replace(
            value=other.value / printed.value if lower else printed.value / other.value,
            unit=RATIO,
            needs=printed.needs or other.needs,
            reason=printed.reason or other.reason,
            other=other,
        )


def _printed_by(paper: str) -> list[Printed]:
    with open(PAPERS / paper / "claims.csv", encoding="utf-8", newline="") as file:
        return [_printed(paper, line) for line in csv.DictReader(file)]


def _printed(paper: str, line: dict[str, str]) -> Printed:
    """A line of a file: its numbers are numbers, ``yes`` and ``no`` are switches."""
    settings = (setting.split("=") for setting in line["settings"].split())
    words = {name: text for name, text in line.items() if name not in ("value", "over", "beam", "map", "settings")}
    return Printed(
        paper=paper,
        **words,
        value=float(line["value"]),
        over=tuple(line["over"].split()),
        beam=int(line["beam"]) if line["beam"] else None,
        map=SWITCHES.get(line["map"]),
        settings={name: SWITCHES[value] if value in SWITCHES else int(value) for name, value in settings},
        other=None,
    )


class Tolerance(NamedTuple):
    """How far a number may be off the printed one, to both sides, and still agree.

    off: of two numbers, as a share or in points; below zero if the first is smaller. near: the largest that agrees.
    neutral: the number that claims neither a gain nor a loss, for numbers that claim one. text: for people.
    """

    off: Callable[[float, float], float]
    near: float
    text: str
    neutral: float | None = None

    def verdict(self, measured: float, printed: float) -> str:
        """A printed number that is within the tolerance of ``neutral`` claims no direction: nothing is opposite."""
        off = self.off(measured, printed)
        if abs(off) <= self.near:
            return AGREES
        if self._direction(measured) * self._direction(printed) < 0:
            return OPPOSITE
        return LARGER if off > 0 else SMALLER

    def _direction(self, number: float) -> int:
        off = 0.0 if self.neutral is None else self.off(number, self.neutral)
        return (off > self.near) - (off < -self.near)

    def __str__(self) -> str:
        return self.text.format(self.near)


def _share(measured: float, printed: float) -> float:
    return measured / printed - 1


_POINTS = Tolerance(sub, 0.5, "{:.1f} points")
_SHARE = Tolerance(_share, 0.02, "{:.0%}")
GAIN = "ΔBLEU"  # the unit of a difference of two scores
TOLERANCES = {
    RATIO: Tolerance(_share, 0.1, "{:.0%}", neutral=1),
    "BLEU": _POINTS,
    "%": _POINTS,
    GAIN: Tolerance(sub, 0.2, "{:.1f} points", neutral=0),
    "parameters": Tolerance(_share, 0, "equal"),
    "sentences": Tolerance(_share, 0.1, "{:.0%}"),
    **dict.fromkeys(SIZE_UNITS, _SHARE),
}  # by unit


def tolerance_of(printed: Printed) -> Tolerance | None:
    """That of its unit; None for numbers of a machine or a task, which cannot be compared."""
    return TOLERANCES.get(printed.unit)
