"""Where the files of a corpus are: places of single files, and copies of the whole, which are several of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import ClassVar, Self

from common import folder_lock
from corpora.archives import Part, is_archive
from corpora.download import Unreachable
from corpora.readers import Reader

Parts = dict[str | None, list[Part]]


@dataclass(frozen=True)
class Place(ABC):
    """``address`` says where the file is, in the terms of its kind; ``member`` the file meant if it is an archive."""

    address: str
    member: str | None = None

    remote: ClassVar[bool] = True  # whether the file may have to be downloaded
    label: ClassVar[str] = ""  # in front of the address wherever it is shown

    def __str__(self) -> str:
        address = f"{self.label}{self.address}"
        return f"{address}: {self.member}" if self.member else address

    @property
    def name(self) -> str:
        """The name of the file, by which a mirror may have it."""
        return PurePosixPath(self.address).name

    @property
    def archive(self) -> Self:
        """The same place without its member."""
        return replace(self, member=None)

    @abstractmethod
    def path(self, cache: Path) -> Path | None:
        """Where on this machine the file is, or will be once it is downloaded; None if not known before."""

    @abstractmethod
    def download(self, cache: Path) -> None:
        """Put the file where path() says. Raises Unreachable."""

    @abstractmethod
    def reach(self) -> None:
        """Ask whether the file can be had, without downloading it. Raises Unreachable, or NoAnswer if that is open."""

    def here(self, cache: Path) -> Part | None:
        """The file on this machine, None if it is not there."""
        path = self.path(cache)
        if path is None or not path.is_file():
            return None
        return Part(path, self.member if self.member and is_archive(path) else None)


def locked(path: Path) -> AbstractContextManager[object]:
    """Make jobs that want the same file wait for each other."""
    return folder_lock.lock(path.with_name(f".{path.name}.lock"))


class LocalFile(Place):
    remote = False

    def path(self, cache: Path) -> Path:
        return Path(self.address).expanduser()

    def download(self, cache: Path) -> None:
        raise Unreachable(f"no file {self.address}")

    def reach(self) -> None:
        raise Unreachable(f"no {self.address}")


@dataclass(frozen=True)
class Copy:
    """``texts`` has the places of the parts of each text, one after the other, by language; the only text of a format
    with all languages in one file is that of None.
    """

    reader: Reader
    texts: dict[str | None, list[Place]]

    @property
    def places(self) -> list[Place]:
        return [place for parts in self.texts.values() for place in parts]

    @property
    def remote(self) -> bool:
        return any(place.remote for place in self.places)

    def present(self, cache: Path) -> Parts | None:
        """The parts of each text if all of them are on this machine."""
        texts = {code: [place.here(cache) for place in places] for code, places in self.texts.items()}
        return None if any(part is None for parts in texts.values() for part in parts) else texts

    def obtained(self, cache: Path) -> Parts:
        """The parts of each text; those that are not on this machine are downloaded. Raises Unreachable."""
        for place in {place.archive: place for place in self.places}.values():
            if place.here(cache) is None:
                place.download(cache)
        parts = self.present(cache)
        if parts is None:
            missing = [place for place in self.places if place.here(cache) is None]
            raise Unreachable(" and ".join(f"no {place}" for place in missing))
        return parts


def in_cache(parts: Iterable[Part], cache: Path) -> list[Path]:
    """The files that we downloaded, and may delete if they are wrong."""
    return [part.path for part in parts if part.path.is_relative_to(cache.expanduser())]
