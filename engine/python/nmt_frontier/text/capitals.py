"""Lines in capitals, translated without them: a model that learned from ordinary text knows few words in capitals.

A line in ALL CAPS or in Title Case loses its capitals, but for the first letter of each sentence, and its translation
gets them. What must come through as it is, such as a URL, a tag or a symbol of protected text, is neither changed
nor looked at. A line of a script without case, a short word that may be an acronym, and a list of names are left alone.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

from nmt_frontier.languages import shortest
from nmt_frontier.text.alignment import stretched
from nmt_frontier.text.items import Finder
from nmt_frontier.text.stage import Context, Stage, Translation

Case = Literal["", "upper", "title"]

DOTTED = ("tr", "az", "crh")  # languages where a capital i has a dot, and a small I has none
UPPER_WORDS, TITLE_WORDS = 2, 4  # that a line must have, but for a lone word of five letters, or with ! or ?
PER_COMMA = 3  # words of a line in Title Case, or fewer, are a list of names

_HELD = "\uffff"  # stands for what is not changed
_LETTERS, _TWO = re.compile(r"[^\W\d_]+"), re.compile(r"[^\W\d_]{2}")
_WORD = re.compile(r"(?<!\S)[^\w\s]*[^\W\d_][^\s\d_]*(?!\S)")  # BMW X5 and MAX_VALUE have one and none
_FIRST = re.compile(r"(?<!\S)[^\W\d_]")  # letters of words
_TITLED = re.compile(rf"(?:(?<!\S)|(?<={_HELD}))[\"'“„«(]*[^\W\d_]")
_LONE = re.compile(r"(?:[\W\d]*\W)?(?:[^\W\d_]{5,}|[^\W\d_]{3,}[^\w!?]*[!?])\W*")
_OF_ANY_CASE = str.maketrans("", "", "ßªº")  # STRAßE and Nº are in capitals
_ENGLISH_I = re.compile(r"\bi\b")
# The letter may be missing: a match that passes over what has none keeps the time linear.
_BEGINS = re.compile(rf"(^|[\w{_HELD}][.!?…]+[\"'”’»)]*\s)([\W_]*)([^\W\d_]?)")
# Also held in a source: the target language before it, abbreviations such as U.S. and z. B., and a lone initial, but
# not its full stop, which a name or a sentence follows: J. Smith and Plan A. Go home.
_MORE = rf"^>>\S+<<|\b[^\W\d_]\.(?: ?\b[^\W\d_]\.)+|\b[^\W\d_](?=\.)|{_HELD}"


class Capitals(Stage[Case]):
    """Takes the capitals from texts, and gives them to their translations; it counts ``lines_recased``.

    source, target: codes of languages, if known.
    """

    def __init__(self, source: str | None, target: str | None, counts: Counter[str]):
        self._source, self._target = (shortest(code or "") for code in (source, target))
        self._finder, self._counts = Finder(("url", "email", "tag", "placeholder")), counts  # the kinds with letters

    @classmethod
    def chosen(cls, options: Mapping[str, Any], context: Context) -> "Capitals | None":
        return cls(context.source, context.target, context.counts) if options["recase"] else None

    def hide(self, text: str) -> tuple[Sequence[str], Case]:
        text, case = self.without(text)
        return [text], case

    def restore(self, state: Case, outputs: Sequence[Translation]) -> Translation:
        (output,) = outputs
        if not state:
            return output
        self._counts["lines_recased"] += 1
        text = self.restored(output.text, state)
        return Translation(text, lambda: stretched(output.alignment, len(output.text), len(text)))

    def without(self, line: str) -> tuple[str, Case]:
        """A line without its capitals, and which it had."""
        if _ordinary().search(line) and "<" not in line and "{" not in line:  # most lines; tags may have such a word
            return line, ""
        if line == line.lower():  # or have no case
            return line, ""
        text, items = self._held(line, _MORE)
        if not (case := _case(text)):
            return line, ""
        text = self._lower(text) if case == "upper" else _LETTERS.sub(self._lower_word, text)
        if self._source == "en":
            text = _ENGLISH_I.sub("I", text)
        if not _LONE.fullmatch(text):  # models know a lone word in lower case
            text = _BEGINS.sub(lambda match: match[1] + match[2] + _title(match[3], self._source), text)
        return _filled(text, items), case

    def restored(self, translation: str, case: Case) -> str:
        """A translation with the capitals that its source had."""
        text, items = self._held(translation, _HELD)
        if case == "upper":
            return _filled(_upper(text, self._target), items)
        return _filled(_TITLED.sub(lambda match: _title(match[0], self._target), text), items)

    def _held(self, line: str, more: str) -> tuple[str, list[str]]:
        """The line with one character for each part that must not change, and these parts. more: a further pattern."""
        spans = sorted(match.span() for match in [*self._finder.found(line), *re.finditer(more, line)])
        parts, items, end = [], [], 0
        for start, stop in spans:
            if start >= end:
                parts.append(line[end:start])
                items.append(line[start:stop])
                end = stop
        return _HELD.join([*parts, line[end:]]), items

    def _lower(self, text: str) -> str:
        return (text.replace("I", "ı") if self._source in DOTTED else text).replace("İ", "i").lower()

    def _lower_word(self, match: re.Match[str]) -> str:
        """A word of Title Case; USA and McDonald keep their capitals."""
        return self._lower(match[0]) if len(match[0]) == 1 or match[0][1:].islower() else match[0]


@cache
def _ordinary() -> re.Pattern[str]:
    """A word of four small letters or more. To compile it takes milliseconds, which only this stage should pay."""
    small = "".join(filter(str.islower, map(chr, range(0x10000))))
    return re.compile(f" [{small}]{{4,}} ")


def _case(text: str) -> Case:
    """The capitals that a whole line has."""
    cased = text.translate(_OF_ANY_CASE)
    if any(unicodedata.category(letter) == "Lo" for letter in {*cased}):
        return ""  # acronyms in a script without case
    if cased.isupper():
        words = len(_WORD.findall(text)) if _TWO.search(text) else 0
        return "upper" if words >= UPPER_WORDS or _LONE.fullmatch(text) else ""
    first = _FIRST.findall(text)
    enough = len(first) >= max(TITLE_WORDS, PER_COMMA * text.count(",") + 1)
    return "title" if enough and all(map(str.istitle, first)) else ""


def _upper(text: str, language: str) -> str:
    return _before_capitals(text, language).upper()


def _title(text: str, language: str) -> str:
    """With a first letter as words have it: ǅ, and none in Georgian, whose capitals are for whole words."""
    return _before_capitals(text, language).title()


def _before_capitals(text: str, language: str) -> str:
    text = text.replace("i", "İ") if language in DOTTED else text
    return text.replace("ß", "ẞ")  # the first choice of German rules since 2024; SS makes two words one


def _filled(text: str, items: list[str]) -> str:
    """A line with the parts that it was held without."""
    left = iter(items)
    return re.sub(_HELD, lambda _: next(left), text) if items else text
