"""What the name of a file says: its language or side, its role, and what it has in common with the other side's."""

import re
from functools import cache

import langcodes

from corpora.language_codes import Sides, means, variant
from corpora.settings import LANGUAGES
from nmt_frontier.languages import shortest

DEV = re.compile(r"(newsdev|dev(el|set|elopment)?|val(id|idation)?|tun(e|ing))\d*")
MONOLINGUAL = "monolingual"
MONO = re.compile(r"mono(lingual)?")
TEST = re.compile(r"(newstest|devtest|te?st(set)?|eval(uation)?)\d*")
SIDE_WORDS = {"src": 0, "source": 0, "tgt": 1, "trg": 1, "target": 1, "ref": 1, "reference": 1}
SEPARATORS = re.compile(r"([/._\-\s]+)")
REGION = re.compile(r"[A-Za-z]{2}|[0-9]{3}|[A-Za-z]{4}")  # or script, of en-US and zh_hant
TYPICAL_CODES = (2, 3)  # letters of a language code


def language(parts: list[str], sides: Sides) -> tuple[list[int], str]:
    """The places of the words for the language of a file and its region, and the language (or the word of a side)."""
    words = parts[::2]
    codes = [_code(word, sides) for word in words]
    regions: set[int] = set()
    for place in range(1, len(words)):
        language = codes[place - 2] if place - 1 in regions else codes[place - 1]
        if _is_region(words[place], parts[2 * place - 1], language, sides):
            regions.add(place)
    named = {place: code for place, code in enumerate(codes) if code and place not in regions}
    last = max({*range(len(words))} - regions)
    if last not in named:
        of_pair = [place for place, code in named.items() if sides[code] is not None]
        sure = {place for place in named if len(words[place]) not in TYPICAL_CODES or place + 1 in regions}
        others = [place for place, code in named.items() if code in SIDE_WORDS or place in sure]
        if not (of_pair or others):
            return [], ""
        last = (of_pair or others)[-1]
    behind = next(place for place in range(last + 1, len(words) + 1) if place not in regions)
    return [*range(last, behind)], named[last]


def _code(word: str, sides: Sides) -> str:
    """The language of a word such as en, eng, english; a word of a side as it is; else nothing."""
    word = word.lower().partition("@")[0]  # sr@latin
    if word in SIDE_WORDS or word in LANGUAGES:
        return word
    code = shortest(word) if len(word) in TYPICAL_CODES and word.isalpha() else _by_name(word)
    known = code in LANGUAGES and (len(word) != TYPICAL_CODES[0] or sides[code] is not None)  # mo and in may be words
    return code if known else ""


def _is_region(word: str, separator: str, language: str, sides: Sides) -> bool:
    """Whether a word behind that of a language is its region or script, as in en-US, fr_ca and nn-no, not in en-de."""
    if separator not in ("-", "_") or language not in LANGUAGES or not REGION.fullmatch(word):
        return False
    if not langcodes.tag_is_valid(f"{language}-{word}"):
        return False
    if word.isupper() or variant(language)[2] == word.upper() or means(word, language):
        return True
    return sides[language] is not None and sides[word] is None and (separator == "_" or word not in LANGUAGES)


@cache
def _by_name(word: str) -> str:
    from mtdata.iso.iso639_3 import name_to_code  # here: it sets up logging

    return shortest(name_to_code(word) or word) if word.isalpha() and len(word) > TYPICAL_CODES[1] else ""


def stem(parts: list[str], places: list[int]) -> str:
    """A name without the words at these places, and words such as src and ref."""
    words = parts[::2]
    without = [number for number, word in enumerate(words) if number in places or word.lower() in SIDE_WORDS]
    for number in reversed(without):  # each word goes with a separator beside it
        start = max(2 * number - 1, 0)
        parts = parts[:start] + parts[start + 2 :]
    return "".join(parts).strip("/._- ")


def role(words: list[str]) -> str:
    """The role of the last word that has one."""
    for word in reversed(words):
        if word.startswith("train"):
            return "train"
        if MONO.fullmatch(word):
            return MONOLINGUAL
        if TEST.fullmatch(word):
            return "test"
        if DEV.fullmatch(word):
            return "dev"
    return "train"
