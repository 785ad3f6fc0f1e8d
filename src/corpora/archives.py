"""Compressed and packed files as plain bytes; a truncated or damaged file is an error."""

import bz2
import fnmatch
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import zstandard

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.first_bytes import ZIP

if TYPE_CHECKING:
    from typing_extensions import Buffer

CHUNK_BYTES = 1 << 18
FRAME_BYTES = 1 << 11  # of zstd read at a time; decompressed, they may be a thousand times as many
LONGEST_WINDOW = 1 << 31  # bytes; of zstd --long=31
HEAD_BYTES = 6  # distinguish all kinds of compression

GZIP, XZ, BZIP2, ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh", b"\x28\xb5\x2f\xfd"
ZSTD_SKIPPABLE = b"\x2a\x4d\x18"  # after a first byte 0x50 to 0x5f

MEMBERS_SHOWN = 20
TAR_MAGIC, TAR_MAGIC_AT = b"ustar", 257
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, zipfile.BadZipFile, tarfile.TarError, OSError)
LOCKED = (NotImplementedError, RuntimeError)  # of zipfile: unknown compression, password


class _ZstdFrames(io.RawIOBase):
    """A zstd stream of any number of frames. Raises EOFError inside a frame, where zstandard's reader just ends."""

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw = raw
        self._ready = memoryview(b"")
        self._input = b""
        self._frame: zstandard.ZstdDecompressionObj | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "Buffer") -> int:
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
        view = memoryview(buffer)
        size = min(len(view), len(self._ready))
        view[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


# Kinds of compression: what recognises the first bytes of a file, and what decompresses it.
_KINDS: list[tuple[Callable[[bytes], bool], Callable[[io.BufferedReader], io.BufferedIOBase | io.RawIOBase]]] = [
    (lambda head: head.startswith(GZIP), lambda raw: gzip.GzipFile(fileobj=raw)),
    (lambda head: head.startswith(XZ), lzma.LZMAFile),
    (lambda head: head.startswith(BZIP2) and head[3:4].isdigit(), bz2.BZ2File),
    (lambda head: head.startswith(ZSTD) or head[1:4] == ZSTD_SKIPPABLE, _ZstdFrames),
]


def decompressed(raw: io.BufferedReader, stack: ExitStack) -> io.BufferedReader:
    """The uncompressed bytes, closed with ``stack``; ``raw`` itself if it is not compressed."""
    head = raw.peek(HEAD_BYTES)[:HEAD_BYTES]
    for recognised, opener in _KINDS:
        if recognised(head):
            return stack.enter_context(io.BufferedReader(opener(raw), CHUNK_BYTES))
    return raw


class Part(NamedTuple):
    """A file, or one file inside an archive."""

    path: Path
    member: str | None = None

    def __str__(self) -> str:
        return f"{self.path}: {self.member}" if self.member else str(self.path)


class Unreadable(UserError):  # noqa: N818 (a kind of UserError)
    """A truncated or damaged file, or an archive without the member."""


@contextmanager
def opened(part: Part) -> Iterator[io.BufferedReader]:
    """The uncompressed bytes of a part. Raises Unreadable for an archive without the member, and as ``_check``."""
    with ExitStack() as stack:
        raw = stack.enter_context(open(part.path, "rb"))
        if _is_zip(raw):
            _check(part.path, raw)
            stream = decompressed(_zip_member(raw, part, stack), stack)
        elif _is_tar(stream := decompressed(raw, stack)):
            stream = decompressed(_tar_member(stream, part, stack), stack)
        _check(part, stream)
        yield stream


def chunks(part: Part) -> Iterator[bytes]:
    """The uncompressed bytes of a part in chunks of CHUNK_BYTES. Raises Unreadable."""
    try:
        with opened(part) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk
    except DAMAGED as error:
        if _of_system(error):
            raise
        remedy = "delete a download and run again, get a whole copy of a file of your own"
        raise Unreadable(f"{part.path}: truncated or damaged file ({error}); {remedy}") from error


def is_archive(path: Path) -> bool:
    """Whether a file is a zip or a tar archive, compressed or not."""
    try:
        with ExitStack() as stack:
            raw = stack.enter_context(open(path, "rb"))
            return _is_zip(raw) or _is_tar(decompressed(raw, stack))
    except DAMAGED as error:
        if _of_system(error):
            raise
        return False


def _of_system(error: Exception) -> bool:
    """Whether the system raised the error; bz2 and gzip raise OSError without errno."""
    return isinstance(error, OSError) and error.errno is not None


def _check(name: Path | Part, stream: io.BufferedReader) -> None:
    """Raises Unreadable as first_bytes.check."""
    try:
        first_bytes.check(name, stream.peek(first_bytes.HEAD_BYTES)[: first_bytes.HEAD_BYTES])
    except UserError as error:
        raise Unreadable(str(error)) from None


def _is_zip(raw: io.BufferedReader) -> bool:
    return raw.peek(len(ZIP))[: len(ZIP)] == ZIP


def _is_tar(stream: io.BufferedReader) -> bool:
    return stream.peek(TAR_MAGIC_AT + len(TAR_MAGIC))[TAR_MAGIC_AT:].startswith(TAR_MAGIC)


def _zip_member(raw: io.BufferedReader, part: Part, stack: ExitStack) -> io.BufferedReader:
    archive = stack.enter_context(zipfile.ZipFile(raw))
    name = _chosen(part, [info.filename for info in archive.infolist() if not info.is_dir()])
    try:
        return stack.enter_context(io.BufferedReader(cast(io.BufferedIOBase, archive.open(name)), CHUNK_BYTES))
    except LOCKED as error:
        raise Unreadable(f"{part.path}: {error}; pack it again, with deflate and without a password") from error


def _tar_member(stream: io.BufferedReader, part: Part, stack: ExitStack) -> io.BufferedReader:
    """The first member that matches, found in one pass: a stream cannot go back."""
    archive = stack.enter_context(tarfile.open(fileobj=stream, mode="r|"))  # noqa: SIM115
    names = []
    for info in archive:
        if info.isfile():
            names.append(_plain(info.name))
            if part.member and _matches(names[-1], part.member):
                file = cast(io.BufferedIOBase, archive.extractfile(info))
                return stack.enter_context(io.BufferedReader(file, CHUNK_BYTES))
    raise _no_member(part, names)


def _matches(name: str, member: str) -> bool:
    name, member = _plain(name), _plain(member)
    return name == member or fnmatch.fnmatchcase(name, member)


def _plain(name: str) -> str:
    """The name of a member with slashes, as most programs write it."""
    return name.replace("\\", "/").removeprefix("./")


def _chosen(part: Part, names: list[str]) -> str:
    matches = [name for name in names if part.member and _matches(name, part.member)]
    if not matches:
        raise _no_member(part, names)
    if len(matches) > 1 and part.member not in matches:
        raise Unreadable(f"{part.path}: several members are {part.member}: {', '.join(matches[:MEMBERS_SHOWN])}")
    return part.member if part.member in matches else matches[0]


def _no_member(part: Part, names: Iterable[str]) -> Unreadable:
    names = sorted(names)
    more = f" and {len(names) - MEMBERS_SHOWN:,} more" if len(names) > MEMBERS_SHOWN else ""
    contents = f"it has {', '.join(names[:MEMBERS_SHOWN])}{more}" if names else "it is empty"
    if part.member is None:
        return Unreadable(f"{part.path}: is an archive; say which file of it is meant (member): {contents}")
    return Unreadable(f"{part.path}: has no member {part.member}; {contents}")
