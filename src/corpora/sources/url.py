"""Source `url`: alternative addresses on the web, each of which may be in several parts."""

import hashlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from corpora import download
from corpora.sources.addressed import AddressedSource
from corpora.sources.mirror import in_language
from corpora.sources.place import Place, locked


class WebFile(Place):
    """A URL, downloaded into a folder of the cache that is named by the hash of the URL."""

    @property
    def name(self) -> str:
        return PurePosixPath(urlsplit(self.address).path).name

    def path(self, cache: Path) -> Path:
        return cache.expanduser() / hashlib.sha256(self.address.encode()).hexdigest() / (self.name or "text")

    def download(self, cache: Path) -> None:
        path = self.path(cache)
        with locked(path):
            if self.here(cache) is None:  # otherwise another job was quicker
                download.download(self.address, path)

    def reach(self) -> None:
        download.reach(self.address)


class Url(AddressedSource):
    key = "url"

    def alternatives(self, code: str | None) -> list[list[Place]]:
        member = in_language(self.member, code)
        return [[WebFile(in_language(url, code), member) for url in parts] for parts in self._urls()]

    def addresses(self) -> Iterator[tuple[str, str]]:
        for number, parts in enumerate(self._urls()):
            yield from ((f"url.{number}", url) for url in parts)

    def _urls(self) -> list[list[str]]:
        """The alternatives, each a list of parts."""
        return [[url] if isinstance(url, str) else url for url in self.entry["url"]]
