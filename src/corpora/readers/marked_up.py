"""XML with translation units: TMX, XLIFF, Qt's TS. A broken unit is dropped, and the others are read."""

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import ClassVar
from xml.etree import ElementTree
from xml.parsers.expat import ErrorString, errors

from corpora.readers.inline_codes import running_text, with_original_data
from corpora.readers.reader import INVALID, MALFORMED, NOT_A_TRANSLATION, Block, Input, Reader, Selection, rows
from corpora.readers.states import is_translation
from corpora.readers.units import Stretch, Tags, Unit, broken, stretches, units
from nmt_frontier.text.encodings import undecodable

_PREFIX = re.compile(rb"[\s</]([A-Za-z_][\w.-]*):[A-Za-z_]")  # of a namespace
_UNBOUND_PREFIX = errors.codes[errors.XML_ERROR_UNBOUND_PREFIX]

_SOURCE = re.compile(rb"""\s(?:source-language|srcLang|sourcelanguage)\s*=\s*["']([^"']*)""")  # of XLIFF and TS
_TARGET = re.compile(rb"""\s(?:target-language|trgLang|language)\s*=\s*["']([^"']*)""")

XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
UNFINISHED = ("unfinished", "obsolete")  # vanished: a finished one that the program no longer uses
PROPERTIES = ("prop", "meta")  # of TMX and XLIFF 1.2, of XLIFF 2
FEW = 16  # units parsed at once where not all are well-formed

Record = tuple[str | None, ...] | str
Element = ElementTree.Element


class Units(Reader):
    """XML with one translation unit after the other; a unit without one of the languages is dropped and counted.

    Units are parsed many at a time, without what is around them, so that no declaration of an entity has an effect.
    Where that fails, each is parsed alone.
    """

    tags: ClassVar[Tags]

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        return rows(self._records(chunks, file), file, len(self.selection.languages), len(self.selection.scores))

    def _records(self, chunks: Iterable[bytes], file: Input) -> Iterator[Record]:
        prefixes: set[bytes] = set()
        for stretch in map(self.prepared, stretches(chunks, file, self.tags)):
            first = self.tags.start.search(stretch.text)
            headless = first and self.tags.end.search(stretch.text, 0, first.start())
            inside = stretch.text[first.start() :] if first and not headless else stretch.text
            if elements := self._elements(inside, len(self.tags.start.findall(inside)), prefixes):
                yield from (record for element in elements for record in self.records(element, stretch))
                continue
            stream = units(stretch, self.tags)
            while few := list(islice(stream, FEW)):
                if elements := self._elements(b"".join(unit.text for unit in few), len(few), prefixes):
                    yield from (record for element in elements for record in self.records(element, stretch))
                else:
                    yield from (record for unit in few for record in self._alone(unit, stretch, prefixes, file))

    def prepared(self, stretch: Stretch) -> Stretch:
        return stretch

    def _elements(self, text: bytes, number: int, prefixes: set[bytes]) -> list[Element] | None:
        """The units of a text if it is well-formed and has so many of them."""
        try:
            found = self._found(text, prefixes)
        except ElementTree.ParseError:
            return None
        return found if len(found) == number else None

    def _found(self, text: bytes, prefixes: set[bytes]) -> list[Element]:
        parent = _parsed(text, prefixes)
        return [element for name in self.tags.names for element in parent.iter(name)]

    def _alone(self, unit: Unit, stretch: Stretch, prefixes: set[bytes], file: Input) -> Iterable[Record]:
        if reason := broken(unit, self.tags, file):
            return [reason]
        try:
            unit.text.decode()
            elements = self._found(unit.text, prefixes)
            if len(elements) == 1:
                return self.records(elements[0], stretch)
            line, problem = unit.line, f": not one unit <{self.tags.names[0]}>"
        except UnicodeDecodeError as error:
            line = unit.line + unit.text.count(b"\n", 0, error.start)
            problem = f": {undecodable(unit.text, error.start, file.encoding)}"
            return [file.broken(INVALID, f"line {line:,}", problem, unit.text)]
        except ElementTree.ParseError as error:
            line, problem = unit.line + error.position[0] - 1, f": not well-formed ({ErrorString(error.code)})"
        return [file.broken(MALFORMED, f"line {line:,}", problem, unit.text)]

    @abstractmethod
    def records(self, unit: Element, stretch: Stretch) -> Iterable[Record]:
        """Those of a unit of this stretch: the sides, None for a missing one; or the reason to drop it."""


def _parsed(text: bytes, prefixes: set[bytes]) -> Element:
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


def scores_of(unit: Element, names: Sequence[int | str]) -> list[str | None]:
    """The text of the first property of each name, else the attribute of the unit or of its target."""
    if not names:
        return []
    properties = [part for part in unit.iter() if part.tag.rpartition("}")[2] in PROPERTIES]
    said = {part.get("type") or part.get("prop-type"): part.text for part in reversed(properties)}
    target = unit.find("target")
    attributes = ({} if target is None else target.attrib) | unit.attrib
    return [said.get(str(name), attributes.get(str(name))) for name in names]


class Tmx(Units):
    format = "tmx"
    suffixes = (".tmx",)
    options = ("variants",)
    score_key = "property"

    tags = Tags("tu", "tmx")

    def records(self, unit: Element, stretch: Stretch) -> Iterable[Record]:
        texts: list[str | None] = [None] * len(self.selection.languages)
        for variant in unit.iterfind("tuv"):
            segment = variant.find("seg")
            side = self.selection.sides[variant.get(XML_LANGUAGE) or variant.get("lang") or ""]
            if segment is not None and side is not None and texts[side] is None:
                texts[side] = running_text(segment)
        return [(*texts, *scores_of(unit, self.selection.scores))]


class Xliff(Units):
    """XLIFF 1.2 (a ``trans-unit`` is a pair) and 2.0 (a ``segment`` is one)."""

    format = "xliff"
    suffixes = (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff")
    options = ("variants",)
    score_key = "property"

    tags = Tags("trans-unit|segment", "xliff", about="xliff|file", scopes="file|group|unit")

    def prepared(self, stretch: Stretch) -> Stretch:
        return stretch._replace(text=with_original_data(stretch.text))

    def records(self, unit: Element, stretch: Stretch) -> Iterable[Record]:
        found = (unit.find("source"), unit.find("target"))
        if not is_translation(unit, found[1], stretch.translate):
            return [NOT_A_TRANSLATION]
        texts = [None if side is None else running_text(side) or None for side in found]
        sides = by_side(texts, _languages(stretch.about), self.selection)
        return [(*sides, *scores_of(unit, self.selection.scores))]


class Ts(Units):
    """Files of Qt Linguist. Of a plural that has more than two forms nothing says which one is which."""

    format = "ts"
    suffixes = (".ts",)

    tags = Tags("message", "TS", about="TS")

    def records(self, unit: Element, stretch: Stretch) -> Iterable[Record]:
        source, translation = unit.find("source"), unit.find("translation")
        if translation is None or translation.get("type") in UNFINISHED:
            return [NOT_A_TRANSLATION]
        forms = [*translation.iter("lengthvariant")][:1] or [*translation.iter("numerusform")] or [translation]
        target = running_text(forms[-1]) if len(forms) <= 2 else ""
        texts = [None if source is None else running_text(source), target or None]
        return [by_side(texts, _languages(stretch.about), self.selection)]


def by_side(texts: list[str | None], codes: tuple[str | None, ...], selection: Selection) -> tuple[str | None, ...]:
    """The texts as the sides of a corpus. codes: their languages, of which a file may leave out one."""
    sides = [selection.sides[code] if code else None for code in codes]
    if None in codes and any(codes):
        left = {*range(len(selection.languages))}.difference(sides)
        sides = [side if code or len(left) != 1 else min(left) for side, code in zip(sides, codes, strict=True)]
    found: list[str | None] = [None] * len(selection.languages)
    for side, text in zip(sides, texts, strict=True):
        if side is not None:
            found[side] = text
    return tuple(found)


@lru_cache(maxsize=16)  # of all units of a file the same
def _languages(about: bytes) -> tuple[str | None, ...]:
    """Source and target language of a file of XLIFF or TS, by its tags."""
    found = (_SOURCE.search(about), _TARGET.search(about))
    return tuple(match[1].decode(errors="replace") if match and match[1] else None for match in found)
