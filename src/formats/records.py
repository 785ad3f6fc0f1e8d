"""Records: zstd-compressed TSV with one pair a line, ``source<TAB>target``; monolingual text has one column.

The text is UTF-8 in NFC, without tabs or line breaks inside a sentence. Both sides of a pair stay in one file, so they
cannot get misaligned.

A file consists of many small zstd frames of whole lines, with a table of frames at the end (zstd's seekable format,
which any zstd program decompresses). Shard k of n is a range of frames, so work is divided without splitting files.
"""

import hashlib
import io
import itertools
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import zstandard
from numpy.typing import NDArray

from nmt_frontier.errors import UserError
from nmt_frontier.files import StrPath, atomic_path
from nmt_frontier.sentence import sentence as sentence  # of a column

Record = tuple[str, ...]
Shard = tuple[int, int]  # k of n, k from 1

SUFFIX = ".tsv.zst"
FRAME_BYTES = 1 << 16  # of text: some hundred records, so that a small corpus can be divided, too
BLOCK_RECORDS = 10_000
LEVEL = 3

# https://github.com/facebook/zstd/blob/dev/contrib/seekable_format/zstd_seekable_compression_format.md
_TABLE = struct.Struct("<II")  # magic number of a skippable frame, its size
_ENTRY = np.dtype([("compressed", "<u4"), ("text", "<u4")])
_FOOTER = struct.Struct("<IBI")  # number of frames, flags, magic number
_TABLE_MAGIC, _FOOTER_MAGIC = 0x184D2A5E, 0x8F92EAB1


def name(path: StrPath) -> str:
    """The name of the corpus in a file."""
    return Path(path).name.removesuffix(SUFFIX)


def info(path: StrPath) -> Path:
    """The JSON beside a corpus: X.json for X.tsv.zst."""
    return Path(path).with_name(f"{name(path)}.json")


def line(record: Record) -> bytes:
    """The record as a line of the uncompressed file."""
    return ("\t".join(record) + "\n").encode()


def shard(text: str) -> Shard:
    """Parse ``K/N`` of a command line. Raises UserError."""
    k, _, n = text.partition("/")
    if not (k.isdecimal() and n.isdecimal() and 1 <= int(k) <= int(n)):
        raise UserError(f"--shard {text}: not K/N with K from 1 to N")
    return int(k), int(n)


def write(path: StrPath, records: Iterable[Record]) -> tuple[int, str]:
    """Write records atomically; equal records give equal bytes. Returns their number and the sha256 of the text."""
    stream = iter(records)
    blocks = iter(lambda: b"".join(map(line, islice(stream, BLOCK_RECORDS))), b"")
    return write_blocks(path, blocks)


def write_blocks(path: StrPath, blocks: Iterable[bytes]) -> tuple[int, str]:
    """As ``write``, for blocks of whole lines of TSV."""
    with writer(path) as output:
        for block in blocks:
            output.write(block)
    return output.count, output.sha256


@contextmanager
def writer(path: StrPath) -> Iterator["Writer"]:
    """A Writer of records; the file appears when the block ends without an error."""
    with atomic_path(path) as part, open(part, "wb") as raw:
        output = Writer(raw)
        yield output
        output.finish()


class Writer:
    """Compresses lines of TSV; ``count`` and ``sha256`` are complete after ``finish``."""

    def __init__(self, raw: io.BufferedWriter):
        self.count = 0
        self._raw = raw
        self._rest = b""
        self._digest = hashlib.sha256()
        self._entries: list[tuple[int, int]] = []
        self._compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def write(self, block: bytes) -> None:
        """Add whole lines. A frame ends at the first line end after FRAME_BYTES, independently of the blocks."""
        text, start = self._rest + block, 0
        while len(text) - start >= FRAME_BYTES and (end := text.find(b"\n", start + FRAME_BYTES - 1) + 1):
            self._frame(text[start:end])
            start = end
        self._rest = text[start:]

    def finish(self) -> None:
        if self._rest:
            self._frame(self._rest)
        table = np.array(self._entries, _ENTRY).tobytes()
        self._raw.write(_TABLE.pack(_TABLE_MAGIC, len(table) + _FOOTER.size))
        self._raw.write(table + _FOOTER.pack(len(self._entries), 0, _FOOTER_MAGIC))

    def _frame(self, text: bytes) -> None:
        self.count += text.count(b"\n")
        self._digest.update(text)
        data = self._compressor.compress(text)
        self._raw.write(data)
        self._entries.append((len(data), len(text)))


def read(path: StrPath, shard: Shard | None = None) -> Iterator[Record]:
    """Stream the records of a file, or of one shard. Raises UserError for a truncated or broken file."""
    columns, number = None, 0
    for text in frames(path, shard):
        for row in text.decode().split("\n")[:-1]:
            record = tuple(row.split("\t"))
            number += 1
            columns = columns or len(record)
            if len(record) != columns:
                raise ragged(path, number)
            yield record


def count(path: StrPath, shard: Shard | None = None) -> int:
    """The number of records of a file, or of one shard of it."""
    return sum(text.count(b"\n") for text in frames(path, shard))


def frames(path: StrPath, shard: Shard | None = None) -> Iterator[bytes]:
    """The uncompressed text in pieces of whole lines. Raises UserError for a truncated or broken file."""
    decompressor = zstandard.ZstdDecompressor()
    with open(path, "rb") as raw:
        try:
            entries = _table(raw)
            first, last = _range(entries["text"].astype(np.int64), shard)
            raw.seek(int(entries["compressed"][:first].sum(dtype=np.int64)))
            for compressed, size in entries[first:last].tolist():
                text = decompressor.decompress(raw.read(compressed), max_output_size=size)
                if len(text) != size or not text.endswith(b"\n"):
                    raise EOFError("a frame is not as long as in its table")
                yield text
        except (zstandard.ZstdError, EOFError) as error:
            raise UserError(
                f"{path}: not a whole file of records, cut off or damaged ({error}); delete it, run again"
            ) from None


def _table(raw: io.BufferedReader) -> NDArray[np.void]:
    size = raw.seek(0, os.SEEK_END)
    raw.seek(max(size - _FOOTER.size, 0))
    footer = raw.read()
    if len(footer) < _FOOTER.size or (fields := _FOOTER.unpack(footer))[2] != _FOOTER_MAGIC:
        raise EOFError("no table of frames at its end")
    table_bytes = fields[0] * _ENTRY.itemsize
    start = size - _FOOTER.size - table_bytes
    raw.seek(max(start, 0))
    entries = np.frombuffer(raw.read(table_bytes), _ENTRY)
    if start - _TABLE.size != entries["compressed"].sum(dtype=np.int64):
        raise EOFError("its table of frames is for another size")
    return entries


def _range(sizes: NDArray[np.int64], shard: Shard | None) -> tuple[int, int]:
    """The range of frames of a shard: frames that begin in its part of the text."""
    if shard is None or not len(sizes):
        return 0, len(sizes)
    k, n = shard
    begins, total = np.cumsum(sizes) - sizes, int(sizes.sum())
    first, last = np.searchsorted(begins, [-(-total * (k - 1) // n), -(-total * k // n)])
    return int(first), int(last)


def ragged(path: StrPath, number: int) -> UserError:
    """The error for a record with another number of columns than the first one."""
    return UserError(f"{path}: record {number} does not have as many columns as those before it; delete it, run again")


def read_pairs(path: Path) -> list[tuple[str, ...]]:
    """All records of a test set. Raises UserError for an empty one."""
    if not (lines := list(read(path))):
        raise UserError(f"{path}: a test set without sentences")
    return lines


def pairs(path: Path) -> list[tuple[str, str]]:
    """Sources and references of a test set. Raises UserError for an empty one or one without references."""
    lines = read_pairs(path)
    if len(lines[0]) < 2:
        raise UserError(f"{path}: a test set without references, a second column; there is nothing to score with")
    return [(record[0], record[1]) for record in lines]


def sources(path: Path) -> list[str]:
    """The source side of a test set. Raises UserError for an empty one."""
    return [record[0] for record in read_pairs(path)]


def references(path: Path, sentences: int) -> list[str]:
    """The references of the first sentences of a test set; empty if it has no references."""
    return [record[1] for record in itertools.islice(read(path), sentences) if len(record) > 1]


def read_output(path: Path, sentences: int) -> list[str]:
    """The lines of a translation. Raises UserError where their number is not that of the test set."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    if len(lines) != sentences:
        raise UserError(f"{path}: {len(lines)} lines, but its test set has {sentences}; decode it again")
    return lines
