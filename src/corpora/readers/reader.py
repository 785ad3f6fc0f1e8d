"""What all readers share: blocks of sentences, decoding of lines to NFC, dropping of bad records.

Only a line feed ends a line, so the sides of a corpus cannot shift against each other.
"""

import codecs
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import ClassVar, NamedTuple

from common.errors import UserError
from formats import records

MAX_LINE_BYTES = 1_000_000
BLOCK_ROWS = 5_000

INVALID, OVERLONG, NO_COLUMN, NO_SIDE = "invalid_utf8", "overlong", "missing_column", "missing_side"

SAMPLE_BYTES = 1 << 16
NUL_SHARE = 0.3  # of the first bytes; half of English in UTF-16 is NUL
SHORTEST_SAMPLE = 64

# Other characters at which str.splitlines() or a reader of TSV would break a record; as in formats.records.
BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


class Block(NamedTuple):
    """Records: a list of sentences for each column. dropped: rows to leave out, empty here, with the reason."""

    columns: list[list[str]]
    dropped: dict[int, str]


class Input(NamedTuple):
    """A file being read: its name in error messages, and whether to drop bad lines instead of raising."""

    name: str
    drop_invalid: bool

    def error(self, line: int, problem: str, remedy: str) -> UserError:
        return UserError(f"{self.name}: line {line:,}{problem}; {remedy}, or drop such lines (invalid: drop)")


class Selection(NamedTuple):
    """Which sentences of a file belong to a corpus; each reader uses the fields of its format."""

    languages: list[str]
    columns: list[int]  # one a language, numbered from 0
    query: str | None = None
    parameters: dict[str, str] | None = None  # of the query


class Reader(ABC):
    """One format of text."""

    format: ClassVar[str]  # its name in the configuration
    suffixes: ClassVar[tuple[str, ...]] = ()  # of its file names
    one_file: ClassVar[bool] = True  # all languages in one file, not a file for each
    options: ClassVar[tuple[str, ...]] = ()  # keys of the configuration that only this format has
    required: ClassVar[tuple[str, ...]] = ()  # the necessary ones

    def __init__(self, selection: Selection):
        self.selection = selection

    @abstractmethod
    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        """The selected sentences of the uncompressed file. Raises UserError."""


def rows(
    stream: Iterable[tuple[str | None, ...]], file: Input, columns: int, missing: str = NO_SIDE
) -> Iterator[Block]:
    """Blocks of records for formats other than lines. A record with None in its first ``columns`` is ``missing``."""
    stream, first = iter(stream), 1
    while block := list(islice(stream, BLOCK_ROWS)):
        dropped: dict[int, str] = {}
        for row, record in enumerate(block):
            if len(record) < columns:
                raise UserError(f"{file.name}: record {first + row:,} has {len(record)} columns, not {columns}")
            if None in record[:columns]:
                dropped[row] = missing
            elif any(len(str(side).encode()) > MAX_LINE_BYTES for side in record[:columns]):
                if not file.drop_invalid:
                    raise file.error(first + row, f": longer than {MAX_LINE_BYTES:,} bytes", "cut it up")
                dropped[row] = OVERLONG
        first += len(block)
        kept = [("",) * columns if row in dropped else record for row, record in enumerate(block)]
        yield Block([[records.sentence(str(record[column])) for record in kept] for column in range(columns)], dropped)


class DecodedLines(NamedTuple):
    """Consecutive lines of a file; ``dropped`` as in Block."""

    lines: list[str]
    dropped: dict[int, str]
    first: int  # number of the first line, from 1


def decoded(chunks: Iterable[bytes], file: Input, breaks: str) -> Iterator[DecodedLines]:
    """Lines in NFC, with spaces instead of ``breaks``. Raises UserError for UTF-16 and bad lines, if not dropped."""
    first = 1
    for block in _line_blocks(chunks, file):
        if block is None:
            if not file.drop_invalid:
                raise file.error(first, f": longer than {MAX_LINE_BYTES:,} bytes", "cut it up")
            yield DecodedLines([""], {0: OVERLONG}, first)
            first += 1
            continue
        text, dropped = _text(block, file, first)
        for character in breaks:  # replace() copies nothing if there is nothing to replace
            text = text.replace(character, " ")
        lines = (text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)).split("\n")
        yield DecodedLines(lines, dropped, first)
        first += len(lines)


def _text(block: bytes, file: Input, first: int) -> tuple[str, dict[int, str]]:
    try:
        return block.decode(), {}
    except UnicodeDecodeError as error:
        if not file.drop_invalid:
            line = block.count(b"\n", 0, error.start)
            byte = error.start - block.rfind(b"\n", 0, error.start)
            problem = f", byte {byte}: not UTF-8 (0x{block[error.start]:02x})"
            raise file.error(first + line, problem, "convert the file") from error
    lines, dropped = block.split(b"\n"), {}
    for row, line in enumerate(lines):
        try:
            line.decode()
        except UnicodeDecodeError:
            lines[row], dropped[row] = b"", INVALID
    return b"\n".join(lines).decode(), dropped


def _line_blocks(chunks: Iterable[bytes], file: Input) -> Iterator[bytes | None]:
    """Whole lines without the last line feed; None for an overlong line, which is never held in memory.

    Chunks are shorter than MAX_LINE_BYTES, so only a line that spans several can be overlong.
    """
    pending, size, overlong = [], 0, False  # the line that the last chunk has not ended
    for number, chunk in enumerate(chunks):
        if not number:
            _refuse_utf16(chunk[:SAMPLE_BYTES], file)
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
        first, last = chunk.find(b"\n"), chunk.rfind(b"\n")
        if overlong or size + (len(chunk) if first < 0 else first) > MAX_LINE_BYTES:
            pending, size, overlong = [], 0, True
            if first < 0:
                continue
            yield None
            overlong = False
            if last > first:
                yield chunk[first + 1 : last]
        elif first >= 0:
            yield b"".join([*pending, chunk[:last]])
            pending, size = [], 0
        pending.append(chunk[last + 1 :])
        size += len(pending[-1])
    if overlong:
        yield None
    elif size:
        yield b"".join(pending)


def _refuse_utf16(sample: bytes, file: Input) -> None:
    marked = sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if marked or (len(sample) >= SHORTEST_SAMPLE and sample.count(0) > NUL_SHARE * len(sample)):
        raise UserError(f"{file.name}: looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8")
