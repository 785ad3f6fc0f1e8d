"""What the name of a file says: its language or side, its role, and which other files it goes with.

``train.en.gz`` goes with ``train.cs.gz``, ``en/talk.txt`` with ``cs/talk.txt``, ``src.txt`` with ``tgt.txt`` and
``corpus_english.txt`` with ``corpus_czech.txt``.
"""

import re
from dataclasses import dataclass
from functools import cache

from corpora.language_codes import shortest
from study.schema import schema

DEV = re.compile(r"(newsdev|dev(el|set|elopment)?|val(id|idation)?|tun(e|ing))\d*")
TEST = re.compile(r"(newstest|devtest|te?st(set)?|eval(uation)?)\d*")
SIDE_WORDS = {"src": 0, "source": 0, "tgt": 1, "trg": 1, "target": 1, "ref": 1, "reference": 1}
SEPARATORS = re.compile(r"([/._\-\s]+)")
REGION = re.compile(r"[A-Z]{2}")  # of en-US; the language is before it
TYPICAL_CODES = (2, 3)  # letters of a language code


@dataclass(frozen=True)
class Meaning:
    """language: a code, a word of SIDE_WORDS, or "". stem: the name without it, equal for both sides of a text."""

    language: str
    role: str
    stem: str

    def side(self, pair: list[str]) -> int | None:
        """0 source, 1 target; None if the name does not say it, or says a language of neither."""
        if self.language in SIDE_WORDS:
            return SIDE_WORDS[self.language]
        return pair.index(self.language) if self.language in pair else None


def meaning(name: str, pair: list[str]) -> Meaning:
    """What a name without its suffixes means in a study of this pair."""
    parts = SEPARATORS.split(name)
    words = parts[::2]
    place, code = _language(words, pair)
    return Meaning(code, _role([word.lower() for word in words]), _stem(parts, place))


def _language(words: list[str], pair: list[str]) -> tuple[int | None, str]:
    """The place of the word that says the language of a file, and the language (or the word of a side)."""
    codes = [_code(word) for word in words]
    last = len(words) - 1
    if last and REGION.fullmatch(words[last]) and codes[last - 1] in pair:
        last -= 1
    if codes[last]:
        return last, codes[last]
    named = [place for place, code in enumerate(codes) if code in pair] or [
        place
        for place, code in enumerate(codes)
        if code and (code in SIDE_WORDS or len(words[place]) not in TYPICAL_CODES)
    ]
    return (named[-1], codes[named[-1]]) if named else (None, "")


def _code(word: str) -> str:
    """The language that a word of a name means, such as en, eng, english; a word of a side as it is; else nothing."""
    word = word.lower()
    known = schema()["$defs"]["language"]["enum"]
    if word in SIDE_WORDS or word in known:
        return word
    code = shortest(word) if len(word) == TYPICAL_CODES[1] and word.isalpha() else _by_name(word)
    return code if code in known else ""


@cache
def _by_name(word: str) -> str:
    from mtdata.iso.iso639_3 import name_to_code  # here: it sets up logging

    return shortest(name_to_code(word) or "") if word.isalpha() and len(word) > TYPICAL_CODES[1] else ""


def _stem(parts: list[str], place: int | None) -> str:
    """A name without its side: without the word at this place, a region behind it, and words such as src and ref."""
    words = parts[::2]
    without = [number for number, word in enumerate(words) if number == place or word.lower() in SIDE_WORDS]
    if place == len(words) - 2 and REGION.fullmatch(words[-1]):
        without.append(len(words) - 1)
    return "".join(_without(without, parts)).strip("/._- ")


def _without(places: list[int], parts: list[str]) -> list[str]:
    """The parts of a name without these words, each with a separator beside it."""
    for place in reversed(places):
        start = max(2 * place - 1, 0)
        parts = parts[:start] + parts[start + 2 :]
    return parts


def _role(words: list[str]) -> str:
    """That of the last word that says one."""
    for word in reversed(words):
        if word.startswith("train"):
            return "train"
        if TEST.fullmatch(word):
            return "test"
        if DEV.fullmatch(word):
            return "dev"
    return "train"
