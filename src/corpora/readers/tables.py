"""Records with fields: JSON, and CSV or TSV with quotes."""

import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import msgspec

from corpora.readers.header import FIRST_ROWS, HEADER, header_row, places_by_header, require_text, score_places
from corpora.readers.reader import (
    INVALID,
    MALFORMED,
    NO_COLUMN,
    NOT_A_TRANSLATION,
    Block,
    Input,
    Reader,
    Selection,
    decoded,
    rows,
)
from nmt_frontier.errors import UserError
from nmt_frontier.text.encodings import as_utf8

DELIMITERS = "\t|;,"  # text rarely has the first ones
FIRST_LINES = 100  # in which the delimiter is looked for
SEPARATOR = re.compile(r'"?sep=([^"\r\n])\1*"?\s*', re.IGNORECASE)  # a first line that programs of tables write
_QUOTED = re.compile('"[^"]*"')
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\{")
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|["{}]', re.DOTALL)
LONGEST_OBJECT = 4_000_000  # bytes
_INVALID = "\udcff"  # stands for a line that cannot be decoded; no text that could be has it

MOST_KINDS = 1000  # of records with other fields, whose sides are kept
TEXT_OR_NONE = (str, type(None))
Row = tuple[Any, ...] | str  # or the reason to drop it


def by_language(selection: Selection, record: Mapping[str, object]) -> Row:
    """The sides among the fields of a record, by their names in the configuration, else as the header of a table names
    them; then its scores."""
    fields = texts_in(record)
    named = zip(selection.languages, selection.columns, strict=True)
    sides = [fields.get(column if isinstance(column, str) else code) for code, column in named]
    if None in sides and (keys := _keys(selection, (*fields,))):
        sides = [fields.get(key) for key in keys]
    for side in sides:
        if not isinstance(side, TEXT_OR_NONE):
            return MALFORMED
    return (*sides, *(record.get(name, fields.get(str(name))) for name in map(str, selection.scores)))


def _keys(selection: Selection, names: tuple[str, ...]) -> list[str] | None:
    """The names of the sides among those of the fields of a record."""
    if names not in selection.keys:
        if len(selection.keys) == MOST_KINDS:
            selection.keys.clear()
        for name in names:
            selection.sides[name]  # so that a corpus without the languages can say what it has
        places = places_by_header([*names], selection)
        selection.keys[names] = None if places is None else [names[place] for place in places]
    return selection.keys[names]


class Jsonl(Reader):
    """Objects, one a line or in one array, with a side under each of two keys.

    These may be inside of ``translation``, also as lists of languages and texts, as in data sets of Hugging Face.
    """

    format = "jsonl"
    suffixes = (".jsonl", ".ndjson", ".json")
    options = ("columns",)
    column_types = (str,)
    score_key, score_types = "column", (str,)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        return rows(self._rows(chunks, file), file, len(self.selection.languages), len(self.selection.scores))

    def _rows(self, chunks: Iterable[bytes], file: Input) -> Iterator[Row]:
        for number, text in objects(chunks, file):
            if text == _INVALID:
                yield INVALID
            elif text.strip():
                row = self._row(text)
                yield (
                    file.broken(MALFORMED, f"line {number:,}", ": no JSON object with text", text)
                    if row == MALFORMED
                    else row
                )

    def _row(self, text: str | bytes) -> Row:
        try:
            fields = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return MALFORMED
        if not isinstance(fields, dict):
            return MALFORMED
        return by_language(self.selection, fields)


def texts_in(fields: Mapping[str, object]) -> Mapping[str, object]:
    """The fields with the texts: these, or what is inside of ``translation``."""
    inside = fields.get("translation") or fields.get("translations")
    if not isinstance(inside, dict):
        return fields
    codes = inside.get("language")
    if isinstance(codes, list) and isinstance(texts := inside.get("translation"), list):
        return dict(zip(map(str, reversed(codes)), reversed(texts), strict=False))  # of several the first
    return inside


def objects(chunks: Iterable[bytes], file: Input) -> Iterator[tuple[int, str | bytes]]:
    """The text of each object, and the number of its line."""
    stream = iter(chunks)
    head = next(stream, b"")
    chunks = chain([head], stream)
    return _elements(chunks, file) if _ARRAY.match(head) else _numbered(chunks, file)


def _elements(chunks: Iterable[bytes], file: Input) -> Iterator[tuple[int, bytes]]:
    """The objects of an array. Raises UserError if it has no end."""
    rest, line = b"", 1
    for chunk in as_utf8(chunks, file.name, file.encoding):
        text, start, depth = rest + chunk, 0, 0  # start: of an object, or of what is between two
        for token in _TOKEN.finditer(text):
            if token[0] == b'"':
                break  # a string that goes on in the next chunk
            depth += {b"{": 1, b"}": -1}.get(token[0], 0)
            if token[0] == b"{" and depth == 1:
                line += text.count(b"\n", start, token.start())
                start = token.start()
            elif token[0] == b"}" and depth == 0:
                yield line, text[start : token.end()]
                line += text.count(b"\n", start, token.end())
                start = token.end()
        rest = text[start:]
        if len(rest) > LONGEST_OBJECT:
            raise UserError(
                f"{file.name}: line {line:,}: an object longer than {LONGEST_OBJECT:,} bytes; mend the file"
            )
    if rest.strip() != b"]":
        raise UserError(f"{file.name}: line {line:,}: ends inside an array; it was cut off")


def _numbered(chunks: Iterable[bytes], file: Input) -> Iterator[tuple[int, str]]:
    for text in decoded(chunks, file, ""):
        for row, line in enumerate(text.lines):
            yield text.first + row, _INVALID if row in text.dropped else line


class Csv(Reader):
    """RFC 4180, with commas, semicolons, tabs or bars, whichever divides most of the first records alike.

    A first line ``sep=;`` names another. Columns have numbers, or names in one of the first rows. A row that names the
    languages is not text, and neither is what stands above it.
    """

    format = "csv"
    suffixes = (".csv",)
    options = ("columns",)
    column_types = (int, str)
    score_key = "column"

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        return rows(self._rows(chunks, file), file, len(self.selection.languages), len(self.selection.scores))

    def _rows(self, chunks: Iterable[bytes], file: Input) -> Iterator[Row]:
        records = cells_of(_numbered(chunks, file), file, self.selection)
        first = list(islice(records, FIRST_ROWS))
        table = [cells for _, cells, _ in first if isinstance(cells, list)]
        place = header_row(table, self.selection)
        header = [] if place is None else table[place]
        above = place or 0
        width = len(header) or _most_common(map(len, table))
        sample = header or next((cells for cells in table if len(cells) == width), [])
        places = self._places(sample, file) if table else []
        if not header:
            require_text([cells for cells in table if len(cells) == width], self.selection, file.name)
        fuzzy = header.index("fuzzy") if "fuzzy" in header else None
        for number, cells, text in chain(first, records):
            if isinstance(cells, str):
                yield cells
            elif above:
                above -= 1
                yield HEADER
            elif cells[0] in header and sorted(cells) == sorted(header):  # again where tables were joined
                places = self._places(cells, file)
            elif len(cells) == width and fuzzy is not None and cells[fuzzy].lower() == "true":
                yield NOT_A_TRANSLATION
            elif len(cells) == width:
                yield tuple(cells[place] for place in places)
            else:
                problem = f": has {len(cells)} columns, {'the header' if header else 'most rows'} {width}"
                yield file.broken(NO_COLUMN, f"line {number:,}", problem, text)

    def _places(self, row: list[str], file: Input) -> list[int]:
        """The columns of the sides; those that the row names, if it is a header."""
        wanted = places_by_header(row, self.selection) or self.selection.columns
        places = [place for place in wanted if isinstance(place, int) and place < len(row)]
        for place in wanted:
            if place not in places:
                names = ", ".join(map(str.strip, row))
                raise UserError(f"{file.name}: line 1: no column {place} (columns); it has {names[:200]}")
        return [*places, *score_places(row, self.selection, file.name)]


def _most_common(numbers: Iterable[int]) -> int:
    return next((number for number, _ in Counter(numbers).most_common(1)), 0)


def delimiter_of(lines: list[str], selection: Selection) -> str:
    """By which the first records have columns for all sides: named, else equally many in most of them."""
    columns = [column for column in selection.columns if isinstance(column, int)]
    needed = max(2, len(selection.languages), *(column + 1 for column in columns))

    def fit(delimiter: str) -> tuple[bool, int, bool]:
        table = [cells for cells in _readable(lines, delimiter) if len(cells) >= needed]
        width = _most_common(map(len, table))
        alike = sum(len(cells) == width and not any(map(_cut_quote, cells)) for cells in table)
        return header_row(table, selection) is not None, alike, width == len(selection.languages)

    fits = {delimiter: fit(delimiter) for delimiter in DELIMITERS}
    if any(alike for _, alike, _ in fits.values()):
        return max(fits, key=fits.__getitem__)
    return max(reversed(DELIMITERS), key=_QUOTED.sub("", lines[0] if lines else "").count)


def _named_delimiter(lines: deque[tuple[int, str]]) -> str | None:
    """That of a first line ``sep=``, which is taken away, as empty ones before it are."""
    while lines and not lines[0][1].strip():
        lines.popleft()
    named = SEPARATOR.fullmatch(lines[0][1]) if lines else None
    if named:
        lines.popleft()
    return named[1] if named else None


def _cut_quote(cell: str) -> bool:
    """Whether a quote may end in another cell: the delimiter stood inside of it."""
    return cell.count('"') % 2 == 1


def _readable(lines: list[str], delimiter: str) -> Iterator[list[str]]:
    """The cells of the records that are some."""
    stream = (f"{line}\n" for line in lines)
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            reader = csv.reader(stream, delimiter=delimiter, strict=True)
            continue
        if cells:
            yield cells


def cells_of(
    lines: Iterator[tuple[int, str]], file: Input, selection: Selection
) -> Iterator[tuple[int, list[str] | str, str]]:
    """The number of a record's first line, its cells or the reason to drop it, and that line.

    After a record that is none, reading goes on at the line after its first one.
    """
    again = deque(islice(lines, FIRST_LINES))
    record: list[tuple[int, str]] = []  # its lines so far
    delimiter = _named_delimiter(again) or delimiter_of([text for _, text in again if text != _INVALID], selection)

    def source() -> Iterator[str]:
        while line := again.popleft() if again else next(lines, None):
            record.append(line)
            yield line[1] + "\n"

    reader = csv.reader(source(), delimiter=delimiter, strict=True)
    while True:
        record.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            again.extendleft(reversed(record[1:]))
            number, text = record[0]
            reason = INVALID if text == _INVALID else MALFORMED
            if reason == MALFORMED:
                file.broken(reason, f"line {number:,}", f": no CSV ({error})", text)
            yield number, reason, text
            reader = csv.reader(source(), delimiter=delimiter, strict=True)
            continue
        if any(_INVALID in text for _, text in record):
            yield record[0][0], INVALID, ""
        elif cells:
            yield record[0][0], cells, record[0][1]
