"""Blocks of sentences to lines of TSV: dropped lines are counted, and the number of lines is checked."""

from collections import Counter
from collections.abc import Iterable, Iterator

from common.errors import UserError
from corpora.readers.reader import Block
from corpora.sources.source import Entry


class CountedCorpus:
    """A corpus about to be read. ``dropped`` fills up with the number of lines left out, by reason."""

    def __init__(self, name: str, entry: Entry):
        self.name = name
        self.dropped: Counter[str] = Counter()
        self._expected, self._maximum = entry["lines"], entry["max_lines"]

    def lines(self, blocks: Iterable[Block]) -> Iterator[bytes]:
        """Blocks of TSV. Raises UserError if there is no line, or another number of lines than configured."""
        read = kept = 0
        for block in blocks:
            read += len(block.columns[0])
            self.dropped.update(block.dropped.values())
            columns = _kept(block, None if self._maximum is None else self._maximum - kept)
            kept += len(columns[0])
            yield _tsv(columns)
            if kept == self._maximum:
                return
        if not kept:
            dropped = f"; of {read:,} lines all were dropped: {dict(self.dropped)}" if read else ""
            raise UserError(f"{self.name}: the text is empty{dropped}")
        if self._expected not in (None, read):
            configured = f"its configuration says {self._expected:,}"
            raise UserError(f"{self.name}: has {read:,} lines, {configured}; mend one of the two")


def _kept(block: Block, maximum: int | None) -> list[list[str]]:
    columns = block.columns
    if block.dropped:
        rows = [row for row in range(len(columns[0])) if row not in block.dropped]
        columns = [[column[row] for row in rows] for column in columns]
    return columns if maximum is None else [column[:maximum] for column in columns]


def _tsv(columns: list[list[str]]) -> bytes:
    if not columns[0]:
        return b""
    rows = columns[0] if len(columns) == 1 else map("\t".join, zip(*columns, strict=True))
    return ("\n".join(rows) + "\n").encode()
