"""TMX, the exchange format of translation memories: XML, all languages in one file."""

from collections.abc import Iterable, Iterator
from xml.etree import ElementTree

from common.errors import UserError
from corpora.language_codes import shortest
from corpora.readers.reader import Block, Input, Reader, rows

XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
NATIVE_CODES = ("bpt", "ept", "ph", "it", "ut")  # markup of the translated document, not text


class Tmx(Reader):
    """The units of a translation memory; one that lacks a language is dropped and counted."""

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
                    for parent in open_elements[-1:]:  # which would otherwise hold all units to the end
                        parent.clear()
        parser.close()
    except ElementTree.ParseError as error:
        raise UserError(f"{file.name}: line {error.position[0]:,}: not XML ({error}); mend the file") from error
    except (ValueError, LookupError) as error:  # of the encoding that the first line names
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
