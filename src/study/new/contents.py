"""The format, the language and the columns of a file, by its first lines."""

import re
from collections import Counter
from functools import cache
from itertools import islice
from pathlib import Path

from common.errors import UserError
from corpora.archives import Part, chunks, is_archive
from corpora.language import Identifier
from corpora.language_codes import shortest
from corpora.readers import COMPRESSED, by_name
from corpora.readers.database import Sqlite
from corpora.readers.reader import BREAKS, Input, Reader, Unread, decoded
from corpora.readers.text import Lines, Tsv

FIRST_LINES = 500
TABBED = 0.95  # share of lines with a tab from which on a file of lines is TSV


def unpacked(path: Path) -> Path:
    """The name in lower case, without the suffix of a compression."""
    name = Path(path.name.lower())
    return name.with_suffix("") if name.suffix in COMPRESSED else name


def first_lines(path: Path) -> list[str]:
    """Those of a file that are not empty. Invalid UTF-8 is skipped; reading the whole file reports it."""
    blocks = decoded(chunks(Part(path)), Input(str(path), Unread()), BREAKS)
    lines = (line for block in blocks for line in block.lines if line.strip())
    return list(islice(lines, FIRST_LINES))


@cache
def identifier() -> Identifier:
    """langid.py with all its languages; it takes seconds to load."""
    return Identifier()


def language(texts: list[str]) -> tuple[str, float]:
    """The language that langid.py assigns to most of these texts, and their share."""
    label, count = Counter(identifier().labels(texts)).most_common(1)[0]
    return label, count / len(texts)


def reader(path: Path) -> type[Reader]:
    """By the name, or TSV for lines with tabs. Raises UserError for a file that needs settings to be read."""
    named = by_name(path.name.lower())
    refused = {
        "is an archive; unpack it, or name it in a configuration (member: in docs/own-data.md)": is_archive(path),
        "a database needs a query; configs/bible.yaml shows how": named is Sqlite,
        "CSV is not read; save it as TSV, one pair a line, without quotes": ".csv" in path.suffixes,
        "XML is read as TMX and SGM only; give files of one sentence a line": unpacked(path).suffix == ".xml",
    }
    for reason in (reason for reason, applies in refused.items() if applies):
        raise UserError(f"{path}: {reason}")
    if named is not Lines:
        return named
    if not (lines := first_lines(path)):
        empty = "has no line of text in UTF-8 among its first ones" if path.stat().st_size else "is empty"
        raise UserError(f"{path}: {empty}")
    return Tsv if sum("\t" in line.strip() for line in lines) >= TABBED * len(lines) else Lines


def columns(path: Path, pair: list[str]) -> list[int]:
    """The columns of both sides, by their languages. Raises UserError if they cannot be identified."""
    texts = _texts_by_column([line.split("\t") for line in first_lines(path)])
    if len(texts) < len(pair):
        needed = "a TSV has one for each language, a tab between them"
        raise UserError(f"{path}: has {len(texts)} columns of text; {needed}")
    languages = {column: language(of_column) for column, of_column in texts.items()}
    sides: list[int | None] = []
    for code in pair:  # of several columns in a language the longest: the others are names and numbers
        of_language = [column for column, (label, _) in languages.items() if label == code]
        sides.append(max(of_language, key=lambda column: sum(map(len, texts[column])), default=None))
    if None in sides and len(texts) == len(pair):  # take the other one; reading the whole text checks its language
        others = [column for column in texts if column not in sides]
        sides = [others.pop(0) if column is None else column for column in sides]
    found = [column for column in sides if column is not None]
    if len(found) < len(sides):
        seen = ", ".join(f"{column}: {code} ({100 * share:.0f} %)" for column, (code, share) in languages.items())
        raise UserError(f"{path}: which columns are {pair[0]} and {pair[1]}? By langid.py they are {seen}")
    return found


def _texts_by_column(rows: list[list[str]]) -> dict[int, list[str]]:
    """The cells of the columns in which most rows have letters."""
    width = Counter(map(len, rows)).most_common(1)[0][0]
    cells = {column: [row[column] for row in rows if len(row) > column] for column in range(width)}
    lettered = {column: [text for text in texts if any(map(str.isalpha, text))] for column, texts in cells.items()}
    return {column: texts for column, texts in lettered.items() if len(texts) > len(rows) / 2}


def require_languages(path: Path, pair: list[str]) -> None:
    """Raises UserError if a language is missing in the first bytes of a TMX. Units without it are dropped later."""
    head = next(chunks(Part(path)), b"")
    codes = sorted({shortest(code.decode()) for code in re.findall(rb'<tuv[^>]*lang="([A-Za-z-]+)"', head)})
    if missing := [code for code in pair if code not in codes]:
        has = f"it has {', '.join(codes) or 'no tuv'}"
        raise UserError(f"{path}: has no {' and no '.join(missing)} in its first units; {has}")
