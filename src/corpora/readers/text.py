"""Lines of text: a file for each language, or tab-separated columns."""

import re
from collections.abc import Iterable, Iterator, Sequence

from corpora.readers import beginnings, header
from corpora.readers.header import FIRST_ROWS, HEADER, header_row, places_by_header
from corpora.readers.reader import BREAKS, NO_COLUMN, NOT_A_TRANSLATION, Block, DecodedLines, Input, Reader, decoded
from nmt_frontier.errors import UserError

BARS = " ||| "  # instead of a tab in files for aligners of words
_ABOUT_TALK = re.compile(r"\s*</?(?:doc|url|keywords|speaker|talkid|reviewer|translator)\b")  # IWSLT's training text
_TEXT_OF_TALK = re.compile(r"\s*<(title|description)>(.*)</\1>\s*")
_QUOTED = re.compile('"(?:[^"]|"")*"')


class Lines(Reader):
    format = "lines"
    one_file = False

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        of_talks = False
        for text in decoded(chunks, file, f"\t{BREAKS}"):
            if text.first == 1:
                self._require_lines(text.lines, file)
                of_talks = any(map(_ABOUT_TALK.match, text.lines[:FIRST_ROWS]))
            yield _without_talks(text) if of_talks else Block([list(map(str.strip, text.lines))], text.dropped)

    def _require_lines(self, lines: list[str], file: Input) -> None:
        if not self.selection.format_said:
            beginnings.require_text(file.name, lines)


def _without_talks(text: DecodedLines) -> Block:
    """The lines without those about a talk, and without the tags of its title and its description."""
    about = {row: NOT_A_TRANSLATION for row, line in enumerate(text.lines) if _ABOUT_TALK.match(line)}
    lines = ["" if row in about else _TEXT_OF_TALK.sub(r"\2", line).strip() for row, line in enumerate(text.lines)]
    return Block([lines], about | text.dropped)


def delimiter_of(lines: Sequence[str]) -> str:
    """Of the columns in these lines."""
    some = [line for line in lines if line]
    return BARS if some and all(BARS in line and "\t" not in line for line in some) else "\t"


def is_quoted(lines: Iterable[str], delimiter: str) -> bool:
    """Whether the cells of a table have quotes as in CSV: around doubled ones, or around all cells."""
    cells = [cell for line in lines for cell in line.split(delimiter) if cell]
    in_quotes = [cell for cell in cells if cell.startswith('"')]
    quoted = [cell for cell in in_quotes if _QUOTED.fullmatch(cell)]
    doubled = sum('""' in cell[1:-1] for cell in quoted)
    return len(in_quotes) - len(quoted) < doubled or (len(quoted) == len(cells) > FIRST_ROWS)


class Tsv(Reader):
    format = "tsv"
    suffixes = (".tsv",)
    options = ("columns",)
    score_key = "column"

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        columns = [int(column) for column in self.selection.columns]
        last, delimiter = 0, "\t"
        for text in decoded(chunks, file, BREAKS):
            above: dict[int, str] = {}
            if text.first == 1:
                delimiter = delimiter_of(text.lines[:FIRST_ROWS])
                first = [line.split(delimiter) for line in text.lines[:FIRST_ROWS]]
                if (place := header_row(first, self.selection)) is not None:
                    columns = places_by_header(first[place], self.selection) or columns
                    above = dict.fromkeys(range(place + 1), HEADER)
                self._require_tsv(text.lines, delimiter, first if place is None else [], file)
                named = max(first, key=len) if place is None else first[place]
                columns = [*columns, *header.score_places(named, self.selection, file.name)]
                last = max(columns)
            rows = [line.split(delimiter, last + 1) for line in text.lines]
            dropped = above | text.dropped
            for row in [row for row, cells in enumerate(rows) if len(cells) <= last]:
                if row not in dropped:
                    problem = f": has {len(rows[row])} columns, but column {last}, counted from 0, is needed"
                    dropped[row] = file.broken(NO_COLUMN, f"line {text.first + row:,}", problem, text.lines[row])
                rows[row] = [""] * (last + 1)
            yield Block([[cells[column].strip() for cells in rows] for column in columns], dropped)

    def _require_tsv(self, lines: list[str], delimiter: str, headless: list[list[str]], file: Input) -> None:
        """Raises UserError for another format, and for columns that are no text."""
        if not self.selection.format_said:
            beginnings.require_text(file.name, lines)
        header.require_text(headless, self.selection, file.name)
        if is_quoted(lines, delimiter):
            raise UserError(f"{file.name}: its cells have quotes as in CSV; say so (format: csv)")
