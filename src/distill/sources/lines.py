"""Bytes to sentences, a block of lines at a time: what `records.sentence` does to one, done to many at once.

A line ends at a line feed and nowhere else, so the sides of a corpus cannot shift against each other.
"""

import codecs
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from formats.errors import UserError

MAX_LINE_BYTES = 1_000_000
SAMPLE_BYTES = 1 << 16
NUL_SHARE = 0.3  # of the first bytes; half of English in UTF-16 is NUL
SHORTEST_SAMPLE = 64

INVALID, OVERLONG, NO_COLUMN, NO_SIDE = "invalid_utf8", "overlong", "missing_column", "missing_side"

# What else a reader of TSV, or str.splitlines(), would break a record at; as in formats.records.
_BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


class Block(NamedTuple):
    """Some lines of a text: a list of sentences for each column, all of one length.

    ``dropped`` has the rows that are not taken, and why; their sentences are empty.
    """

    columns: list[list[str]]
    dropped: dict[int, str]


class Source(NamedTuple):
    """One file being read: what errors call it, and whether its bad lines are dropped or are errors."""

    where: str
    drop: bool

    def error(self, line: int, problem: str, remedy: str) -> UserError:
        return UserError(f"{self.where}: line {line:,}{problem}; {remedy}, or drop such lines (invalid: drop)")


def lines(chunks: Iterable[bytes], source: Source) -> Iterator[Block]:
    """A text of one sentence a line. Raises UserError for bad UTF-8 and overlong lines unless they are dropped."""
    for text, dropped, _ in decoded(chunks, source, f"\t{_BREAKS}"):
        yield Block([list(map(str.strip, text))], dropped)


def tsv(chunks: Iterable[bytes], source: Source, columns: list[int]) -> Iterator[Block]:
    """The given columns (from 0) of tab-separated text without quoting."""
    last = max(columns)
    for text, dropped, first in decoded(chunks, source, _BREAKS):
        rows = [line.split("\t", last + 1) for line in text]
        for row in [row for row, cells in enumerate(rows) if len(cells) <= last]:
            if not source.drop:
                count = len(rows[row])
                raise source.error(first + row, f": has {count} columns, column {last} (from 0) is missing", "mend it")
            dropped.setdefault(row, NO_COLUMN)
            rows[row] = [""] * (last + 1)
        yield Block([[cells[column].strip() for cells in rows] for column in columns], dropped)


def decoded(chunks: Iterable[bytes], source: Source, breaks: str) -> Iterator[tuple[list[str], dict[int, str], int]]:
    """Lines in NFC with ``breaks`` turned into spaces, the dropped ones among them, the number of the first line."""
    number = 1
    for block in _blocks(chunks, source):
        if block is None:
            if not source.drop:
                raise source.error(number, f": longer than {MAX_LINE_BYTES:,} bytes", "cut it up")
            yield [""], {0: OVERLONG}, number
            number += 1
            continue
        text, dropped = _text(block, source, number)
        for character in breaks:
            text = text.replace(character, " ")  # the same object, and at the speed of memory, where there is none
        rows = (text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)).split("\n")
        yield rows, dropped, number
        number += len(rows)


def _text(block: bytes, source: Source, number: int) -> tuple[str, dict[int, str]]:
    try:
        return block.decode(), {}
    except UnicodeDecodeError as error:
        if not source.drop:
            line = block.count(b"\n", 0, error.start)
            byte = error.start - block.rfind(b"\n", 0, error.start)
            problem = f", byte {byte}: not UTF-8 (0x{block[error.start]:02x})"
            raise source.error(number + line, problem, "convert the file") from error
    rows, dropped = block.split(b"\n"), {}
    for row, line in enumerate(rows):
        try:
            line.decode()
        except UnicodeDecodeError:
            rows[row], dropped[row] = b"", INVALID
    return b"\n".join(rows).decode(), dropped


def _blocks(chunks: Iterable[bytes], source: Source) -> Iterator[bytes | None]:
    """Whole lines without the last line feed; None for an overlong line, which is never held.

    A chunk is shorter than MAX_LINE_BYTES, so only a line that is in several chunks may be overlong.
    """
    held, size, overlong = [], 0, False
    for number, chunk in enumerate(chunks):
        if not number:
            _not_utf16(chunk[:SAMPLE_BYTES], source)
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
        first, last = chunk.find(b"\n"), chunk.rfind(b"\n")
        if overlong or size + (len(chunk) if first < 0 else first) > MAX_LINE_BYTES:
            held, size, overlong = [], 0, True
            if first < 0:
                continue
            yield None
            overlong = False
            if last > first:
                yield chunk[first + 1 : last]
        elif first >= 0:
            yield b"".join([*held, chunk[:last]])
            held, size = [], 0
        held.append(chunk[last + 1 :])
        size += len(held[-1])
    if overlong:
        yield None
    elif size:
        yield b"".join(held)


def _not_utf16(sample: bytes, source: Source) -> None:
    marked = sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if marked or (len(sample) >= SHORTEST_SAMPLE and sample.count(0) > NUL_SHARE * len(sample)):
        raise UserError(f"{source.where}: looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8")
