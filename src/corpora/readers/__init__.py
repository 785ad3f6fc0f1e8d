"""Readers turn the bytes of a file into blocks of sentences; one class per format.

- ``text``: a file for each language, or tab-separated columns
- ``tables``: JSON Lines, and CSV or TSV with quotes
- ``marked_up``: WMT's SGM, TMX and XLIFF; ``units``: cut such text into its units;
  ``states``: which of XLIFF's are translations; ``inline_codes``: which codes part words
- ``gettext``: PO files
- ``database``: SQLite and Parquet, which a library reads
- ``header``: the row of a table that names its columns; ``reader``: what all readers share
"""

from pathlib import PurePosixPath
from urllib.parse import urlsplit

from corpora.readers.database import Parquet, Sqlite
from corpora.readers.gettext import Po
from corpora.readers.marked_up import Sgm, Tmx, Xliff
from corpora.readers.reader import Reader
from corpora.readers.tables import Csv, Jsonl
from corpora.readers.text import Lines, Tsv

ALL: tuple[type[Reader], ...] = (Lines, Tsv, Csv, Jsonl, Tmx, Xliff, Po, Sgm, Parquet, Sqlite)
READERS: dict[str, type[Reader]] = {reader.format: reader for reader in ALL}
COMPRESSED = (".gz", ".xz", ".zst", ".bz2")


def by_name(name: str) -> type[Reader]:
    """The reader for a file or URL of this name: by its suffix, else Lines."""
    path = PurePosixPath(urlsplit(name).path if "://" in name else name)
    while path.suffix in COMPRESSED:
        path = path.with_suffix("")
    return next((reader for reader in READERS.values() if path.suffix in reader.suffixes), Lines)
