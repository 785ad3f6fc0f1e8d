"""Files that a library reads by itself: databases of SQLite, Parquet, Arrow."""

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpora.readers.header import places_by_header
from corpora.readers.reader import BLOCK_ROWS, MALFORMED, Block, Input, Reader, rows
from corpora.readers.tables import Row, by_language
from nmt_frontier.errors import UserError

PARQUET_FILE, ARROW_FILE = b"PAR1", b"ARROW1"


@contextmanager
def _file(chunks: Iterable[bytes]) -> Iterator[Path]:
    """The bytes as a file, which these libraries need."""
    with tempfile.NamedTemporaryFile() as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        yield Path(file.name)


def columns_with_numbers(chunks: Iterable[bytes]) -> Iterator[tuple[str, list[Any]]]:
    """The names of the columns of a Parquet file that have numbers which need not be whole, and the first of these."""
    from pyarrow import ArrowException, parquet, types

    with _file(chunks) as path:
        try:
            table = parquet.ParquetFile(path)
            names = [field.name for field in table.schema_arrow if types.is_floating(field.type)]
            first = next(table.iter_batches(BLOCK_ROWS, columns=names), None) if names else None
        except ArrowException:  # Arrow's own formats; reading the whole file reports what is wrong with it
            return
    yield from first.to_pydict().items() if first is not None else ()


class Sqlite(Reader):
    format = "sqlite"
    binary = True
    suffixes = (".db", ".sqlite", ".sqlite3")
    options = ("query", "names")
    score_key, score_types = "column", (int,)
    required = ("query",)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        """The first columns of the query's result, one a language."""
        selection = self.selection
        with _file(chunks) as database:
            try:
                connection = sqlite3.connect(f"{database.as_uri()}?mode=ro&immutable=1", uri=True)
                try:
                    result = connection.execute(selection.query or "", selection.parameters or {})
                    has = len(result.description or ())
                    if missing := [place for place in selection.scores if int(place) >= has]:
                        raise UserError(f"{file.name}: no column {missing[0]} (score); the query has {has}, from 0")
                    yield from rows(
                        (self._row(row) for row in result), file, len(selection.languages), len(selection.scores)
                    )
                finally:
                    connection.close()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise UserError(f"{file.name}: {error}; mend the query or the file") from error

    def _row(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """The sides and the scores of a row, with their bytes decoded."""
        cells = tuple(cell.decode() if isinstance(cell, bytes) else cell for cell in row)
        return (*cells[: len(self.selection.languages)], *(cells[int(place)] for place in self.selection.scores))


class Parquet(Reader):
    """Rows with a text column for each language, or with both in a column ``translation``; of Arrow, too.

    Its streams are what ``save_to_disk`` of Hugging Face's datasets writes.
    """

    format = "parquet"
    binary = True
    suffixes = (".parquet", ".arrow")
    options = ("columns",)
    column_types = (str,)
    score_key, score_types = "column", (str,)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        return rows(self._rows(chunks, file), file, len(self.selection.languages), len(self.selection.scores))

    def _rows(self, chunks: Iterable[bytes], file: Input) -> Iterator[Row]:
        try:
            import pyarrow
        except ImportError as error:
            remedy = "pip install --require-hashes -r requirements-parquet.lock"
            raise UserError(f"{file.name}: Parquet needs pyarrow: {remedy}") from error
        number = 0
        with _file(chunks) as path:
            try:
                for batch in self._batches(path, file):
                    for fields in batch.to_pylist():
                        number += 1
                        yield self._row(fields, f"record {number:,}", file)
            except (pyarrow.ArrowException, OSError, ValueError) as error:
                reason = " ".join(str(error).split())[:200]
                problem = f"no whole Parquet ({reason}); mend the file"
                raise UserError(f"{file.name}: after record {number:,}: {problem}") from error

    def _batches(self, path: Path, file: Input) -> Iterator[Any]:
        from pyarrow import ipc, parquet

        with open(path, "rb") as source:
            beginning = source.peek()
            if beginning.startswith(PARQUET_FILE):
                table = parquet.ParquetFile(path, page_checksum_verification=True)
                yield from table.iter_batches(BLOCK_ROWS, columns=self._columns(table.schema_arrow, file))
                return
            if beginning.startswith(ARROW_FILE):
                table = ipc.open_file(path)
                batches = (table.get_batch(number) for number in range(table.num_record_batches))
            else:
                table = batches = ipc.open_stream(source)
            columns = self._columns(table.schema, file)
            for batch in batches:
                for start in range(0, len(batch), BLOCK_ROWS):
                    yield batch.select(columns).slice(start, BLOCK_ROWS)

    def _columns(self, schema: Any, file: Input) -> list[str]:
        """The names of the columns that are read. schema: of pyarrow."""
        scores = [*map(str, self.selection.scores)]
        if missing := [name for name in scores if name not in schema.names]:
            raise UserError(f"{file.name}: no column {missing[0]} (score); it has {', '.join(schema.names)}")
        for name in ("translation", "translations"):
            if name in schema.names and schema.field(name).type.num_fields:
                return [name, *scores]
        places = places_by_header(schema.names, self.selection)
        if places is None:
            raise UserError(f"{file.name}: no column for each language (columns); it has {', '.join(schema.names)}")
        return [*(schema.names[place] for place in places), *scores]

    def _row(self, fields: Mapping[str, object], place: str, file: Input) -> Row:
        row = by_language(self.selection, fields)
        return file.broken(row, place, ": its columns are no text", str(fields)[:400]) if row == MALFORMED else row
