"""What all readers share: the blocks that they yield, and how a bad record is reported or dropped."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import ClassVar, NamedTuple

from common.errors import UserError
from formats import records

MAX_LINE_BYTES = 1_000_000
BLOCK_ROWS = 5_000

INVALID, OVERLONG, NO_COLUMN, NO_SIDE = "invalid_utf8", "overlong", "missing_column", "missing_side"


class Block(NamedTuple):
    """Some records of a text: a list of sentences for each column, all of one length.

    ``dropped`` maps the rows to leave out to the reason; their sentences are empty.
    """

    columns: list[list[str]]
    dropped: dict[int, str]


class Input(NamedTuple):
    """A file being read: its name in error messages, and whether its bad lines are dropped instead of errors."""

    name: str
    drop_invalid: bool

    def error(self, line: int, problem: str, remedy: str) -> UserError:
        return UserError(f"{self.name}: line {line:,}{problem}; {remedy}, or drop such lines (invalid: drop)")


class Selection(NamedTuple):
    """Which sentences of a file belong to a corpus; each reader uses the fields that its format has.

    ``columns`` are numbered from 0, one for each language; ``parameters`` are the named parameters of ``query``.
    """

    languages: list[str]
    columns: list[int]
    query: str | None = None
    parameters: dict[str, str] | None = None


class Reader(ABC):
    """One format of text.

    ``format`` is its name in the configuration, ``suffixes`` are the file names it is recognised by. ``one_file`` tells
    whether all languages are in one file; if not, each language has its own. ``options`` are the keys of the
    configuration that only this format has, ``required`` those it cannot do without.
    """

    format: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()
    one_file: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ()
    required: ClassVar[tuple[str, ...]] = ()

    def __init__(self, selection: Selection):
        self.selection = selection

    @abstractmethod
    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        """The selected sentences of the uncompressed file. Raises UserError that names the file and the line."""


def rows(
    stream: Iterable[tuple[str | None, ...]], file: Input, columns: int, missing: str = NO_SIDE
) -> Iterator[Block]:
    """Blocks of whole records, for formats that are not one sentence a line.

    A record with None among its first ``columns`` sides is dropped as ``missing``; other values become sentences.
    """
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
