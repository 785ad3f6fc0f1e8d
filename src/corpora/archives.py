"""Files as plain bytes, whatever they are packed in; what is cut off or damaged never passes for the whole."""

import fnmatch
import io
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from common.errors import UserError
from corpora import compression
from corpora.compression import CHUNK_BYTES, decompressed

MEMBERS_SHOWN = 20
ZIP = b"PK\x03\x04"
TAR_MAGIC, TAR_MAGIC_AT = b"ustar", 257
DAMAGED = (*compression.DAMAGED, zipfile.BadZipFile, tarfile.TarError)
LOCKED = (NotImplementedError, RuntimeError)  # zipfile's errors for a compression it lacks, and for a password


class Part(NamedTuple):
    """A file, or one file inside an archive."""

    path: Path
    member: str | None = None

    def __str__(self) -> str:
        return f"{self.path}: {self.member}" if self.member else str(self.path)


class Unreadable(UserError):  # noqa: N818 (a kind of UserError)
    """A file that ends too soon or contradicts itself, or an archive without the member."""


@contextmanager
def opened(part: Part) -> Iterator[BinaryIO]:
    """The uncompressed bytes of a part. Raises Unreadable if an archive lacks the member, or none is named."""
    with ExitStack() as stack:
        raw = stack.enter_context(open(part.path, "rb"))
        if _is_zip(raw):
            yield decompressed(_zip_member(raw, part, stack), stack)
            return
        stream = decompressed(raw, stack)
        if _is_tar(stream):
            stream = decompressed(_tar_member(stream, part, stack), stack)
        yield stream


def chunks(part: Part) -> Iterator[bytes]:
    """The same in pieces of CHUNK_BYTES, only the last one shorter. Raises Unreadable."""
    try:
        with opened(part) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk
    except (*DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's; bz2 and gzip raise it without errno
            raise
        raise Unreadable(
            f"{part.path}: truncated or damaged file ({error}); delete a download and run again, get "
            "a whole copy of a file of your own"
        ) from error


def is_archive(path: Path) -> bool:
    """Whether a file is a zip or a tar archive, compressed or not."""
    try:
        with ExitStack() as stack:
            raw = stack.enter_context(open(path, "rb"))
            return _is_zip(raw) or _is_tar(decompressed(raw, stack))
    except (*DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # as in ``chunks``
            raise
        return False


def _is_zip(raw: BinaryIO) -> bool:
    return raw.peek(len(ZIP))[: len(ZIP)] == ZIP


def _is_tar(stream: BinaryIO) -> bool:
    return stream.peek(TAR_MAGIC_AT + len(TAR_MAGIC))[TAR_MAGIC_AT:].startswith(TAR_MAGIC)


def _zip_member(raw: BinaryIO, part: Part, stack: ExitStack) -> io.BufferedReader:
    archive = stack.enter_context(zipfile.ZipFile(raw))
    name = _chosen(part, [info.filename for info in archive.infolist() if not info.is_dir()])
    try:
        return stack.enter_context(io.BufferedReader(archive.open(name), CHUNK_BYTES))
    except LOCKED as error:
        raise Unreadable(f"{part.path}: {error}; pack it again, with deflate and without a password") from error


def _tar_member(stream: BinaryIO, part: Part, stack: ExitStack) -> io.BufferedReader:
    """The first member that matches, in one pass: the archive is a stream that cannot go back."""
    archive = stack.enter_context(tarfile.open(fileobj=stream, mode="r|"))  # noqa: SIM115
    names = []
    for info in archive:
        if info.isfile():
            names.append(info.name.removeprefix("./"))
            if part.member and _matches(names[-1], part.member):
                return stack.enter_context(io.BufferedReader(archive.extractfile(info), CHUNK_BYTES))
    raise _no_member(part, names)


def _matches(name: str, member: str) -> bool:
    return name == member or fnmatch.fnmatchcase(name, member)


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
