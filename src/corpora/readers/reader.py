"""What all readers share: blocks of sentences, decoding of lines to NFC, and a note of what could not be read.

Only a line feed ends a line, so the sides of a corpus cannot shift against each other; or a carriage return, in a text
without line feeds.
"""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from re import Pattern
from typing import Any, ClassVar, NamedTuple

from corpora.language_codes import Sides
from corpora.readers.invisible import visible_lines
from formats import records
from nmt_frontier.errors import UserError
from nmt_frontier.text.encodings import as_utf8, line_feeds, undecodable

MAX_LINE_BYTES = 1_000_000
BLOCK_ROWS = 5_000
TOO_LONG = f": longer than {MAX_LINE_BYTES:,} bytes"

NO_SIDE = "missing_side"
NOT_A_TRANSLATION = "not_a_translation"  # whatever the format calls it: fuzzy, new, rejected
INVALID, OVERLONG, NO_COLUMN, MALFORMED = "invalid_utf8", "overlong", "missing_column", "malformed"
NO_SCORE = "invalid_score"
BROKEN = (INVALID, OVERLONG, NO_COLUMN, MALFORMED, NO_SCORE)  # reasons that count against a file; the two above do not

SAMPLES = 20  # of what could not be read, for each reason
SAMPLE_LETTERS = 300
SHOWN = 3  # problems in an error

# Other characters at which str.splitlines() or a reader of TSV would break a record; as in formats.records.
BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


class Block(NamedTuple):
    """Records: a list of sentences for each side, then one of numbers, as text, for each score. dropped: rows to leave
    out, empty here, with the reason."""

    columns: list[list[str]]
    dropped: dict[int, str]


class Unread:
    """What could not be read of a text: the first records for each reason, and the first problems of all."""

    def __init__(self) -> None:
        self.samples: dict[str, list[records.Record]] = {}  # problem with its place, and the text
        self.problems: list[str] = []

    def add(self, reason: str, problem: str, text: bytes | str) -> None:
        if len(self.problems) < SHOWN:
            self.problems.append(problem)
        if len(samples := self.samples.setdefault(reason, [])) < SAMPLES:
            shown = text[: 4 * SAMPLE_LETTERS].decode(errors="replace") if isinstance(text, bytes) else text
            samples.append((problem, records.sentence(shown[:SAMPLE_LETTERS])))

    def forget(self, counts: Mapping[str, int]) -> None:
        """Leave out the first records of each reason, so many, which are before the part that is taken."""
        for reason, number in counts.items():
            first = {problem for problem, _ in self.samples.get(reason, [])[:number]}
            self.samples[reason] = self.samples.get(reason, [])[number:]
            self.problems = [problem for problem in self.problems if problem not in first]


class Input(NamedTuple):
    """A file being read: its name in messages, and its encoding if the study says it."""

    name: str
    unread: Unread
    encoding: str | None = None

    def broken(self, reason: str, place: str, problem: str, text: bytes | str) -> str:
        """Note a record that cannot be read; returns the reason. place: such as "line 7"."""
        self.unread.add(reason, f"{self.name}: {place}{problem}", text)
        return reason


@dataclass(frozen=True)
class Selection:
    """Which sentences of a file belong to a corpus; each reader uses the fields of its format."""

    languages: list[str]
    columns: list[int | str]  # one a language, numbered from 0, or named
    query: str | None = None
    parameters: dict[str, str | int] | None = None  # of the query
    variants: Mapping[str, str] = field(default_factory=dict)  # the one that is read, by language
    scores: tuple[int | str, ...] = ()  # columns or properties with numbers, which follow the sides
    format_said: bool = False  # by the configuration, so that a file may begin as another format does
    keys: dict[tuple[str, ...], list[str] | None] = field(default_factory=dict)  # of the sides, by those of a record

    @cached_property
    def sides(self) -> Sides:
        return Sides(self.variants.get(code, code) for code in self.languages)


class Reader(ABC):
    """One format of text."""

    format: ClassVar[str]  # its name in the configuration
    suffixes: ClassVar[tuple[str, ...]] = ()  # of its file names
    one_file: ClassVar[bool] = True  # all languages in one file, not a file for each
    options: ClassVar[tuple[str, ...]] = ()  # keys of the configuration that only this format has
    required: ClassVar[tuple[str, ...]] = ()  # the necessary ones
    binary: ClassVar[bool] = False  # without an encoding
    timed: ClassVar[bool] = False  # its sides are paired by corpora.readers.subtitles.by_time, not line by line
    column_types: ClassVar[tuple[type, ...]] = (int,)  # of ``columns``: numbers, names
    score_key: ClassVar[str | None] = None  # of a score that stands in the file: column, property
    score_types: ClassVar[tuple[type, ...]] = (int, str)  # of its column

    def __init__(self, selection: Selection):
        self.selection = selection

    @abstractmethod
    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        """The selected sentences of the uncompressed file. Raises UserError."""


def rows(stream: Iterable[tuple[Any, ...] | str], file: Input, columns: int, scores: int = 0) -> Iterator[Block]:
    """Blocks of records for formats other than lines. A reason stands for a record that is dropped; one with None in
    its first ``columns`` lacks a side. ``scores`` further columns are numbers."""
    stream, first, width = iter(stream), 1, columns + scores
    while block := list(islice(stream, BLOCK_ROWS)):
        dropped: dict[int, str] = {}
        for row, record in enumerate(block):
            if isinstance(record, str):
                dropped[row] = record
            elif len(record) < width:
                raise UserError(f"{file.name}: record {first + row:,} has {len(record)} columns, not {width}")
            elif None in record[:columns]:
                dropped[row] = NO_SIDE
            elif any(map(_too_long, record[:columns])):
                dropped[row] = file.broken(OVERLONG, f"record {first + row:,}", TOO_LONG, str(record[0]))
        first += len(block)
        kept = [("",) * width if row in dropped else record for row, record in enumerate(block)]
        sides = [[records.sentence(str(record[column])) for record in kept] for column in range(columns)]
        numbers = [
            ["" if cell is None else str(cell) for cell in (record[column] for record in kept)]
            for column in range(columns, width)
        ]
        yield Block([*sides, *numbers], dropped)


def _too_long(side: Any) -> bool:
    text = str(side)
    return len(text) > MAX_LINE_BYTES // 4 and len(text.encode()) > MAX_LINE_BYTES


class DecodedLines(NamedTuple):
    """Consecutive lines of a file; ``dropped`` as in Block."""

    lines: list[str]
    dropped: dict[int, str]
    first: int  # number of the first line, from 1


def decoded(
    chunks: Iterable[bytes], file: Input, breaks: str, declaration: Pattern[bytes] | None = None
) -> Iterator[DecodedLines]:
    """Lines in NFC, with spaces instead of ``breaks``; those that cannot be read are noted and empty.

    declaration: as in ``as_utf8``.
    """
    first = 1
    utf8 = as_utf8(chunks, file.name, file.encoding, declaration)
    for block in _line_blocks(line_feeds(utf8, file.name)):
        if block is None:
            yield DecodedLines([""], {0: file.broken(OVERLONG, f"line {first:,}", TOO_LONG, "")}, first)
            first += 1
            continue
        text, dropped = _text(block, file, first)
        for character in breaks:  # replace() copies nothing if there is nothing to replace
            text = text.replace(character, " ")
        lines = (text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)).split("\n")
        yield DecodedLines(lines, dropped, first)
        first += len(lines)


def _text(block: bytes, file: Input, first: int) -> tuple[str, dict[int, str]]:
    """The text of lines, without invisible characters, and the rows of those that cannot be read, empty here."""
    try:
        return visible_lines(block, block.decode()), {}
    except UnicodeDecodeError:
        lines, dropped = block.split(b"\n"), {}
    for row, line in enumerate(lines):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            problem = f", byte {error.start + 1}: {undecodable(line, error.start, file.encoding)}"
            dropped[row] = file.broken(INVALID, f"line {first + row:,}", problem, line)
            lines[row] = b""
    block = b"\n".join(lines)
    return visible_lines(block, block.decode()), dropped


def _line_blocks(chunks: Iterable[bytes]) -> Iterator[bytes | None]:
    """Whole lines without the last line feed; None for an overlong line, which is never held in memory.

    Chunks are shorter than MAX_LINE_BYTES, so only a line that spans several can be overlong.
    """
    pending: list[bytes] = []
    size, overlong = 0, False  # the line that the last chunk has not ended
    for chunk in chunks:
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
