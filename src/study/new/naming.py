"""What the name of a file says: its language or side, its role, and what it has in common with the other side's."""

import re
from functools import cache

from corpora.language_codes import shortest
from corpora.settings import LANGUAGES

DEV = re.compile(r"(newsdev|dev(el|set|elopment)?|val(id|idation)?|tun(e|ing))\d*")
TEST = re.compile(r"(newstest|devtest|te?st(set)?|eval(uation)?)\d*")
SIDE_WORDS = {"src": 0, "source": 0, "tgt": 1, "trg": 1, "target": 1, "ref": 1, "reference": 1}
SEPARATORS = re.compile(r"([/._\-\s]+)")
REGION = re.compile(r"[A-Z]{2}")  # of en-US; the language is before it
TYPICAL_CODES = (2, 3)  # letters of a language code


def language(words: list[str], pair: list[str]) -> tuple[int | None, str]:
    """The place of the word for the language of a file, and the language (or the word of a side)."""
    codes = [_code(word) for word in words]
    last = len(words) - 1
    if last and REGION.fullmatch(words[last]) and codes[last - 1] in pair:
        last -= 1
    if codes[last]:
        return last, codes[last]
    codes_at = {place: code for place, code in enumerate(codes) if code}
    named = [place for place, code in codes_at.items() if code in pair] or [
        place for place, code in codes_at.items() if code in SIDE_WORDS or len(words[place]) not in TYPICAL_CODES
    ]
    return (named[-1], codes[named[-1]]) if named else (None, "")


def _code(word: str) -> str:
    """The language of a word such as en, eng, english; a word of a side as it is; else nothing."""
    word = word.lower()
    if word in SIDE_WORDS or word in LANGUAGES:
        return word
    code = shortest(word) if len(word) == TYPICAL_CODES[1] and word.isalpha() else _by_name(word)
    return code if code in LANGUAGES else ""


@cache
def _by_name(word: str) -> str:
    from mtdata.iso.iso639_3 import name_to_code  # here: it sets up logging

    return shortest(name_to_code(word) or "") if word.isalpha() and len(word) > TYPICAL_CODES[1] else ""


def stem(parts: list[str], place: int | None) -> str:
    """A name without the word at this place, a region behind it, and words such as src and ref."""
    words = parts[::2]
    without = [number for number, word in enumerate(words) if number == place or word.lower() in SIDE_WORDS]
    if place == len(words) - 2 and REGION.fullmatch(words[-1]):
        without.append(len(words) - 1)
    for number in reversed(without):  # each word goes with a separator beside it
        start = max(2 * number - 1, 0)
        parts = parts[:start] + parts[start + 2 :]
    return "".join(parts).strip("/._- ")


def role(words: list[str]) -> str:
    """The role of the last word that has one."""
    for word in reversed(words):
        if word.startswith("train"):
            return "train"
        if TEST.fullmatch(word):
            return "test"
        if DEV.fullmatch(word):
            return "dev"
    return "train"
