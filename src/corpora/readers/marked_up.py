"""Structured formats: WMT's SGM, TMX of translation memories, SQLite."""

import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

from common.errors import UserError
from corpora.language_codes import shortest
from corpora.readers.reader import INVALID, MAX_LINE_BYTES, Block, Input, Reader, rows

_SEGMENT = re.compile(rb"<seg\b[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}

XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
NATIVE_CODES = ("bpt", "ept", "ph", "it", "ut")  # markup of the translated document, not text


class Sgm(Reader):
    """WMT's SGM is neither SGML nor XML: a segment is all between its tags."""

    format = "sgm"
    suffixes = (".sgm", ".sgml")
    one_file = False

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        return rows(((segment,) for segment in _segments(chunks, file)), file, 1, missing=INVALID)


def _segments(chunks: Iterable[bytes], file: Input) -> Iterator[str | None]:
    """The text of each segment, None for invalid UTF-8."""
    rest, line = b"", 1
    for chunk in chunks:
        text, end = rest + chunk, 0
        for match in _SEGMENT.finditer(text):
            line += text.count(b"\n", end, match.end())
            end = match.end()
            try:
                yield _ENTITY.sub(_character, match[1].decode())
            except UnicodeDecodeError as error:
                if not file.drop_invalid:
                    problem = f": not UTF-8 (0x{match[1][error.start]:02x})"
                    raise file.error(line, problem, "convert the file") from error
                yield None
        rest = text[end:]
        if len(rest) > MAX_LINE_BYTES + len(chunk):
            raise UserError(f"{file.name}: line {line:,}: no </seg> for a long while; is it SGM?")
    if b"<seg" in rest.lower():
        raise UserError(f"{file.name}: ends inside a <seg>; it was cut off")


def _character(match: re.Match) -> str:
    name, decimal, hexadecimal = match.groups()
    if name:
        return _ENTITIES[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else match[0]


class Tmx(Reader):
    """A unit without one of the languages is dropped and counted."""

    format = "tmx"
    suffixes = (".tmx",)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        languages = self.selection.languages
        return rows((_sides(unit, languages) for unit in _units(chunks, file)), file, len(languages))


def _units(chunks: Iterable[bytes], file: Input) -> Iterator[ElementTree.Element]:
    parser = ElementTree.XMLPullParser(["start", "end"])
    open_elements: list[ElementTree.Element] = []
    try:
        for chunk in chunks:
            parser.feed(chunk)
            for event, element in parser.read_events():
                if event == "start":
                    open_elements.append(element)
                    continue
                open_elements.pop()
                if element.tag == "tu":
                    yield element
                    for parent in open_elements[-1:]:  # else it would hold all units
                        parent.clear()
        parser.close()
    except ElementTree.ParseError as error:
        raise UserError(f"{file.name}: line {error.position[0]:,}: not XML ({error}); mend the file") from error
    except (ValueError, LookupError) as error:  # unknown or multi-byte encoding in the first line
        raise UserError(f"{file.name}: {error}; convert the file to UTF-8") from error


def _sides(unit: ElementTree.Element, languages: list[str]) -> tuple[str | None, ...]:
    sides: dict[str, str] = {}
    for variant in unit.iterfind("tuv"):
        segment = variant.find("seg")
        if segment is not None:
            code = variant.get(XML_LANGUAGE) or variant.get("lang") or ""
            sides.setdefault(shortest(code), "".join(_running_text(segment)))
    return tuple(map(sides.get, languages))


def _running_text(element: ElementTree.Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag not in NATIVE_CODES:
            yield from _running_text(child)
        yield child.tail or ""


class Sqlite(Reader):
    format = "sqlite"
    suffixes = (".db", ".sqlite", ".sqlite3")
    options = ("query", "names")
    required = ("query",)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        """The first columns of the query's result, one a language."""
        selection = self.selection
        with tempfile.NamedTemporaryFile(suffix=".db") as database:  # SQLite reads files only
            for chunk in chunks:
                database.write(chunk)
            database.flush()
            try:
                connection = sqlite3.connect(f"{Path(database.name).as_uri()}?mode=ro&immutable=1", uri=True)
                try:
                    result = connection.execute(selection.query, selection.parameters)
                    yield from rows(map(_as_text, result), file, len(selection.languages))
                finally:
                    connection.close()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise UserError(f"{file.name}: {error}; mend the query or the file") from error


def _as_text(row: tuple) -> tuple:
    """A row with its bytes decoded."""
    return tuple(cell.decode() if isinstance(cell, bytes) else cell for cell in row)
