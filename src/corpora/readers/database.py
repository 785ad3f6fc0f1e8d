"""Files that a library reads by itself: databases of SQLite, Parquet."""

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpora.readers.reader import BLOCK_ROWS, MALFORMED, Block, Input, Reader, rows
from corpora.readers.tables import Row, by_language
from nmt_frontier.errors import UserError


@contextmanager
def _file(chunks: Iterable[bytes]) -> Iterator[Path]:
    """The bytes as a file, which these libraries need."""
    with tempfile.NamedTemporaryFile() as file:
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        yield Path(file.name)


class Sqlite(Reader):
    format = "sqlite"
    binary = True
    suffixes = (".db", ".sqlite", ".sqlite3")
    options = ("query", "names")
    required = ("query",)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        """The first columns of the query's result, one a language."""
        selection = self.selection
        with _file(chunks) as database:
            try:
                connection = sqlite3.connect(f"{database.as_uri()}?mode=ro&immutable=1", uri=True)
                try:
                    result = connection.execute(selection.query or "", selection.parameters or {})
                    yield from rows(map(_as_text, result), file, len(selection.languages))
                finally:
                    connection.close()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise UserError(f"{file.name}: {error}; mend the query or the file") from error


def _as_text(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row with its bytes decoded."""
    return tuple(cell.decode() if isinstance(cell, bytes) else cell for cell in row)


class Parquet(Reader):
    """Rows with a text column for each language, or with both in a column ``translation``."""

    format = "parquet"
    binary = True
    suffixes = (".parquet",)
    options = ("columns",)
    column_types = (str,)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        return rows(self._rows(chunks, file), file, len(self.selection.languages))

    def _rows(self, chunks: Iterable[bytes], file: Input) -> Iterator[Row]:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError as error:
            remedy = "pip install --require-hashes -r requirements-parquet.lock"
            raise UserError(f"{file.name}: Parquet needs pyarrow: {remedy}") from error
        number = 0
        with _file(chunks) as path:
            try:
                table = parquet.ParquetFile(path, page_checksum_verification=True)
                for batch in table.iter_batches(BLOCK_ROWS, columns=self._columns(table.schema_arrow.names, file)):
                    for fields in batch.to_pylist():
                        number += 1
                        yield self._row(fields, f"record {number:,}", file)
            except (pyarrow.ArrowException, OSError, ValueError) as error:
                reason = " ".join(str(error).split())[:200]
                raise UserError(
                    f"{file.name}: after record {number:,}: no whole Parquet ({reason}); mend the file"
                ) from error

    def _columns(self, names: list[str], file: Input) -> list[str]:
        if "translation" in names:
            return ["translation"]
        sides = {name: self.selection.sides[name] for name in names}
        wanted = [
            next((name for name in names if name == column or (column != str(column) and sides[name] == side)), None)
            for side, column in enumerate(self.selection.columns)
        ]
        found = [name for name in wanted if name is not None]
        if found != wanted:
            raise UserError(f"{file.name}: no column for each language (columns); it has {', '.join(names)}")
        return found

    def _row(self, fields: Mapping[str, object], place: str, file: Input) -> Row:
        inside = fields.get("translation", fields)
        row = by_language(self.selection, inside) if isinstance(inside, dict) else MALFORMED
        return file.broken(row, place, ": its columns are no text", str(fields)[:400]) if row == MALFORMED else row
