"""The row of a table that names its columns: by keys of the configuration, by languages, or as source and target."""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache

from babel import Locale, UnknownLocaleError

from corpora.language_codes import means
from corpora.readers.reader import Selection
from nmt_frontier.errors import UserError
from nmt_frontier.languages import OLDER

HEADER = "header"  # reason to drop what stands above such a row
FIRST_ROWS = 20  # in which it is looked for
LONGEST_NAME = 60
SIDES = (  # the likeliest first; what programs write in German, French and Spanish, too
    ("source", "src", "sentence", "quelle", "quelltext", "quellsprache", "ausgangstext", "ausgangssprache", "origen"),
    ("reference", "ref", "target", "tgt", "trg", "translation", "ziel", "zieltext", "zielsprache", "übersetzung",
     "cible", "traduction", "destino", "traducción"),
)  # fmt: skip
_OF_ANY = {"text", "texts", "sentence", "sentences", "segment", "string", "language", "lang"}
FEWEST_ROWS = 5  # that show what a column has
_NO_TEXT = re.compile(r"(?=\S*(?:\d|://))[!-~]+")
_INSIDE = re.compile(r"\(([^)]*)\)")  # English (United States), Source (en)
_TAG = re.compile(r"(?<![^\W_])[a-z]{2,3}_[A-Z][a-z]{3}(?![^\W_])")  # of FLORES: sentence_eng_Latn
_WORD = re.compile(r"[^\W_]+")


def places_by_header(row: list[str], selection: Selection) -> list[int] | None:
    """The columns of the sides if this row names all of them, else None."""
    found, columns = _named(row, selection), selection.columns
    by_number = [column for column in columns if isinstance(column, int)]
    return by_number if found and len(by_number) == len(columns) and columns != [*range(len(columns))] else found


def _named(row: list[str], selection: Selection) -> list[int] | None:
    """The columns with the names of the sides."""
    names, columns = [cell.strip() for cell in row], selection.columns
    if any(isinstance(column, str) for column in columns):
        places = [names.index(column) if column in names else column for column in columns]
        return [place for place in places if isinstance(place, int)] if {*map(type, places)} == {int} else None
    codes = [_code(name, selection.languages) for name in names]
    found = _by_language(names, codes, selection.languages)
    if found and columns == [*range(len(columns))]:
        selection.sides.update({code: selection.sides[code] for code in codes if code})  # they may be several variants
    return found


def header_row(rows: Sequence[list[str]], selection: Selection) -> int | None:
    """Which of the first rows is a header. A single language is a short word, so only the first row may name it."""
    named = any(isinstance(column, str) for column in selection.columns)
    for place, row in enumerate(rows[: FIRST_ROWS if named or len(selection.languages) > 1 else 1]):
        if places := _named(row, selection):
            alike = sum(all(cells[at : at + 1] == row[at : at + 1] for at in places) for cells in rows)
            if alike < 2 or alike <= len(rows) / 2:  # else these columns have the languages of every row
                return place
    return None


def score_places(row: Sequence[str], selection: Selection, name: str) -> list[int]:
    """The columns of the scores, by their names if this row of the file ``name`` is a header. Raises UserError."""
    names = [cell.strip() for cell in row]
    places = [names.index(score) if score in names else score for score in selection.scores]
    found = [place for place in places if isinstance(place, int) and place < len(row)]
    if missing := [place for place in places if place not in found]:
        raise UserError(f"{name}: no column {missing[0]} (score); it has {', '.join(names)[:200]}")
    return found


def require_text(rows: Sequence[list[str]], selection: Selection, name: str) -> None:
    """Raises UserError if a column that nobody named has numbers, addresses, names of files or one code alone.

    rows: the first ones of the file ``name``, without a header.
    """
    if len(rows) < FEWEST_ROWS or selection.columns != [*range(len(selection.columns))]:
        return
    for place, _ in enumerate(selection.columns):
        cells = [row[place].strip() for row in rows[1:] if place < len(row)]  # the first may name columns
        one_code = len(rows) >= FIRST_ROWS and len({*cells}) == 1 and " " not in cells[0]
        if one_code or (cells and all(map(_NO_TEXT.fullmatch, cells))):
            remedy = f"say which of the {len(rows[0])} columns are (columns: {{{selection.languages[0]}: ...}}, from 0)"
            raise UserError(f"{name}: column {place} is no text ({', '.join(dict.fromkeys(cells[:2]))}, ...); {remedy}")


def _by_language(names: list[str], codes: list[str | None], languages: list[str]) -> list[int] | None:
    words = [{*_words(name)} if len(name) <= LONGEST_NAME else set() for name in names]
    found = []
    for language, of_side in zip(languages, SIDES, strict=False):
        by_code = [place for place, code in enumerate(codes) if code and means(code, language)]
        by_side = [
            place
            for word in of_side
            for place in sorted(range(len(words)), key=lambda place: len(words[place]))  # source before source_lang
            if word in words[place] and not words[place] - _OF_ANY - {word}
        ]
        found += by_code[:1] or by_side[:1]
    return found if len(found) == len({*found}) == len(languages) else None


def _code(name: str, languages: list[str]) -> str | None:
    """The code of one of the languages, if a column says it: ``en-GB``, ``English text``, ``Source (Deutsch)``."""
    if len(name) > LONGEST_NAME:
        return None
    if name.replace("-", "").replace("_", "").isalpha() and any(means(name, code) for code in languages):
        return name
    if (tag := _TAG.search(name)) and any(means(tag[0], code) for code in languages):
        return tag[0]
    for part in (name, _INSIDE.sub(" ", name), *_INSIDE.findall(name)):
        words = frozenset(word for word in _words(part) if word not in _OF_ANY.union(*SIDES))
        for code in languages:
            if found := _called(code, *languages).get(words):
                return found
    return None


def _words(name: str) -> list[str]:
    return _WORD.findall(name.lower())


@cache
def _called(language: str, *namers: str) -> dict[frozenset[str], str]:
    """The code of the language or of a variant by its name, in English and in other languages, in lower case."""
    locales, codes = [Locale("en")], {language, *(code for code in (*OLDER, "nb") if means(code, language))}
    for namer in namers:
        with suppress(UnknownLocaleError, ValueError):
            locales.append(Locale.parse(namer, sep="-"))
    named = [item for locale in locales for item in locale.languages.items() if item[0].split("_")[0] in codes]
    return {frozenset(_words(name)): code for code, name in [(language, language), *named]}
