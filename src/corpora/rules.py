"""Cleaning rules: each decides which records of a batch to drop.

A rule takes a batch and some of its row numbers, int64[rows], and returns which to drop: bool[rows]. A study selects
rules from REGISTRY, with their limits, in its ``cleaning`` (corpora.settings).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpora.language import Identifier
from corpora.language_codes import means
from corpora.settings import SIDES, Cleaning
from corpora.text_features import Characters, Measured
from formats.batches import batches
from nmt_frontier.files import StrPath

Rows = NDArray[np.int64]
Dropped = NDArray[np.bool_]
Rule = Callable[[Measured, Rows], Dropped]


def _of_sides(measured: Measured, rows: Rows, name: str) -> NDArray[Any]:
    """One feature of all columns: [columns, rows]."""
    return np.array([getattr(side, name)[rows] for side in measured.sides])


def _of_either(sides: NDArray[np.bool_]) -> Dropped:
    """What holds for a column. sides: bool[columns, rows]."""
    either: Dropped = sides.any(0)
    return either


def empty(measured: Measured, rows: Rows) -> Dropped:
    """True if a side has no words."""
    return _of_either(_of_sides(measured, rows, "words") == 0)


def control_characters(measured: Measured, rows: Rows) -> Dropped:
    """True if a side has a character of damaged text (see corpora.text_features)."""
    return _of_either(_of_sides(measured, rows, "control"))


def identical(measured: Measured, rows: Rows) -> Dropped:
    """True if both sides are the same text."""
    source, target = _of_sides(measured, rows, "hash")
    equal: Dropped = source == target
    return equal


def too_long(maximum: int) -> Rule:
    """True if a side has more than ``maximum`` whitespace tokens."""
    return lambda measured, rows: _of_either(_of_sides(measured, rows, "words") > maximum)


def length_ratio(maximum: float) -> Rule:
    """True if the longer side is more than ``maximum`` times as long as the shorter one, in letters of an alphabet."""

    def rule(measured: Measured, rows: Rows) -> Dropped:
        lengths = _of_sides(measured, rows, "length")
        unlike: Dropped = lengths.max(0) > maximum * lengths.min(0)
        return unlike

    return rule


def wrong_script(minimum: float) -> Rule:
    """True if fewer than ``minimum`` (0 to 1) of a side's letters belong to its language's scripts."""

    def rule(measured: Measured, rows: Rows) -> Dropped:
        return _of_either(_of_sides(measured, rows, "in_script") < minimum * _of_sides(measured, rows, "letters"))

    return rule


def digit_mismatch(maximum: float) -> Rule:
    """True if more than ``maximum`` (0 to 1) of the digits lack a partner on the other side, in any order."""
    return lambda measured, rows: measured.digit_mismatch(rows) > maximum


def repeated_ngram(maximum: int) -> Rule:
    """True if the same one to four words come more than ``maximum`` times in a row."""
    return lambda measured, rows: measured.repeats(rows) > maximum


def terminal_punctuation(measured: Measured, rows: Rows) -> Dropped:
    """True if one side alone ends with terminal punctuation (compare Vázquez et al. 2019, arXiv 1906.07545)."""
    source, target = _of_sides(measured, rows, "ended")
    unlike: Dropped = source != target
    return unlike


def held_out(corpora: Iterable[StrPath], characters: Characters) -> Rule:
    """Decontamination: true if a side equals one of these corpora, except for case, punctuation and numbers."""
    sides = [side.folded for path in corpora for batch in batches(path) for side in Measured(batch, characters).sides]
    held = np.unique(np.concatenate([np.empty(0, np.uint64), *sides]))

    def rule(measured: Measured, rows: Rows) -> Dropped:
        folded = _of_sides(measured, rows, "folded")
        places = np.minimum(np.searchsorted(held, folded), len(held) - 1)
        return _of_either(held[places] == folded) if len(held) else np.zeros(len(rows), bool)

    return rule


def language(
    asked: Iterable[str], expected: list[str], candidates: list[str] | None, sides: Sequence[str] = SIDES
) -> Rule:
    """True if langid.py recognises another language than the ``expected`` one of the column; no is nb.

    sides: those of the columns.
    """
    identifier = Identifier(candidates)
    right = {
        column: np.array([means(label, expected[column]) for label in identifier.classes])
        for column in map(sides.index, asked)
    }

    def rule(measured: Measured, rows: Rows) -> Dropped:
        wrong = np.zeros(len(rows), bool)
        text, starts, ends = measured.batch
        for column, labels in right.items():
            undecided = np.flatnonzero(~wrong)  # one wrong side is enough, and this is the slowest rule
            chosen = rows[undecided]
            recognised = identifier.classify(text, starts[chosen, column].copy(), ends[chosen, column].copy())
            wrong[undecided] = ~labels[recognised]
        return wrong

    return rule


# Reason to drop: key of the configuration, and the factory that makes the rule from its value. In order of application.
REGISTRY: dict[str, tuple[str, Callable[[Any], Rule]]] = {
    "control_characters": ("control_characters", lambda _: control_characters),
    "too_long": ("max_tokens", too_long),
    "length_ratio": ("max_length_ratio", length_ratio),
    "identical": ("identical", lambda _: identical),
    "wrong_script": ("min_script_share", wrong_script),
    "digit_mismatch": ("max_digit_mismatch", digit_mismatch),
    "repeated_ngram": ("max_repeats", repeated_ngram),
    "terminal_punctuation": ("terminal_punctuation", lambda _: terminal_punctuation),
}
OF_PAIRS = ("length_ratio", "identical", "digit_mismatch", "terminal_punctuation")  # meaningless for monolingual text


def chosen(
    settings: Cleaning | None, languages: list[str], held: Iterable[StrPath], characters: Characters,
    sides: Sequence[str] = SIDES,
) -> dict[str, Rule]:  # fmt: skip
    """The rules that the settings enable, by reason; false and an empty list disable. sides: those of the columns."""
    rules: dict[str, Rule] = {"empty": empty}
    for reason, (key, factory) in REGISTRY.items() if settings else ():
        value = getattr(settings, key)
        if value is not False and (len(languages) > 1 or reason not in OF_PAIRS):
            rules[reason] = factory(value)
    rules["held_out"] = held_out(held, characters)
    if settings and (asked := [side for side in settings.langid if side in sides[: len(languages)]]):
        rules["language"] = language(asked, languages, settings.langid_languages, sides)
    return rules
