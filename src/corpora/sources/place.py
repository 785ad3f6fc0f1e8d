"""Places of single files, and copies of a corpus, which are several of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import ClassVar, Self

from common import folder_lock
from corpora.archives import Part, is_archive
from corpora.download import Unreachable
from corpora.readers.reader import Reader

Parts = dict[str | None, list[Part]]
# The parts of each language's text, of None if all are in one file; of ``score_file`` those of scores beside it.
Texts = dict[str | None, list["Place"]]


def score_file(name: str) -> str:
    """The key of the file with the scores of a name."""
    return f"the score {name}"


@dataclass(frozen=True)
class Place(ABC):
    """address: of the file, as its kind defines it. member: the file meant in an archive."""

    address: str
    member: str | None = None

    remote: ClassVar[bool] = True  # may have to be downloaded
    label: ClassVar[str] = ""  # in front of a shown address

    def __str__(self) -> str:
        address = f"{self.label}{self.address}"
        return f"{address}: {self.member}" if self.member else address

    @property
    def name(self) -> str:
        """The name of the file in a mirror."""
        return PurePosixPath(self.address).name

    @property
    def archive(self) -> Self:
        """The same place without its member."""
        return replace(self, member=None)

    @abstractmethod
    def path(self, cache: Path) -> Path | None:
        """Where the file is or will be on this machine; None if unknown before the download."""

    @abstractmethod
    def download(self, cache: Path) -> None:
        """Put the file at path(). Raises Unreachable."""

    @abstractmethod
    def reach(self) -> None:
        """Check that the file can be downloaded. Raises Unreachable, or NoAnswer if that is unknown."""

    def here(self, cache: Path) -> Part | None:
        """The file if it is on this machine."""
        path = self.path(cache)
        if path is None or not path.is_file():
            return None
        return Part(path, self.member if self.member and is_archive(path) else None)


def locked(path: Path) -> AbstractContextManager[object]:
    """Make jobs that download the same file wait for each other."""
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
    """A reader, and the places of all files of a corpus."""

    reader: Reader
    texts: Texts

    @property
    def places(self) -> list[Place]:
        return [place for parts in self.texts.values() for place in parts]

    @property
    def remote(self) -> bool:
        return any(place.remote for place in self.places)

    def present(self, cache: Path) -> Parts | None:
        """The parts of each text if all are on this machine."""
        here = {code: [place.here(cache) for place in places] for code, places in self.texts.items()}
        parts = {code: [part for part in of_text if part] for code, of_text in here.items()}
        return parts if parts == here else None

    def obtained(self, cache: Path) -> Parts:
        """The parts of each text, downloaded if necessary. Raises Unreachable."""
        for place in {place.archive: place for place in self.places}.values():
            if place.here(cache) is None:
                place.download(cache)
        parts = self.present(cache)
        if parts is None:
            missing = [place for place in self.places if place.here(cache) is None]
            raise Unreachable(" and ".join(f"no {place}" for place in missing))
        return parts


def in_cache(parts: Iterable[Part], cache: Path) -> list[Path]:
    """The downloaded files, which may be deleted if they are wrong."""
    return [part.path for part in parts if part.path.is_relative_to(cache.expanduser())]
