"""A pair is one record: zstd-compressed TSV, ``source<TAB>target``; monolingual text has one column.

UTF-8, NFC, no tab or line break inside a sentence. The two sides of a pair never travel in two files
between stages, so they cannot be shifted against each other.
"""

import hashlib
import io
import os
import unicodedata
from collections.abc import Iterable, Iterator

import zstandard

from formats.errors import UserError
from formats.files import whole

Record = tuple[str, ...]

# Everything str.splitlines() or a TSV reader would break a record at.
_BREAKS = dict.fromkeys(map(ord, "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")


def sentence(text: str) -> str:
    """The text as a record holds it: NFC, breaks turned into spaces, no space at the ends."""
    return unicodedata.normalize("NFC", text).translate(_BREAKS).strip()


def read(path: str | os.PathLike) -> Iterator[Record]:
    """Stream the records of a file. Raises UserError for a truncated or broken file."""
    columns = None
    try:
        with (
            open(path, "rb") as raw,
            zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as stream,
        ):
            for number, line in enumerate(io.TextIOWrapper(stream, encoding="utf-8", newline="\n"), 1):
                if not line.endswith("\n"):
                    raise UserError(f"{path}: line {number} is cut off; delete the file and run again")
                record = tuple(line[:-1].split("\t"))
                columns = columns or len(record)
                if len(record) != columns:
                    raise UserError(f"{path}: line {number} has {len(record)} columns, the lines before it {columns}")
                yield record
    except (zstandard.ZstdError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path}: not a complete zstd-compressed UTF-8 file ({error}); delete it and run again"
        ) from error


def write(path: str | os.PathLike, records: Iterable[Record]) -> tuple[int, str]:
    """Write records; the file appears whole or not at all, and equal records give equal bytes.

    Returns the number of records and the sha256 of the uncompressed text.
    """
    count, digest = 0, hashlib.sha256()
    with whole(path) as part:
        with open(part, "wb") as raw, zstandard.ZstdCompressor(level=3).stream_writer(raw) as stream:
            for record in records:
                line = ("\t".join(record) + "\n").encode()
                digest.update(line)
                stream.write(line)
                count += 1
    return count, digest.hexdigest()
