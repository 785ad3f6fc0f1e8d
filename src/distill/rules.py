"""Cleaning rules: each says of the records of a batch which of them have to go.

A rule is asked about some rows of a batch and answers with one bool a row. The registry holds all of them; what a
study switches on, and how far, is its ``cleaning`` (workflow/schemas/config.schema.yaml).
"""

from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

import numpy as np

from distill.characters import Characters
from distill.language import Identifier
from distill.measures import Measured
from formats.batches import batches

Rule = Callable[[Measured, np.ndarray], np.ndarray]

SIDES = ("source", "target")


def _of_sides(measured: Measured, rows: np.ndarray, name: str) -> np.ndarray:
    """One measure of all columns, [columns, rows]."""
    return np.array([getattr(side, name)[rows] for side in measured.sides])


def empty(measured: Measured, rows: np.ndarray) -> np.ndarray:
    """A side has no word."""
    return (_of_sides(measured, rows, "words") == 0).any(0)


def control_characters(measured: Measured, rows: np.ndarray) -> np.ndarray:
    """A side holds a character that no writer meant: see distill.characters."""
    return _of_sides(measured, rows, "control").any(0)


def identical(measured: Measured, rows: np.ndarray) -> np.ndarray:
    """Nothing was translated."""
    source, target = _of_sides(measured, rows, "hash")
    return source == target


def too_long(maximum: int) -> Rule:
    """``maximum`` in whitespace tokens, either side."""
    return lambda measured, rows: (_of_sides(measured, rows, "words") > maximum).any(0)


def length_ratio(maximum: float) -> Rule:
    """``maximum`` of the longer side to the shorter one, in characters."""

    def rule(measured: Measured, rows: np.ndarray) -> np.ndarray:
        lengths = _of_sides(measured, rows, "characters")
        return lengths.max(0) > maximum * lengths.min(0)

    return rule


def wrong_script(minimum: float) -> Rule:
    """``minimum`` share of the letters of a side that are in a script of its language."""

    def rule(measured: Measured, rows: np.ndarray) -> np.ndarray:
        return (_of_sides(measured, rows, "in_script") < minimum * _of_sides(measured, rows, "letters")).any(0)

    return rule


def digit_mismatch(maximum: float) -> Rule:
    """``maximum`` share of the digits of both sides without a partner on the other side, in whatever order."""
    return lambda measured, rows: measured.digit_mismatch(rows) > maximum


def repeated_ngram(maximum: int) -> Rule:
    """``maximum`` times in a row that the same one to four words may come."""
    return lambda measured, rows: measured.repeats(rows) > maximum


def held_out(corpora: Iterable[str | PathLike], characters: Characters) -> Rule:
    """Decontamination: a side is a side of a record of these corpora, whatever the case, punctuation, numbers."""
    sides = [side.folded for path in corpora for batch in batches(path) for side in Measured(batch, characters).sides]
    known = np.unique(np.concatenate([np.empty(0, np.uint64), *sides]))

    def rule(measured: Measured, rows: np.ndarray) -> np.ndarray:
        folded = _of_sides(measured, rows, "folded")
        places = np.minimum(np.searchsorted(known, folded), len(known) - 1)
        return (known[places] == folded).any(0) if len(known) else np.zeros(len(rows), bool)

    return rule


def language(sides: Iterable[str], expected: list[str], candidates: list[str] | None) -> Rule:
    """langid.py takes a side for another language than the ``expected`` one of its column."""
    identifier = Identifier(candidates)
    wanted = {column: identifier.classes.index(expected[column]) for column in map(SIDES.index, sides)}

    def rule(measured: Measured, rows: np.ndarray) -> np.ndarray:
        wrong = np.zeros(len(rows), bool)
        text, starts, ends = measured.batch
        for column, code in wanted.items():
            asked = np.flatnonzero(~wrong)  # the costliest question of all: not twice of one record
            chosen = rows[asked]
            found = identifier.classify(text, starts[chosen, column].copy(), ends[chosen, column].copy())
            wrong[asked] = found != code
        return wrong

    return rule


# reason: key of the configuration, what makes the rule of its value. In the order in which they are asked; a record
# counts for the first that drops it.
REGISTRY: dict[str, tuple[str, Callable[[Any], Rule]]] = {
    "control_characters": ("control_characters", lambda _: control_characters),
    "too_long": ("max_tokens", too_long),
    "length_ratio": ("max_length_ratio", length_ratio),
    "identical": ("identical", lambda _: identical),
    "wrong_script": ("min_script_share", wrong_script),
    "digit_mismatch": ("max_digit_mismatch", digit_mismatch),
    "repeated_ngram": ("max_repeats", repeated_ngram),
}
OF_PAIRS = ("length_ratio", "identical", "digit_mismatch")  # of no meaning for monolingual text


def chosen(
    settings: dict[str, Any], languages: list[str], held: Iterable[str | PathLike], characters: Characters
) -> dict[str, Rule]:
    """The rules that the settings switch on, by reason. Null, false and an empty list are off."""
    rules: dict[str, Rule] = {"empty": empty}
    for reason, (key, factory) in REGISTRY.items():
        value = settings.get(key)
        if value not in (None, False) and (len(languages) > 1 or reason not in OF_PAIRS):
            rules[reason] = factory(value)
    rules["held_out"] = held_out(held, characters)
    if asked := [side for side in settings.get("langid", []) if side in SIDES[: len(languages)]]:
        rules["language"] = language(asked, languages, settings.get("langid_languages"))
    return rules
