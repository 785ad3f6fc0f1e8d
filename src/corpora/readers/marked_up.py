"""Formats with markup: WMT's SGM, and XML with translation units. A broken unit is dropped, and the others are read."""

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import ClassVar
from xml.etree import ElementTree
from xml.parsers.expat import ErrorString, errors

from corpora.readers.inline_codes import running_text
from corpora.readers.reader import INVALID, MALFORMED, NOT_A_TRANSLATION, Block, Input, Reader, rows
from corpora.readers.states import is_translation
from corpora.readers.units import Stretch, Tags, Unit, broken, stretches, units
from nmt_frontier.text.encodings import undecodable

_SEGMENT = re.compile(rb"<seg\b[^>]*>(.*)</seg\s*>", re.DOTALL | re.IGNORECASE)
_ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_PREFIX = re.compile(rb"[\s</]([A-Za-z_][\w.-]*):[A-Za-z_]")  # of a namespace
_UNBOUND_PREFIX = errors.codes[errors.XML_ERROR_UNBOUND_PREFIX]

_SOURCE = re.compile(rb"""\b(?:source-language|srcLang)\s*=\s*["']([^"']*)""")  # of XLIFF
_TARGET = re.compile(rb"""\b(?:target-language|trgLang)\s*=\s*["']([^"']*)""")

XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
FEW = 16  # units parsed at once where not all are well-formed


class Sgm(Reader):
    """WMT's SGM is neither SGML nor XML: a segment is all between its tags."""

    format = "sgm"
    suffixes = (".sgm", ".sgml")
    one_file = False

    tags = Tags("seg", "srcset|refset|tstset", optional=True)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        found = (unit for stretch in stretches(chunks, file, self.tags) for unit in units(stretch, self.tags))
        return rows((self._segment(unit, file) for unit in found), file, 1)

    def _segment(self, unit: Unit, file: Input) -> tuple[str] | str:
        if reason := broken(unit, self.tags, file):
            return reason
        match = _SEGMENT.fullmatch(unit.text)
        assert match  # or it would be broken
        text = match[1]
        try:
            return (_ENTITY.sub(_character, text.decode()),)
        except UnicodeDecodeError as error:
            problem = f": {undecodable(text, error.start, file.encoding)}"
            return file.broken(INVALID, f"line {unit.line:,}", problem, text)


def _character(match: re.Match[str]) -> str:
    name, decimal, hexadecimal = match.groups()
    if name:
        return _ENTITIES[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else match[0]


class Units(Reader):
    """XML with one translation unit after the other; a unit without one of the languages is dropped and counted.

    Units are parsed many at a time, without what is around them, so that no declaration of an entity has an effect.
    Where that fails, each is parsed alone.
    """

    tags: ClassVar[Tags]

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        return rows(self._records(chunks, file), file, len(self.selection.languages))

    def _records(self, chunks: Iterable[bytes], file: Input) -> Iterator[tuple[str | None, ...] | str]:
        prefixes: set[bytes] = set()
        for stretch in stretches(chunks, file, self.tags):
            first = self.tags.start.search(stretch.text)
            headless = first and self.tags.end.search(stretch.text, 0, first.start())
            inside = stretch.text[first.start() :] if first and not headless else stretch.text
            if elements := self._elements(inside, len(self.tags.start.findall(inside)), prefixes):
                yield from (self.record(element, stretch) for element in elements)
                continue
            stream = units(stretch, self.tags)
            while few := list(islice(stream, FEW)):
                if elements := self._elements(b"".join(unit.text for unit in few), len(few), prefixes):
                    yield from (self.record(element, stretch) for element in elements)
                else:
                    yield from (self._alone(unit, stretch, prefixes, file) for unit in few)

    def _elements(self, text: bytes, number: int, prefixes: set[bytes]) -> list[ElementTree.Element] | None:
        """The units of a text if it is well-formed and has so many of them."""
        try:
            found = self._found(text, prefixes)
        except ElementTree.ParseError:
            return None
        return found if len(found) == number else None

    def _found(self, text: bytes, prefixes: set[bytes]) -> list[ElementTree.Element]:
        parent = _parsed(text, prefixes)
        return [element for name in self.tags.names for element in parent.iter(name)]

    def _alone(self, unit: Unit, stretch: Stretch, prefixes: set[bytes], file: Input) -> tuple[str | None, ...] | str:
        if reason := broken(unit, self.tags, file):
            return reason
        try:
            unit.text.decode()
            elements = self._found(unit.text, prefixes)
            if len(elements) == 1:
                return self.record(elements[0], stretch)
            line, problem = unit.line, f": not one unit <{self.tags.names[0]}>"
        except UnicodeDecodeError as error:
            line = unit.line + unit.text.count(b"\n", 0, error.start)
            problem = f": {undecodable(unit.text, error.start, file.encoding)}"
            return file.broken(INVALID, f"line {line:,}", problem, unit.text)
        except ElementTree.ParseError as error:
            line, problem = unit.line + error.position[0] - 1, f": not well-formed ({ErrorString(error.code)})"
        return file.broken(MALFORMED, f"line {line:,}", problem, unit.text)

    @abstractmethod
    def record(self, unit: ElementTree.Element, stretch: Stretch) -> tuple[str | None, ...] | str:
        """The sides of a unit of this stretch, None for a missing one; or the reason to drop it."""


def _parsed(text: bytes, prefixes: set[bytes]) -> ElementTree.Element:
    """An element with this text inside. Raises ParseError.

    prefixes: those of the namespaces, which are declared around the text; new ones are added.
    """
    try:
        return ElementTree.XML(_around(prefixes) + text + b"</x>")
    except ElementTree.ParseError as error:
        if error.code != _UNBOUND_PREFIX:
            raise
        found = {*_PREFIX.findall(text)} - {b"xml", b"xmlns"}
        if found <= prefixes:
            raise
        prefixes |= found
    return ElementTree.XML(_around(prefixes) + text + b"</x>")


def _around(prefixes: set[bytes]) -> bytes:
    return b"<x%s>" % b"".join(b' xmlns:%s="%s"' % (prefix, prefix) for prefix in sorted(prefixes))


class Tmx(Units):
    format = "tmx"
    suffixes = (".tmx",)
    options = ("variants",)

    tags = Tags("tu", "tmx")

    def record(self, unit: ElementTree.Element, stretch: Stretch) -> tuple[str | None, ...]:
        texts: list[str | None] = [None] * len(self.selection.languages)
        for variant in unit.iterfind("tuv"):
            segment = variant.find("seg")
            side = self.selection.sides[variant.get(XML_LANGUAGE) or variant.get("lang") or ""]
            if segment is not None and side is not None and texts[side] is None:
                texts[side] = running_text(segment)
        return tuple(texts)


class Xliff(Units):
    """XLIFF 1.2 (a ``trans-unit`` is a pair) and 2.0 (a ``segment`` is one)."""

    format = "xliff"
    suffixes = (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff")
    options = ("variants",)

    tags = Tags("trans-unit|segment", "xliff", about="xliff|file", scopes="file|group|unit")

    def record(self, unit: ElementTree.Element, stretch: Stretch) -> tuple[str | None, ...] | str:
        found = (unit.find("source"), unit.find("target"))
        if not is_translation(unit, found[1], stretch.translate):
            return NOT_A_TRANSLATION
        codes = _languages(stretch.about)
        source, target = (self.selection.sides[code] if code else None for code in codes)
        texts: list[str | None] = [None] * len(self.selection.languages)
        if not codes[1] and source is not None and len(texts) == 2:  # it may be left out
            target = 1 - source
        for side, element in zip((source, target), found, strict=True):
            if side is not None and element is not None:
                texts[side] = running_text(element) or None
        return tuple(texts)


@lru_cache(maxsize=16)  # of all units of a file the same
def _languages(about: bytes) -> tuple[str | None, ...]:
    """Source and target language of a file of XLIFF, by its tags."""
    found = (_SOURCE.search(about), _TARGET.search(about))
    return tuple(match and match[1].decode(errors="replace") for match in found)
