"""Marks of timings that other processes disturbed, or may have disturbed, and what they mean."""

from collections.abc import Iterable

MARKS = {  # the worst first
    "~": "other processes used the cores meanwhile; such a speed is no result",
    "?": "too short to tell whether others used the cores",
}


def mark(others: float | None, noise: float) -> str:
    """One of MARKS for a timing, or nothing.

    others: share of the cores' time that other processes used, None if unknown. noise: the share that is accepted.
    """
    if others is None:
        return "?"
    return "~" if others > noise else ""


def worst(marks: Iterable[str]) -> str:
    """The mark of a number that is made of several timings."""
    present = set(marks)
    return next((mark for mark in MARKS if mark in present), "")


def legend(marks: Iterable[str]) -> str:
    """What these marks mean, in a sentence each; empty without marks."""
    present = set(marks)
    return " ".join(f"{mark}: {meaning}." for mark, meaning in MARKS.items() if mark in present)
