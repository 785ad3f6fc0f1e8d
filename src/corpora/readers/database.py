"""Databases of SQLite."""

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from common.errors import UserError
from corpora.readers.reader import Block, Input, Reader, rows


class Sqlite(Reader):
    format = "sqlite"
    suffixes = (".db", ".sqlite", ".sqlite3")
    options = ("query", "names")
    required = ("query",)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        """The first columns of the query's result, one a language."""
        selection = self.selection
        with tempfile.NamedTemporaryFile(suffix=".db") as database:  # SQLite reads files only
            for chunk in chunks:
                database.write(chunk)
            database.flush()
            try:
                connection = sqlite3.connect(f"{Path(database.name).as_uri()}?mode=ro&immutable=1", uri=True)
                try:
                    result = connection.execute(selection.query, selection.parameters)
                    yield from rows(map(_as_text, result), file, len(selection.languages))
                finally:
                    connection.close()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise UserError(f"{file.name}: {error}; mend the query or the file") from error


def _as_text(row: tuple) -> tuple:
    """A row with its bytes decoded."""
    return tuple(cell.decode() if isinstance(cell, bytes) else cell for cell in row)
