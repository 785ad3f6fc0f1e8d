"""Records with fields: JSON Lines, and CSV or TSV with quotes."""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from corpora.language_codes import shortest
from corpora.readers.reader import INVALID, MALFORMED, NO_COLUMN, Block, Input, Reader, decoded, rows
from nmt_frontier.errors import UserError

DELIMITERS = ",;\t|"
_QUOTED = re.compile('"[^"]*"')
_INVALID = "\udcff"  # stands for a line that cannot be decoded; no text that could be has it

Row = tuple[Any, ...] | str  # or the reason to drop it


def by_language(languages: list[str], columns: list[int | str], fields: Mapping[str, object]) -> Row:
    """The sides among these fields: by their names in the configuration, else by their language codes."""
    sides = []
    for code, column in zip(languages, columns, strict=True):
        value = fields.get(column if isinstance(column, str) else code)
        if value is None and not isinstance(column, str):
            value = next((fields[key] for key in fields if shortest(key) == code), None)
        if not isinstance(value, str | None):
            return MALFORMED
        sides.append(value)
    return tuple(sides)


class Jsonl(Reader):
    """An object on each line, with a side under each of two keys, or with such an object under ``translation``."""

    format = "jsonl"
    suffixes = (".jsonl", ".ndjson")
    options = ("columns",)
    column_types = (str,)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        return rows(self._rows(chunks, file), file, len(self.selection.languages))

    def _rows(self, chunks: Iterable[bytes], file: Input) -> Iterator[Row]:
        languages, columns = self.selection.languages, self.selection.columns
        for number, line in _numbered(chunks, file):
            if line == _INVALID:
                yield INVALID
            elif line.strip():
                row = self._row(line, languages, columns)
                yield (
                    file.broken(MALFORMED, f"line {number:,}", ": no JSON object with text", line)
                    if row == MALFORMED
                    else row
                )

    @staticmethod
    def _row(line: str, languages: list[str], columns: list[int | str]) -> Row:
        try:
            fields = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            return MALFORMED
        if not isinstance(fields, dict):
            return MALFORMED
        inside = fields.get("translation")
        return by_language(languages, columns, inside if isinstance(inside, dict) else fields)


def _numbered(chunks: Iterable[bytes], file: Input) -> Iterator[tuple[int, str]]:
    for text in decoded(chunks, file, ""):
        for row, line in enumerate(text.lines):
            yield text.first + row, _INVALID if row in text.dropped else line


class Csv(Reader):
    """RFC 4180, with commas, semicolons, tabs or bars, whichever the first line has most of.

    Columns have numbers, or names in the first row. A first row that names the languages is not text.
    """

    format = "csv"
    suffixes = (".csv",)
    options = ("columns",)
    column_types = (int, str)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        return rows(self._rows(chunks, file), file, len(self.selection.languages))

    def _rows(self, chunks: Iterable[bytes], file: Input) -> Iterator[Row]:
        places: list[int] = []
        width = 0
        for number, cells, text in cells_of(_numbered(chunks, file), file):
            if isinstance(cells, str):
                yield cells
                continue
            if not width:
                width = len(cells)
                places, is_header = self._places(cells, file)
                if is_header:
                    continue
            if len(cells) == width:
                yield tuple(cells[place] for place in places)
            else:
                problem = f": has {len(cells)} columns, the first row has {width}"
                yield file.broken(NO_COLUMN, f"line {number:,}", problem, text)

    def _places(self, first: list[str], file: Input) -> tuple[list[int], bool]:
        """The places of the sides, and whether the first row is a header."""
        languages, columns = self.selection.languages, self.selection.columns
        names = [cell.strip() for cell in first]
        wanted: list[int | str]
        if any(isinstance(column, str) for column in columns):
            wanted = [names.index(column) if column in names else column for column in columns]
        else:
            codes = [shortest(name) if name.replace("-", "").replace("_", "").isalpha() else "" for name in names]
            header = all(code in codes for code in languages)
            by_name = header and columns == [*range(len(languages))]
            wanted = [codes.index(code) for code in languages] if by_name else [*columns]
        places = [place for place in wanted if isinstance(place, int) and place < len(first)]
        for place in wanted:
            if place not in places:
                raise UserError(f"{file.name}: line 1: no column {place} (columns); it has {', '.join(names)[:200]}")
        return places, header if all(isinstance(column, int) for column in columns) else True


def cells_of(lines: Iterator[tuple[int, str]], file: Input) -> Iterator[tuple[int, list[str] | str, str]]:
    """The number of a record's first line, its cells or the reason to drop it, and that line.

    After a record that is none, reading goes on at the line after its first one.
    """
    again: deque[tuple[int, str]] = deque()
    record: list[tuple[int, str]] = []  # its lines so far
    delimiter = ""

    def source() -> Iterator[str]:
        while line := again.popleft() if again else next(lines, None):
            record.append(line)
            yield line[1] + "\n"

    for line in lines:
        again.append(line)
        if line[1].strip():
            unquoted = _QUOTED.sub("", line[1])
            delimiter = max(DELIMITERS, key=unquoted.count)
            break
    reader = csv.reader(source(), delimiter=delimiter or ",", strict=True)
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
