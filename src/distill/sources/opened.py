"""Files as plain bytes, whatever they are packed in; what is cut off or damaged is never taken for whole.

The first bytes of a file decide, not its name: mirrors rename files.
"""

import bz2
import fnmatch
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import zstandard

from formats.errors import UserError

CHUNK_BYTES = 1 << 18
FRAME_BYTES = 1 << 11  # of zstd that are decompressed at a time: they may be a thousand times as much
MEMBERS_SHOWN = 20
GZIP, XZ, BZIP2, ZSTD, ZIP = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
ZSTD_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte 0x50 to 0x5f
TAR_MAGIC, TAR_MAGIC_AT = b"ustar", 257
DAMAGED = (
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
    gzip.BadGzipFile,
    zipfile.BadZipFile,
    tarfile.TarError,
)


class Part(NamedTuple):
    """A file, or one file inside an archive."""

    path: Path
    member: str | None = None

    def __str__(self) -> str:
        return f"{self.path}: {self.member}" if self.member else str(self.path)


class Unreadable(UserError):  # noqa: N818 (a kind of UserError)
    """A file that ends too soon or contradicts itself, or an archive without the member."""


class _Frames(io.RawIOBase):
    """A zstd stream of any number of frames. zstandard's own reader takes a frame that is cut off for a whole one."""

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
            self._frame = self._frame or zstandard.ZstdDecompressor().decompressobj()
            self._ready = memoryview(self._frame.decompress(self._input))
            self._input = b""
            if self._frame.eof:
                self._input, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


@contextmanager
def opened(part: Part) -> Iterator[BinaryIO]:
    """The uncompressed bytes of a part. Raises Unreadable for an archive without, or with another, member."""
    with ExitStack() as stack:
        raw = stack.enter_context(open(part.path, "rb"))
        if raw.peek(4)[:4] == ZIP:
            yield _inner(_zip_member(raw, part, stack), stack)
            return
        stream = _inner(raw, stack)
        if stream.peek(TAR_MAGIC_AT + 8)[TAR_MAGIC_AT:].startswith(TAR_MAGIC):
            stream = _inner(_tar_member(stream, part, stack), stack)
        yield stream


def chunks(part: Part) -> Iterator[bytes]:
    """The same in pieces of CHUNK_BYTES, only the last one shorter. Raises Unreadable."""
    try:
        with opened(part) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk
    except (*DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's; bz2 and gzip have theirs without one
            raise
        raise Unreadable(f"{part.path}: truncated or damaged file ({error}); delete it and run again") from error


def is_archive(path: Path) -> bool:
    """Whether a file is a zip or a tar archive, compressed or not."""
    try:
        with ExitStack() as stack:
            raw = stack.enter_context(open(path, "rb"))
            if raw.peek(4)[:4] == ZIP:
                return True
            head = _inner(raw, stack).peek(TAR_MAGIC_AT + 8)
            return head[TAR_MAGIC_AT:].startswith(TAR_MAGIC)
    except DAMAGED:
        return False


def _inner(raw: BinaryIO, stack: ExitStack) -> io.BufferedReader:
    head = raw.peek(6)[:6]
    if head.startswith(GZIP):
        stream = gzip.GzipFile(fileobj=raw)
    elif head.startswith(XZ):
        stream = lzma.LZMAFile(raw)  # noqa: SIM115 (closed by the stack)
    elif head.startswith(BZIP2) and head[3:4].isdigit():
        stream = bz2.BZ2File(raw)
    elif head.startswith(ZSTD) or head[1:4] == ZSTD_SKIPPABLE:
        stream = _Frames(raw)
    else:
        return raw
    return stack.enter_context(io.BufferedReader(stream, CHUNK_BYTES))


def _zip_member(raw: BinaryIO, part: Part, stack: ExitStack) -> io.BufferedReader:
    archive = stack.enter_context(zipfile.ZipFile(raw))
    name = _chosen(part, [info.filename for info in archive.infolist() if not info.is_dir()])
    return stack.enter_context(io.BufferedReader(archive.open(name), CHUNK_BYTES))


def _tar_member(stream: BinaryIO, part: Part, stack: ExitStack) -> io.BufferedReader:
    """The member is looked for from front to back, as the archive comes out of its compression."""
    archive = stack.enter_context(tarfile.open(fileobj=stream, mode="r|"))  # noqa: SIM115
    seen = []
    for info in archive:
        if info.isfile():
            seen.append(info.name.removeprefix("./"))
            if part.member and _matches(seen[-1], part.member):
                return stack.enter_context(io.BufferedReader(archive.extractfile(info), CHUNK_BYTES))
    raise _no_member(part, seen)


def _matches(name: str, member: str) -> bool:
    return name == member or fnmatch.fnmatchcase(name, member)


def _chosen(part: Part, names: list[str]) -> str:
    found = [name for name in names if part.member and _matches(name, part.member)]
    if not found:
        raise _no_member(part, names)
    if len(found) > 1 and part.member not in found:
        raise Unreadable(f"{part.path}: several members are {part.member}: {', '.join(found[:MEMBERS_SHOWN])}")
    return part.member if part.member in found else found[0]


def _no_member(part: Part, names: Iterable[str]) -> Unreadable:
    names = sorted(names)
    more = f" and {len(names) - MEMBERS_SHOWN:,} more" if len(names) > MEMBERS_SHOWN else ""
    there = f"it has {', '.join(names[:MEMBERS_SHOWN])}{more}" if names else "it is empty"
    if part.member is None:
        return Unreadable(f"{part.path}: is an archive; say which file of it is meant (member): {there}")
    return Unreadable(f"{part.path}: has no member {part.member}; {there}")
