"""Decompression by the first bytes of a file, not by its name: mirrors rename files."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from typing import BinaryIO

import zstandard

CHUNK_BYTES = 1 << 18
FRAME_BYTES = 1 << 11  # of zstd decompressed at a time: they may become a thousand times as many
LONGEST_WINDOW = 1 << 31  # bytes; of zstd --long=31
HEAD_BYTES = 6  # enough to tell all kinds of compression apart

GZIP, XZ, BZIP2, ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh", b"\x28\xb5\x2f\xfd"
ZSTD_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte 0x50 to 0x5f

DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, gzip.BadGzipFile)


class _ZstdFrames(io.RawIOBase):
    """A zstd stream of any number of frames. Raises EOFError inside a frame; zstandard's own reader just ends there."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._ready = memoryview(b"")
        self._input = b""
        self._frame = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        while not self._ready:
            self._input = self._input or self._raw.read(FRAME_BYTES)
            if not self._input:
                if self._frame is not None:
                    raise EOFError("it ends inside a zstd frame")
                return 0
            self._frame = self._frame or zstandard.ZstdDecompressor(max_window_size=LONGEST_WINDOW).decompressobj()
            self._ready = memoryview(self._frame.decompress(self._input))
            self._input = b""
            if self._frame.eof:
                self._input, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


# How a kind of compression is recognised by the head of a file, and what decompresses it.
_KINDS: list[tuple[Callable[[bytes], bool], Callable[[BinaryIO], io.IOBase]]] = [
    (lambda head: head.startswith(GZIP), lambda raw: gzip.GzipFile(fileobj=raw)),
    (lambda head: head.startswith(XZ), lzma.LZMAFile),
    (lambda head: head.startswith(BZIP2) and head[3:4].isdigit(), bz2.BZ2File),
    (lambda head: head.startswith(ZSTD) or head[1:4] == ZSTD_SKIPPABLE, _ZstdFrames),
]


def decompressed(raw: BinaryIO, stack: ExitStack) -> io.BufferedReader:
    """The uncompressed bytes, closed with ``stack``; ``raw`` itself if it is not compressed."""
    head = raw.peek(HEAD_BYTES)[:HEAD_BYTES]
    for recognised, opener in _KINDS:
        if recognised(head):
            return stack.enter_context(io.BufferedReader(opener(raw), CHUNK_BYTES))
    return raw
