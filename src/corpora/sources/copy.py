"""One way to have a corpus: which files make it up, and whether they are on this machine."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from corpora.archives import Part
from corpora.download import Unreachable
from corpora.readers import Reader
from corpora.sources.place import Place

Parts = dict[str | None, list[Part]]


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
