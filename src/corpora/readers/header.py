"""The row of a table that names its columns: by keys of the configuration, by languages, or as source and target."""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache

from babel import Locale, UnknownLocaleError

from corpora.language_codes import shortest
from corpora.readers.reader import Selection

HEADER = "header"  # reason to drop what stands above such a row
FIRST_ROWS = 20  # in which it is looked for
LONGEST_NAME = 60
SIDES = ({"source", "src"}, {"target", "tgt", "trg", "translation"})
_OF_ANY = {"text", "texts", "sentence", "sentences", "segment", "string", "language", "lang"}
_INSIDE = re.compile(r"\(([^)]*)\)")  # English (United States), Source (en)
_WORD = re.compile(r"[^\W_]+")


def places_by_header(row: list[str], selection: Selection) -> list[int] | None:
    """The columns of the sides if this row names all of them, else None."""
    names, columns = [cell.strip() for cell in row], selection.columns
    if any(isinstance(column, str) for column in columns):
        places = [names.index(column) if column in names else column for column in columns]
        return [place for place in places if isinstance(place, int)] if {*map(type, places)} == {int} else None
    found = _by_language(names, selection.languages)
    by_number = [column for column in columns if isinstance(column, int)]
    return by_number if found and columns != [*range(len(columns))] else found


def header_row(rows: Sequence[list[str]], selection: Selection) -> int | None:
    """Which of the first rows is a header. A single language is a short word, so only the first row may name it."""
    named = any(isinstance(column, str) for column in selection.columns)
    first = rows[: FIRST_ROWS if named or len(selection.languages) > 1 else 1]
    return next((place for place, row in enumerate(first) if places_by_header(row, selection)), None)


def _by_language(names: list[str], languages: list[str]) -> list[int] | None:
    codes = [_language(name, (*languages,)) for name in names]
    words = [{*_words(name)} if len(name) <= LONGEST_NAME else set() for name in names]
    found = []
    for code, of_side in zip(languages, SIDES, strict=False):
        by_side = [place for place, has in enumerate(words) if has & of_side and not has - of_side - _OF_ANY]
        found += [codes.index(code)] if code in codes else by_side[:1]
    return found if len(found) == len({*found}) == len(languages) else None


def _language(name: str, languages: tuple[str, ...]) -> str | None:
    """Which of the languages the name of a column says: ``en-GB``, ``English text``, ``Source (Deutsch)``."""
    if len(name) > LONGEST_NAME:
        return None
    if name.replace("-", "").replace("_", "").isalpha() and shortest(name) in languages:
        return shortest(name)
    for part in (_INSIDE.sub(" ", name), *_INSIDE.findall(name)):
        words = [word for word in _words(part) if word not in _OF_ANY.union(*SIDES)]
        for code in languages:
            if " ".join(words) in _called(code):
                return code
    return None


def _words(name: str) -> list[str]:
    return _WORD.findall(name.lower())


@cache
def _called(code: str) -> frozenset[str]:
    """The code, and the names of the language in English and in itself, in lower case."""
    names = {code, Locale("en").languages.get(code, code)}
    with suppress(UnknownLocaleError, ValueError):
        names.add(Locale.parse(code).languages.get(code, code))
    return frozenset(" ".join(_words(name)) for name in names)
