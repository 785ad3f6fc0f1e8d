"""The verdict on a number of ours beside a printed one: how far each kind of number may fall behind."""

from collections.abc import Callable
from typing import NamedTuple

from report.papers import SIZE_UNITS, Printed

REPRODUCED, IN_PART, NOT = "reproduced", "in part", "not reproduced"
OTHER, NOT_RUN = "not comparable", "not run here"
VERDICTS = (REPRODUCED, IN_PART, NOT, OTHER, NOT_RUN)


class Tolerance(NamedTuple):
    """How far a number may fall behind the printed one. text: what ``near`` and ``far`` are shares or points of."""

    behind: Callable[[float, float], float]
    near: float
    far: float
    text: str

    def verdict(self, ours: float, printed: float) -> str:
        behind = self.behind(ours, printed)
        return REPRODUCED if behind <= self.near else IN_PART if behind <= self.far else NOT

    def __str__(self) -> str:
        return self.text.format(self.near, self.far)


def _slower(ours: float, printed: float) -> float:
    """The share that a ratio is lower; infinite where the paper has a gain and we have none.

    Where the paper has no gain, that is what it says: the share that ours is off.
    """
    if printed <= 1:
        return _off(ours, printed)
    return float("inf") if ours <= 1 else 1 - ours / printed


def _lost(ours: float, printed: float) -> float:
    return printed - ours


def _off(ours: float, printed: float) -> float:
    return abs(ours / printed - 1)


_POINTS = Tolerance(_lost, 0.5, 2, "{:.1f} points lower; {:.0f} in part")
_LARGER = Tolerance(lambda ours, printed: ours / printed - 1, 0.02, 0.1, "{:.0%} larger; {:.0%} in part")
GAIN = "ΔBLEU"  # the unit of a difference of two scores
TOLERANCES = {
    "×": Tolerance(
        _slower,
        0.1,
        0.5,
        "above 1 and {0:.0%} lower; {1:.0%} in part. Where the paper gains nothing: {0:.0%} off; {1:.0%} in part",
    ),
    "BLEU": _POINTS,
    "%": _POINTS,
    GAIN: Tolerance(_lost, 0.2, 0.5, "{:.1f} points lower; {:.1f} in part"),
    "parameters": Tolerance(_off, 0, 0.02, "equal; {1:.0%} off in part"),
    "size": Tolerance(_off, 0.02, 0.1, "{:.0%} off; {:.0%} in part"),
    **dict.fromkeys(SIZE_UNITS, _LARGER),
}  # by quantity, else by unit


def tolerance_of(printed: Printed) -> Tolerance | None:
    """That of its quantity or unit; None for numbers of a machine or a task, which cannot be compared."""
    return TOLERANCES.get(printed.quantity) or TOLERANCES.get(printed.unit)
