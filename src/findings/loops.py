"""Loops: what a model says over and over."""

import re

TIMES = 4  # of a run of words or characters, one after the other
CHARACTERS = 12  # of a loop inside a word, or in a script without spaces: "www" and "Schifffahrt" are none
DIGITS = 24  # of a loop without a letter: 1,000,000,000 is none

# One to four words; one to eight characters, the first a letter; and the first a digit.
_WORDS = re.compile(rf"(?<!\S)(\S+(?: \S+){{0,3}}?)(?: \1){{{TIMES - 1},}}(?!\S)")
_CHARACTERS = re.compile(rf"([^\W\d_].{{0,7}}?)\1{{{TIMES - 1},}}")
_DIGITS = re.compile(rf"(\d.{{0,7}}?)\1{{{TIMES - 1},}}")
_LETTERS = re.compile(r"[^\W_]+")


def looping(text: str) -> bool:
    """Whether the same one to four words, or one to eight characters, come at least four times in a row.

    Case counts for nothing, nor does the kind of space. Characters must make up twelve or more, or 24 without a letter.
    """
    line = " ".join(text.casefold().split())
    if _WORDS.search(line):
        return True
    kinds = (_CHARACTERS, CHARACTERS), (_DIGITS, DIGITS)
    return any(len(found[0]) >= least for loop, least in kinds for found in loop.finditer(line))


def said_twice(text: str) -> bool:
    """Whether a text is the same words two times and nothing else, whatever its case and punctuation."""
    words = _LETTERS.findall(text.casefold())
    half, odd = divmod(len(words), 2)
    return bool(half) and not odd and words[:half] == words[half:]
