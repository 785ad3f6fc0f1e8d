"""Lines of text: a file for each language, or tab-separated columns."""

from collections.abc import Iterable, Iterator

from corpora.readers.header import FIRST_ROWS, HEADER, header_row, places_by_header
from corpora.readers.reader import BREAKS, NO_COLUMN, Block, Input, Reader, decoded


class Lines(Reader):
    format = "lines"
    one_file = False

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        for text in decoded(chunks, file, f"\t{BREAKS}"):
            yield Block([list(map(str.strip, text.lines))], text.dropped)


class Tsv(Reader):
    format = "tsv"
    suffixes = (".tsv",)
    options = ("columns",)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        columns = [int(column) for column in self.selection.columns]
        last = max(columns)
        for text in decoded(chunks, file, BREAKS):
            above: dict[int, str] = {}
            if text.first == 1:
                first = [line.split("\t") for line in text.lines[:FIRST_ROWS]]
                if (header := header_row(first, self.selection)) is not None:
                    columns = places_by_header(first[header], self.selection) or columns
                    last, above = max(columns), dict.fromkeys(range(header + 1), HEADER)
            rows = [line.split("\t", last + 1) for line in text.lines]
            dropped = above | text.dropped
            for row in [row for row, cells in enumerate(rows) if len(cells) <= last]:
                if row not in dropped:
                    problem = f": has {len(rows[row])} columns, but column {last}, counted from 0, is needed"
                    dropped[row] = file.broken(NO_COLUMN, f"line {text.first + row:,}", problem, text.lines[row])
                rows[row] = [""] * (last + 1)
            yield Block([[cells[column].strip() for cells in rows] for column in columns], dropped)
