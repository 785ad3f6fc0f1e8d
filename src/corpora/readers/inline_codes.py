"""The text of a segment of TMX or XLIFF without its inline codes, and a space for those that part words.

These are breaks of a line, a page or a column, tabs and other spaces, and the tags of what stands in lines of its own
(a paragraph, an entry of a list, a cell of a table). The type of a code says so, or the markup that it stands for.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from xml.etree.ElementTree import Element

NATIVE_CODES = ("bpt", "ept", "ph", "it", "ut")  # markup of the translated document, not text
DEEPEST = 100  # elements inside one another

_NAMES = r"br|hr|p|div|li|[uod]l|d[td]|table|t[rdh]|h[1-6]|tab|cr|lb|pb|cb|(?:(?:line|page|column)[-_]?)?break"
_TYPE = re.compile(rf"^(?:.*[-:_])?(?:{_NAMES}|paragraph|nbsp|space)$", re.IGNORECASE)
_CODE_POINT = re.compile(r"^x?0*(?:9|[A-D]|1[C-F]|20|85|A0|202[89])$", re.IGNORECASE)  # of white space
_MARKUP = re.compile(
    rf"(?:<|&lt;)/?(?:[\w-]+:|{{.*?}})?(?:{_NAMES}|(?<=text:)s)\d*(?:[\s/>]|&gt;)"  # Office; OmegaT numbers
    r"|^(?:\s|\\[nrt]|&nbsp;|&\#(?:9|10|13|160|x0*(?:9|A|D|A0));)+$"
    r"|^(?:LINE_BREAK|(?:START|CLOSE)_PARAGRAPH)"  # Angular
    r'|\bval="\s+"|\\(?:line|par|page|tab)\b',  # memoQ, RTF
    re.IGNORECASE,
)
_ATTRIBUTES = {
    **dict.fromkeys(("ctype", "type", "subType"), _TYPE),
    **dict.fromkeys(("equiv-text", "equiv", "equivStart", "disp", "dispStart"), _MARKUP),
    **dict.fromkeys(("dataRef", "dataRefStart"), _MARKUP),  # as with_original_data leaves them
    **dict.fromkeys(("hex", "value"), _CODE_POINT),
}
_ORIGINAL_DATA = re.compile(rb"<originalData\b[^<>]*>(.*?)</originalData\s*>(.*?)(?=</unit\b|\Z)", re.DOTALL)
_DATA = re.compile(rb"""<data\s[^<>]*?\bid\s*=\s*["']([^"'<>]*)["'][^<>]*>(.*?)</data\s*>""", re.DOTALL)
_DATA_OF_CODE = re.compile(rb"""(\sdataRef(?:Start)?\s*=\s*)["']([^"'<>]*)["']""")
_PARTING = "\0"  # which no XML has
_PARTED = re.compile(rf"\s*{_PARTING}[\s{_PARTING}]*")


def running_text(element: Element) -> str:
    """The text of an element without native codes."""
    if not len(element):
        return element.text or ""
    text = "".join(_texts(element))
    return _PARTED.sub(" ", text).strip() if _PARTING in text else text


def with_original_data(text: bytes) -> bytes:
    """XLIFF 2 whose codes have their markup in ``dataRef``, instead of where the unit has it."""
    return _ORIGINAL_DATA.sub(_with_data, text) if b"<originalData" in text else text


def _with_data(unit: re.Match[bytes]) -> bytes:
    """The unit with as many line breaks as before."""
    data = {
        name: b" ".join(markup.split()).replace(b'"', b"&quot;").replace(b"<", b"&lt;")
        for name, markup in _DATA.findall(unit[1])
    }
    segments = _DATA_OF_CODE.sub(lambda code: b'%s"%s"' % (code[1], data.get(code[2], b"")), unit[2])
    return b"\n" * unit[1].count(b"\n") + segments


def _texts(element: Element, depth: int = 0) -> Iterator[str]:
    yield element.text or ""
    for child in element if depth < DEEPEST else ():
        native = child.tag in NATIVE_CODES
        parting = _PARTING if _parts_words(child, child.text or "" if native else f"<{child.tag}>") else ""
        yield parting
        if not native:
            yield from _texts(child, depth + 1)
            yield parting
        yield child.tail or ""


def _parts_words(code: Element, markup: str) -> bool:
    return _is_space("equiv", markup) or any(
        name in _ATTRIBUTES and _is_space(name, value) for name, value in code.items()
    )


@lru_cache(maxsize=1024)  # documents repeat their codes
def _is_space(attribute: str, value: str) -> bool:
    return _ATTRIBUTES[attribute].search(value) is not None
