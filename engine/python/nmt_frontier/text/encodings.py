"""Text in any encoding, with any line ends, as lines of UTF-8: that of corpora, and that to translate.

What cannot be decoded becomes 0xff, which no UTF-8 has: a corpus drops its line, a translation has U+FFFD instead.
"""

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO

from nmt_frontier.errors import UserError

MARKS = [  # the first that fits: UTF-16's mark begins UTF-32's
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
]
XML_BEGINNINGS = {"<?".encode(name): name for name in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")}
XML_DECLARATION = re.compile(rb"""\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']([\w.:-]+)["']""")
_PO_STRING = rb'"(?:[^"\\\n]|\\.)*'
PO_DECLARATION = re.compile(  # in the header, the first message; CHARSET stands in templates
    rb'(?:\s*#[^\n]*\n)*\s*msgid\s*""\s*msgstr\s*(?:%s"\s*)*?%s?\bcharset=(?!CHARSET\b)([\w.:-]+)'
    % (_PO_STRING, _PO_STRING)
)

SAMPLE_BYTES = 1 << 12
NUL_SHARE = 0.3  # of the first bytes; half of English in UTF-16 is NUL
SHORTEST_SAMPLE = 64
LONGEST_BEGINNING = 1 << 16  # bytes in which a text that ends lines in line feeds has one

UNDECODABLE = "nmt_frontier.undecodable"
codecs.register_error(UNDECODABLE, lambda error: ("\udcff", error.end))  # type: ignore[attr-defined]


def as_utf8(
    chunks: Iterable[bytes], name: str, encoding: str | None, declaration: re.Pattern[bytes] | None = None
) -> Iterator[bytes]:
    """Chunks of UTF-8 without a byte order mark. The mark decides, then ``encoding``, then what the file declares.

    declaration: matches the head of a file that names its encoding. Raises UserError for an unknown encoding.
    """
    stream, head = iter(chunks), b""
    for chunk in stream:
        head += chunk
        if len(head) >= SAMPLE_BYTES:
            break
    mark, marked = next(((mark, marked) for mark, marked in MARKS if head.startswith(mark)), (b"", None))
    encoding = marked or encoding or _declared(head, declaration) or _of_sample(head, name)
    stream = (chunk for chunk in chain([head[len(mark) :]], stream) if chunk)
    return stream if _is_utf8(encoding, name) else _transcoded(stream, encoding, name)


def line_feeds(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The chunks, with line feeds for carriage returns if these alone end the lines, as those of old Macs.

    Raises UserError for a text that begins so and has line feeds, too: both sides of a corpus need the same lines.
    """
    stream, head = iter(chunks), b""
    for chunk in stream:
        head += chunk
        if b"\n" in chunk or len(head) > LONGEST_BEGINNING:
            break
    if not _returns_end_lines(head):
        yield from chain([head], stream) if head else stream
        return
    for chunk in chain([head], stream):
        if b"\n" in chunk:
            raise UserError(f"{name}: lines end in carriage returns alone and in line feeds; convert it to line feeds")
        yield chunk.replace(b"\r", b"\n")


def _returns_end_lines(head: bytes) -> bool:
    """Whether carriage returns alone do: there is no line feed, or the first one comes late, and there are fewer."""
    if b"\r" not in head[:-1]:
        return False
    feeds, first = head.count(b"\n"), head.find(b"\n")
    if not feeds:
        return True
    return head.count(b"\r", 0, first - 1) > 1 and head.count(b"\r") - head.count(b"\r\n") > feeds


class _Chunks(io.RawIOBase):
    """Chunks as a file that is read once."""

    def __init__(self, chunks: Iterable[bytes]):
        self._chunks, self._left = filter(None, chunks), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        block = self._left or next(self._chunks, b"")
        size = min(len(block), len(buffer))
        buffer[:size], self._left = block[:size], block[size:]
        return size


def utf8_lines(source: io.BufferedReader, name: str, encoding: str | None = None) -> BinaryIO:
    """The file as UTF-8 whose lines end in line feeds: itself if its beginning is so, without waiting for more of it.

    Raises UserError, also while it is read.
    """
    head = source.peek()
    other = any(head.startswith(mark) for mark, _ in MARKS) or 0 in head or _returns_end_lines(head)
    if not other and encoding is None:
        return source
    chunks = iter(lambda: source.read1(LONGEST_BEGINNING), b"")
    return io.BufferedReader(_Chunks(line_feeds(as_utf8(chunks, name, encoding), name)))


def undecodable(line: bytes, place: int, encoding: str | None) -> str:
    """What is wrong with a line at this byte."""
    return f"not UTF-8 (0x{line[place]:02x})" if encoding is None else f"not {encoding}"


def _declared(head: bytes, declaration: re.Pattern[bytes] | None) -> str | None:
    if declaration is None:
        return None
    for beginning, encoding in XML_BEGINNINGS.items():
        if head.startswith(beginning):
            return encoding
    match = declaration.match(head)
    declared = match[1].decode("ascii", "replace").lower() if match else None
    return None if declared and declared.startswith(("utf-16", "utf-32", "utf16", "ucs")) else declared  # one byte each


def _of_sample(head: bytes, name: str) -> str:
    sample = head[:SAMPLE_BYTES]
    if len(sample) >= SHORTEST_SAMPLE and sample.count(0) > NUL_SHARE * len(sample):
        encoding = "utf-16-le" if sample[1::2].count(0) > sample[::2].count(0) else "utf-16-be"
        raise UserError(f"{name}: looks like UTF-16 without a byte order mark; say so (encoding: {encoding})")
    return "utf-8"


def _is_utf8(encoding: str, name: str) -> bool:
    try:
        codec = codecs.lookup(encoding)
    except LookupError:
        raise UserError(f"{name}: unknown encoding {encoding}; name one that Python has (encoding)") from None
    if not codec._is_text_encoding:
        raise UserError(f"{name}: {encoding} is no encoding of text; name another (encoding)")
    return codec.name in ("utf-8", "ascii", "utf-8-sig")


def _transcoded(stream: Iterable[bytes], encoding: str, name: str) -> Iterator[bytes]:
    try:
        decoder = codecs.getincrementaldecoder(encoding)(UNDECODABLE)
        for chunk in chain(stream, [b""]):
            if text := decoder.decode(chunk, final=not chunk):
                yield text.encode("utf-8", "surrogateescape")
    except (UnicodeError, LookupError, AssertionError) as error:  # codecs that know no error handler
        raise UserError(f"{name}: cannot be read as {encoding} ({error}); name another encoding (encoding)") from error
