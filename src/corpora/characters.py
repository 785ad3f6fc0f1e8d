"""Properties of every Unicode character that cleaning needs, as tables for compiled loops."""

import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import numpy as np
import regex

from corpora.language_codes import scripts

CODE_POINTS = 0x110000
ASSIGNED = range(0x40000), range(0xE0000, 0xE1000)  # blocks of characters; those between and above are in _CONTROL

LETTER, WORD, SPACE, CONTROL = 1, 2, 4, 8
SCRIPT = 16  # of the language of a column: SCRIPT << column

# Characters of damaged text: control characters, halves of surrogate pairs, private and unassigned code points, and
# the replacement character, which earlier programs put in place of what they could not decode.
_CONTROL = r"\p{Cc}\p{Cs}\p{Co}\p{Cn}\uFFFD"


class Characters(NamedTuple):
    """Tables by code point.

    ``folded`` is the case-folded letter or mark, "0" for every numeral, -1 for what is no part of a word. Where folding
    gives several characters, as for ß, it is -2 - row in ``expansions``.
    """

    bits: np.ndarray  # uint8[CODE_POINTS], LETTER to SCRIPT << column
    digits: np.ndarray  # int8[CODE_POINTS], the value of a digit, else -1
    folded: np.ndarray  # int32[CODE_POINTS]
    expansions: np.ndarray  # int32[rows, 3], padded with -1


def characters(languages: Iterable[str]) -> Characters:
    """The tables for records in these languages, one a column."""
    bits, digits, folded, expansions = _common()
    bits = bits.copy()
    for column, language in enumerate(languages):
        of_language = "".join(rf"\p{{Script_Extensions={name}}}" for name in scripts(language))
        bits[_matching(f"[{of_language}]")] |= SCRIPT << column
    return Characters(bits, digits, folded, expansions)


@cache
def _text(block: range) -> str:
    return "".join(map(chr, block))


def _matching(pattern: str, elsewhere: bool = False) -> np.ndarray:
    """Whether each code point is in a class of characters, bool[CODE_POINTS]. elsewhere: whether those beside ASSIGNED
    are.
    """
    matching = np.full(CODE_POINTS, elsewhere)
    for block in ASSIGNED:
        matching[block.start : block.stop] = False
        for match in regex.finditer(f"{pattern}+", _text(block)):
            matching[block.start + match.start() : block.start + match.end()] = True
    return matching


@cache
def _common() -> Characters:
    bits = np.zeros(CODE_POINTS, np.uint8)
    for pattern, bit in ((r"\p{L}", LETTER), (r"[\p{L}\p{M}\p{N}]", WORD), (f"[{_CONTROL}]", CONTROL)):
        bits[_matching(pattern, elsewhere=bit == CONTROL)] |= bit
    for code in filter(lambda code: chr(code).isspace(), range(0x3001)):  # U+3000 is the last of them
        bits[code] |= SPACE
    digits = np.full(CODE_POINTS, -1, np.int8)
    for code in np.flatnonzero(_matching(r"\p{Nd}")):
        digits[code] = unicodedata.digit(chr(code), -1)
    return Characters(bits, digits, *_folding(bits))


def _folding(bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    folded = np.where(bits & WORD, np.arange(CODE_POINTS), -1).astype(np.int32)
    expansions = []
    for code in np.flatnonzero(_matching(r"\p{Changes_When_Casefolded}") & (folded >= 0)):
        form = [ord(character) for character in chr(code).casefold()]
        if len(form) > 1:
            folded[code] = -2 - len(expansions)
            expansions.append(form + [-1] * (3 - len(form)))
        else:
            folded[code] = form[0]
    folded[_matching(r"\p{N}")] = ord("0")
    return folded, np.array(expansions, np.int32)
