"""Sentences out of files that are not one sentence a line: TMX, WMT's SGM, SQLite."""

import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from xml.etree import ElementTree

from distill.sources.catalogue import language
from distill.sources.lines import INVALID, MAX_LINE_BYTES, NO_SIDE, OVERLONG, Block, Source
from formats import records
from formats.errors import UserError

BLOCK_ROWS = 5_000
XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
NATIVE_CODES = ("bpt", "ept", "ph", "it", "ut")  # TMX: markup of the translated document, not text

_SEGMENT = re.compile(rb"<seg\b[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def tmx(chunks: Iterable[bytes], source: Source, languages: list[str]) -> Iterator[Block]:
    """The units of a translation memory; one that lacks a language is dropped and counted."""
    return rows((_unit(unit, languages) for unit in _units(chunks, source)), source, len(languages))


def _units(chunks: Iterable[bytes], source: Source) -> Iterator[ElementTree.Element]:
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
                    for parent in open_elements[-1:]:  # which would otherwise hold all units to the end
                        parent.clear()
        parser.close()
    except ElementTree.ParseError as error:
        raise UserError(f"{source.where}: line {error.position[0]:,}: not XML ({error}); mend the file") from error


def _unit(unit: ElementTree.Element, languages: list[str]) -> tuple[str | None, ...]:
    sides: dict[str, str] = {}
    for variant in unit.iterfind("tuv"):
        segment = variant.find("seg")
        if segment is not None:
            code = variant.get(XML_LANGUAGE) or variant.get("lang") or ""
            sides.setdefault(language(code), "".join(_running_text(segment)))
    return tuple(map(sides.get, languages))


def _running_text(element: ElementTree.Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag not in NATIVE_CODES:
            yield from _running_text(child)
        yield child.tail or ""


def sgm(chunks: Iterable[bytes], source: Source) -> Iterator[Block]:
    """The segments of WMT's test sets: not quite SGML, not quite XML, so a segment is what is between its tags."""
    return rows(((segment,) for segment in _segments(chunks, source)), source, 1, INVALID)


def _segments(chunks: Iterable[bytes], source: Source) -> Iterator[str | None]:
    rest, number = b"", 1
    for chunk in chunks:
        text, end = rest + chunk, 0
        for match in _SEGMENT.finditer(text):
            number += text.count(b"\n", end, match.end())
            end = match.end()
            try:
                yield _ENTITY.sub(_character, match[1].decode())
            except UnicodeDecodeError as error:
                if not source.drop:
                    problem = f": not UTF-8 (0x{match[1][error.start]:02x})"
                    raise source.error(number, problem, "convert the file") from error
                yield None
        rest = text[end:]
        if len(rest) > MAX_LINE_BYTES + len(chunk):
            raise UserError(f"{source.where}: line {number:,}: no </seg> for a long while; is it SGM?")
    if b"<seg" in rest:
        raise UserError(f"{source.where}: ends inside a <seg>; it was cut off")


def _character(match: re.Match) -> str:
    name, decimal, hexadecimal = match.groups()
    if name:
        return _ENTITIES[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else match[0]


def sqlite(
    chunks: Iterable[bytes], source: Source, query: str, parameters: dict[str, str], columns: int
) -> Iterator[Block]:
    """One record a row of the query, which has named ``parameters``; its first ``columns`` columns."""
    with tempfile.NamedTemporaryFile(suffix=".db") as copy:  # SQLite reads files only
        for chunk in chunks:
            copy.write(chunk)
        copy.flush()
        try:
            connection = sqlite3.connect(f"{Path(copy.name).as_uri()}?mode=ro&immutable=1", uri=True)
            try:
                yield from rows(connection.execute(query, parameters), source, columns)
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise UserError(f"{source.where}: {error}; mend the query or the file") from error


def rows(
    found: Iterable[tuple[str | None, ...]], source: Source, columns: int, missing: str = NO_SIDE
) -> Iterator[Block]:
    """Blocks of whole records. A side that is None drops its record as ``missing``; the others become sentences."""
    stream, number = iter(found), 0
    while block := list(islice(stream, BLOCK_ROWS)):
        dropped: dict[int, str] = {}
        for row, record in enumerate(block):
            if len(record) < columns:
                raise UserError(f"{source.where}: record {number + row + 1:,} has {len(record)} columns, not {columns}")
            if None in record[:columns]:
                dropped[row] = missing
            elif any(len(side) > MAX_LINE_BYTES for side in map(str, record[:columns])):
                if not source.drop:
                    raise source.error(number + row + 1, f": longer than {MAX_LINE_BYTES:,} bytes", "cut it up")
                dropped[row] = OVERLONG
        number += len(block)
        kept = [("",) * columns if row in dropped else record for row, record in enumerate(block)]
        yield Block([[records.sentence(str(record[column])) for record in kept] for column in range(columns)], dropped)
