"""A place has one file of a corpus: a folder of this machine, a web server, a package index, sacreBLEU's cache."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import ClassVar, Self

from common import folder_lock
from corpora.archives import Part, is_archive


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
