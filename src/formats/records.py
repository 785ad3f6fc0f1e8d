"""A pair is one record: zstd-compressed TSV, ``source<TAB>target``; monolingual text has one column.

UTF-8, NFC, no tab or line break inside a sentence. The two sides of a pair never travel in two files
between stages, so they cannot be shifted against each other.
"""

import hashlib
import os
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from formats.errors import UserError
from formats.files import whole

Record = tuple[str, ...]

SUFFIX = ".tsv.zst"
CHUNK_BYTES = 1 << 17

# Everything str.splitlines() or a TSV reader would break a record at.
_BREAKS = dict.fromkeys(map(ord, "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")


def sentence(text: str) -> str:
    """The text as a record holds it: NFC, breaks turned into spaces, no space at the ends."""
    return unicodedata.normalize("NFC", text).translate(_BREAKS).strip()


def name(path: str | os.PathLike) -> str:
    """The name of a corpus, from its file."""
    return Path(path).name.removesuffix(SUFFIX)


def info(path: str | os.PathLike) -> Path:
    """The JSON beside a corpus: X.json for X.tsv.zst."""
    return Path(path).with_name(f"{name(path)}.json")


def line(record: Record) -> bytes:
    """The record as a line of the uncompressed file; the checksum of a corpus is that of its lines."""
    return ("\t".join(record) + "\n").encode()


def read(path: str | os.PathLike) -> Iterator[Record]:
    """Stream the records of a file. Raises UserError for a truncated or broken file."""
    columns = None
    with open(path, "rb") as raw:
        try:
            for number, text in enumerate(_lines(_decompressed(raw)), 1):
                record = tuple(text.decode().split("\t"))
                columns = columns or len(record)
                if len(record) != columns:
                    raise UserError(f"{path}: line {number} has {len(record)} columns, the lines before it {columns}")
                yield record
        except (zstandard.ZstdError, UnicodeDecodeError, EOFError) as error:
            raise UserError(
                f"{path}: not a whole zstd-compressed UTF-8 text ({error}); delete it, run again"
            ) from error


def write(path: str | os.PathLike, records: Iterable[Record]) -> tuple[int, str]:
    """Write records; the file appears whole or not at all, and equal records give equal bytes.

    Returns the number of records and the sha256 of the uncompressed text.
    """
    count, digest = 0, hashlib.sha256()
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    with whole(path) as part, open(part, "wb") as raw, compressor.stream_writer(raw) as stream:
        for record in records:
            text = line(record)
            digest.update(text)
            stream.write(text)
            count += 1
    return count, digest.hexdigest()


def _decompressed(raw: BinaryIO) -> Iterator[bytes]:
    """The text in chunks. zstandard's own reader takes a file that ends inside a frame for a whole one."""
    decompressor = zstandard.ZstdDecompressor()
    frame = decompressor.decompressobj()
    while data := raw.read(CHUNK_BYTES):
        while data:
            if frame.eof:
                frame = decompressor.decompressobj()
            yield frame.decompress(data)
            data = frame.unused_data
    if not frame.eof:
        raise EOFError("it is cut off")


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines without their ends; a line may be spread over many chunks."""
    pieces: list[bytes] = []
    for chunk in chunks:
        first, *lines = chunk.split(b"\n")
        pieces.append(first)
        for text in lines:
            yield b"".join(pieces)
            pieces = [text]
    if any(pieces):
        raise EOFError("its last line has no end")
