"""Readers turn the bytes of a file into blocks of sentences; one class per format.

- ``text``: a file for each language, or tab-separated columns
- ``tables``: JSON Lines, and CSV or TSV with quotes
- ``marked_up``: TMX, XLIFF and Qt's TS; ``test_sets``: WMT's; ``units``: cut such text into its units;
  ``states``: which of XLIFF's are translations; ``inline_codes``: which codes part words
- ``gettext``: PO files; ``subtitles``: SubRip and WebVTT
- ``database``: SQLite, Parquet and Arrow, which a library reads
- ``header``: the row of a table that names its columns; ``reader``: what all readers share; ``invisible``: lines
  without invisible characters; ``beginnings``: what a file is by its first lines
"""

from pathlib import PurePosixPath
from urllib.parse import urlsplit

from corpora.readers.database import Parquet, Sqlite
from corpora.readers.gettext import Po
from corpora.readers.marked_up import Tmx, Ts, Xliff
from corpora.readers.reader import Reader
from corpora.readers.subtitles import Subtitles
from corpora.readers.tables import Csv, Jsonl
from corpora.readers.test_sets import Sgm, Wmt
from corpora.readers.text import Lines, Tsv
from nmt_frontier.errors import UserError

ALL: tuple[type[Reader], ...] = (
    Lines,
    Tsv,
    Csv,
    Jsonl,
    Tmx,
    Xliff,
    Ts,
    Po,
    Wmt,
    Sgm,
    Parquet,
    Sqlite,
    Subtitles,
)
READERS: dict[str, type[Reader]] = {reader.format: reader for reader in ALL}
COMPRESSED = (".gz", ".xz", ".zst", ".bz2")

_DOCUMENT = "is no plain text; save it as one, a sentence a line, or both languages as a table or a TMX"
_SPREADSHEET = "is a spreadsheet; save it as CSV in UTF-8, with a column for each language"
_STRINGS = "has the texts of a program by their keys; make PO of both languages, with {} of the Translate Toolkit"
_TO_CONVERT = {  # by suffix: what other programs have to convert
    **dict.fromkeys((".doc", ".docx", ".odt", ".rtf", ".pdf", ".pptx", ".odp", ".epub"), _DOCUMENT),
    **dict.fromkeys((".xls", ".xlsx", ".ods"), _SPREADSHEET),
    **dict.fromkeys((".properties", ".strings", ".dtd"), _STRINGS.format("prop2po")),
    ".resx": _STRINGS.format("resx2po"),
    **dict.fromkeys((".ass", ".ssa", ".sub"), "has subtitles in another format; convert it to .srt, with ffmpeg, say"),
}


def to_convert(name: str) -> str | None:
    """What a file of this name is, and what to do, if no reader knows its format."""
    return _TO_CONVERT.get(_uncompressed(name).suffix.lower())


def by_name(name: str) -> type[Reader]:
    """The reader for a file or URL of this name: by its suffix, else Lines. Raises UserError as ``to_convert``."""
    if advice := to_convert(name):
        raise UserError(f"{name}: {advice}")
    suffix = _uncompressed(name).suffix
    return next((reader for reader in READERS.values() if suffix in reader.suffixes), Lines)


def _uncompressed(name: str) -> PurePosixPath:
    path = PurePosixPath(urlsplit(name).path if "://" in name else name)
    while path.suffix in COMPRESSED:
        path = path.with_suffix("")
    return path
