"""What cleaning has to know of every Unicode character, as tables that compiled loops look up."""

import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import langcodes
import numpy as np
import regex

CODE_POINTS = 0x110000

LETTER, WORD, SPACE, CONTROL = 1, 2, 4, 8
SCRIPT = 16  # of the language of a column: SCRIPT << column

# CLDR's composite scripts, in Unicode's own.
_COMPOSITE = {"Jpan": ("Hani", "Hira", "Kana"), "Kore": ("Hang", "Hani"), "Hans": ("Hani",), "Hant": ("Hani",)}

# Never in honest text: control characters, halves of surrogate pairs, private and unassigned code points, and the
# replacement character, which stands where text was damaged before it came here.
_CONTROL = r"\p{Cc}\p{Cs}\p{Co}\p{Cn}\uFFFD"


class Characters(NamedTuple):
    """Tables by code point: bits (uint8), digit value or -1 (int8), and the case-folded form.

    ``folded`` (int32) is the code point to which case-folding turns a letter or mark, "0" for every numeral, -1 for all
    that is no part of a word. Where folding gives several characters, as for ß, it is -2 - row in ``expansions``
    (int32[rows, 3], padded with -1).
    """

    bits: np.ndarray
    digits: np.ndarray
    folded: np.ndarray
    expansions: np.ndarray


def scripts(language: str) -> tuple[str, ...]:
    """The scripts a language is written in, as Unicode names them."""
    script = langcodes.Language.get(language).maximize().script
    return _COMPOSITE.get(script, (script,))


def characters(languages: Iterable[str]) -> Characters:
    """The tables for records in these languages, one a column."""
    bits, digits, folded, expansions = _common()
    bits = bits.copy()
    for column, language in enumerate(languages):
        wanted = "".join(rf"\p{{Script={name}}}" for name in scripts(language))
        bits[_matching(f"[{wanted}]")] |= SCRIPT << column
    return Characters(bits, digits, folded, expansions)


@cache
def _all() -> str:
    return "".join(map(chr, range(CODE_POINTS)))


def _matching(pattern: str) -> np.ndarray:
    """The code points of a class of characters, bool[CODE_POINTS]."""
    found = np.zeros(CODE_POINTS, bool)
    for match in regex.finditer(f"{pattern}+", _all()):
        found[match.start() : match.end()] = True
    return found


@cache
def _common() -> Characters:
    bits = np.zeros(CODE_POINTS, np.uint8)
    for pattern, bit in ((r"\p{L}", LETTER), (r"[\p{L}\p{M}\p{N}]", WORD), (f"[{_CONTROL}]", CONTROL)):
        bits[_matching(pattern)] |= bit
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
