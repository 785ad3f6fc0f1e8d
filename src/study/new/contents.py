"""The format, the language and the columns of a file, by its first lines."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path

import msgspec

from corpora.archives import Part, chunks, is_archive
from corpora.language import Identifier
from corpora.language_codes import means
from corpora.readers import COMPRESSED, READERS, by_name
from corpora.readers.beginnings import format_of
from corpora.readers.database import Sqlite
from corpora.readers.header import header_row, places_by_header
from corpora.readers.reader import BREAKS, Input, Reader, Selection, Unread, decoded
from corpora.readers.tables import Csv, Jsonl, cells_of, objects, texts_in
from corpora.readers.text import Lines, Tsv, delimiter_of, is_quoted
from nmt_frontier.errors import UserError
from nmt_frontier.languages import shortest
from nmt_frontier.text.encodings import MARKS, PO_DECLARATION, XML_DECLARATION, as_utf8
from study.new.encodings import guess

FIRST_LINES = 500
LARGEST_SHARE = 0.05  # of lines that are not UTF-8 in a text that is, as invalid_share
MOST_WORDS = 3  # of the name of a column
_LANGUAGE_OF_MARKUP = re.compile(
    rb"""(?:<tuv\b[^>]*\blang|source-language|target-language|srcLang|trgLang)\s*=\s*["']([\w@.-]+)["']"""
)
TABBED = 0.95  # share of lines with a tab from which on a file of lines is TSV


def unpacked(path: Path) -> Path:
    """The name in lower case, without the suffix of a compression."""
    name = Path(path.name.lower())
    return name.with_suffix("") if name.suffix in COMPRESSED else name


def encoding(path: Path, named: str | None, pair: Iterable[str] = ()) -> str | None:
    """The encoding that a configuration has to say: ``named``, if the file is not UTF-8 and says nothing itself.

    Raises UserError with a guess by the languages of the pair if none is named.
    """
    head = next(chunks(Part(path)), b"")
    declared = XML_DECLARATION.match(head) or PO_DECLARATION.match(head)
    says_so = declared or any(head.startswith(mark) for mark, _ in MARKS)
    if says_so or is_archive(path) or by_name(path.name.lower()).binary:
        return None
    lines = head.split(b"\n")
    if 0 not in head and sum(map(_is_utf8, lines[:-1] or lines)) >= (1 - LARGEST_SHARE) * len(lines[:-1] or lines):
        return None
    if named is None and head:
        best = guess(head, pair)
        places = [line for line in lines if not _is_utf8(line)] or lines
        shown = places[0].decode(best, "replace").strip()[:80] if best and 0 not in head else ""
        example = f", with {shown!r} in it" * bool(shown)
        likely = best or "another encoding"
        remedy = f"if that is right, say --encoding {likely}; if not, another one, or --invalid drop"
        raise UserError(f"{path}: is not UTF-8; it looks like {likely}{example}; {remedy}")
    return None if named == "utf-8" else named


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def first_lines(path: Path, encoding: str | None) -> list[str]:
    """Those of a file that are not empty. What cannot be read is skipped; reading the whole file reports it."""
    blocks = decoded(chunks(Part(path)), Input(str(path), Unread(), encoding), BREAKS)
    lines = (line for block in blocks for line in block.lines if line.strip())
    return list(islice(lines, FIRST_LINES))


def sentences(path: Path, reader: type[Reader], encoding: str | None) -> list[str]:
    """The first ones of a file of one language. Raises UserError if there is none."""
    blocks = reader(Selection(["en"], [0])).blocks(chunks(Part(path)), Input(str(path), Unread(), encoding))
    found = list(islice((text for block in blocks for text in block.columns[0] if text), FIRST_LINES))
    if not found:
        raise UserError(f"{path}: has no text among its first lines")
    return found


@cache
def identifier() -> Identifier:
    """langid.py with all its languages; it takes seconds to load."""
    return Identifier()


def language(texts: list[str]) -> tuple[str, float]:
    """The language that langid.py assigns to most of these texts, and their share."""
    label, count = Counter(identifier().labels(texts)).most_common(1)[0]
    return label, count / len(texts)


def reader(path: Path, encoding: str | None) -> type[Reader]:
    """By the name, or TSV for lines with tabs. Raises UserError for a file that needs settings to be read."""
    named = by_name(path.name.lower())
    refused = {
        "is an archive; unpack it, or name it in a configuration (member: in docs/own-data.md)": is_archive(path),
        "a database needs a query; configs/bible.yaml shows how": named is Sqlite,
    }
    for reason in (reason for reason, applies in refused.items() if applies):
        raise UserError(f"{path}: {reason}")
    if named not in (Lines, Tsv, Jsonl):
        return named
    if not (lines := first_lines(path, encoding)) and named is Lines:
        empty = "has no line of text in UTF-8 among its first ones" if path.stat().st_size else "is empty"
        raise UserError(f"{path}: {empty}")
    if (found := format_of(str(path), lines)) or named is Jsonl:
        return READERS[found] if found else named
    delimiter = delimiter_of(lines)
    if named is Tsv or sum(delimiter in line.strip() for line in lines) >= TABBED * len(lines):
        return Csv if is_quoted(lines, delimiter) else Tsv
    return Lines


def columns(path: Path, reader: type[Reader], encoding: str | None, pair: list[str]) -> list[int | str] | None:
    """The columns of both sides, by their languages; None if their names say it.

    Raises UserError if they cannot be identified.
    """
    names, rows = table_rows(path, reader, encoding, pair)
    if names and places_by_header(names, Selection(pair, [0, 1])):
        return None
    if not rows:
        raise UserError(f"{path}: has no row of text among its first lines")
    texts = _texts_by_column(rows)
    if len(texts) < len(pair):
        needed = "one for each language is needed" + ", a tab between them" * (reader is Tsv)
        raise UserError(f"{path}: has {len(texts)} columns of text; {needed}")
    languages = {column: language(of_column) for column, of_column in texts.items()}
    sides: list[int | None] = []
    for code in pair:  # of several columns in a language the longest: the others are names and numbers
        of_language = [column for column, (label, _) in languages.items() if means(label, code)]
        sides.append(max(of_language, key=lambda column: sum(map(len, texts[column])), default=None))
    if None in sides and len(texts) == len(pair):  # take the other one; reading the whole text checks its language
        others = [column for column in texts if column not in sides]
        sides = [others.pop(0) if column is None else column for column in sides]
    if None in sides:
        seen = ", ".join(
            f"{names[column] if names else column}: {code} ({100 * share:.0f} %)"
            for column, (code, share) in languages.items()
        )
        raise UserError(f"{path}: which columns are {pair[0]} and {pair[1]}? By langid.py they are {seen}")
    return [names[side] if names else side for side in sides if side is not None]


def table_rows(
    path: Path, reader: type[Reader], encoding: str | None, pair: list[str]
) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, if they have some, and the first rows."""
    if reader is Tsv:
        lines = first_lines(path, encoding)
        names, rows = _table([line.split(delimiter_of(lines)) for line in lines], pair)
        return (names, rows) if {*pair} <= {*names} else ([], [names, *rows] if names else rows)
    if reader is Csv:
        return _table(_csv_rows(path, encoding, pair), pair)
    found: list[Mapping[str, object]] = []
    for _, line in islice(objects(chunks(Part(path)), Input(str(path), Unread(), encoding)), FIRST_LINES):
        with suppress(msgspec.DecodeError, RecursionError):
            fields = msgspec.json.decode(line)
            found += [texts_in(fields)] if isinstance(fields, dict) else []
    names = list(dict.fromkeys(name for fields in found for name in fields))
    texts = [[text if isinstance(text := fields.get(name), str) else "" for name in names] for fields in found]
    if not texts:
        raise UserError(f"{path}: has no JSON object in its first lines")
    return names, texts


def _csv_rows(path: Path, encoding: str | None, pair: list[str]) -> list[list[str]]:
    """Raises UserError with the first problem if there is none."""
    file = Input(str(path), Unread(), encoding)
    lines = ((number, line) for number, line in enumerate(first_lines_of_any(path, encoding), 1))
    rows = [cells for _, cells, _ in cells_of(lines, file, Selection(pair, [0, 1])) if not isinstance(cells, str)]
    if not rows and file.unread.problems:
        raise UserError(f"{file.unread.problems[0]}; it has no row among its first lines")
    return rows


def _table(rows: list[list[str]], pair: list[str]) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, if they have some, and the rows below; neither has what stands above a header."""
    if (place := header_row(rows, Selection(pair, [0, 1]))) is not None:
        languages = dict(zip(places_by_header(rows[place], Selection(pair, [0, 1])) or [], pair, strict=True))
        return [languages.get(column, "") for column in range(len(rows[place]))], rows[place + 1 :]
    widths = Counter(map(len, rows))
    rows = [cells for cells in rows if len(cells) == max(widths, key=widths.__getitem__)]
    return (rows[0], rows[1:]) if len(rows) > 1 and _is_header(rows[0], rows[1:]) else ([], rows)


def first_lines_of_any(path: Path, encoding: str | None) -> list[str]:
    """As first_lines, with the empty ones, which may be inside quotes."""
    blocks = decoded(chunks(Part(path)), Input(str(path), Unread(), encoding), "")
    return list(islice((line for block in blocks for line in block.lines), FIRST_LINES))


def _is_header(first: list[str], others: list[list[str]]) -> bool:
    """Whether the first row has short names, each once, above columns of longer text."""
    texts = _texts_by_column(others)
    names = [first[column].strip() for column in texts if column < len(first)]
    means = [sum(map(len, of_column)) / len(of_column) for of_column in texts.values()]
    if len(names) < len(texts) or len({*names}) < len(names):
        return False
    return all(
        0 < len(name) < mean / 2 and len(name.split()) <= MOST_WORDS for name, mean in zip(names, means, strict=True)
    )


def _texts_by_column(rows: list[list[str]]) -> dict[int, list[str]]:
    """The cells of the columns in which most rows have letters."""
    width = Counter(map(len, rows)).most_common(1)[0][0]
    cells = {column: [row[column] for row in rows if len(row) > column] for column in range(width)}
    lettered = {column: [text for text in texts if any(map(str.isalpha, text))] for column, texts in cells.items()}
    return {column: texts for column, texts in lettered.items() if len(texts) > len(rows) / 2}


def require_languages(path: Path, pair: list[str]) -> None:
    """Raises UserError if a language is missing in the first bytes of a TMX or XLIFF; later units are dropped.

    An XLIFF need not name its target language.
    """
    head = next(as_utf8(chunks(Part(path)), str(path), None, XML_DECLARATION), b"")
    codes = sorted({shortest(code.decode()) for code in _LANGUAGE_OF_MARKUP.findall(head)})
    missing = [code for code in pair if shortest(code) not in codes]
    if missing and not (b"<xliff" in head and len(codes) == 1 and len(missing) == 1):
        has = f"it has {', '.join(codes) or 'no unit with a language'}"
        raise UserError(f"{path}: has no {' and no '.join(missing)} in its first units; {has}")
