"""How the points of the page look: a colour and a shape for each value of what the reader may tell apart."""

import itertools
from collections.abc import Iterable

from findings import comparison
from formats.measurement import Measurement
from report import figure
from report.figure import Style

KEYS = ("system", "study", "role", "decoder", "engine", "type")  # what colours and shapes may tell apart
SHAPES = {  # of matplotlib's markers in Vega, as names or as paths in a square from -1 to 1
    "s": "square",
    "D": "diamond",
    "o": "circle",
    "^": "triangle-up",
    "v": "triangle-down",
    "<": "triangle-left",
    ">": "triangle-right",
    "P": "cross",
    "X": "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z",
    "p": "M0,-1L.95,-.31L.59,.81L-.59,.81L-.95,-.31Z",
    "d": "M0,-1L.6,0L0,1L-.6,0Z",
    "*": "M0,-1L.22,-.31L.95,-.31L.36,.12L.59,.81L0,.38L-.59,.81L-.36,.12L-.95,-.31L-.22,-.31Z",
}


def styles(studies: Iterable[list[Measurement]], words: list[dict[str, str]]) -> dict[str, dict[str, tuple[str, str]]]:
    """Colour and shape of each value of each of KEYS; the systems of one study look as in its pictures.

    studies: the records of each. words: of each record, by key.
    """
    roles = {name: record.system.role for study in studies for name, record in comparison.systems(study).items()}
    values = {key: dict.fromkeys(word[key] for word in words) for key in KEYS}
    cycled = {key: dict(zip(found, itertools.cycle(figure.PALETTE))) for key, found in values.items()}
    found = cycled | {"system": figure.styles(roles)}
    return {key: {value: vega(style) for value, style in by_value.items()} for key, by_value in found.items()}


def vega(style: Style) -> tuple[str, str]:
    return style.color, SHAPES[style.marker]
