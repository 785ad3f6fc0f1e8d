"""A file on this machine: the place of the source `file`, and of whatever is in the mirror folder."""

from pathlib import Path

from corpora.download import Unreachable
from corpora.sources.place import Place


class LocalFile(Place):
    remote = False

    def path(self, cache: Path) -> Path:
        return Path(self.address).expanduser()

    def download(self, cache: Path) -> None:
        raise Unreachable(f"no file {self.address}")

    def reach(self) -> None:
        raise Unreachable(f"no {self.address}")
