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
            left = None if self._maximum is None else self._maximum - kept
            rows = [row for row in range(len(block.columns[0])) if row not in block.dropped][:left]
            kept += len(rows)
            full = kept == self._maximum  # what follows the last line that is kept was not read
            self.dropped.update(reason for row, reason in block.dropped.items() if not full or row < rows[-1])
            yield _tsv(
                [[column[row] for row in rows] for column in block.columns] if block.dropped or full else block.columns
            )
            if full:
                return
        if not kept:
            dropped = f"; of {read:,} lines all were dropped: {dict(self.dropped)}" if read else ""
            raise UserError(f"{self.name}: the text is empty{dropped}")
        if self._expected not in (None, read):
            configured = f"its configuration says {self._expected:,}"
            raise UserError(f"{self.name}: has {read:,} lines, {configured}; mend one of the two")


def _tsv(columns: list[list[str]]) -> bytes:
    if not columns[0]:
        return b""
    rows = columns[0] if len(columns) == 1 else map("\t".join, zip(*columns, strict=True))
    return ("\n".join(rows) + "\n").encode()
