"""Sources whose text is in files: where the copies are, which one is taken, and what to say if there is none."""

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from common.errors import UserError
from corpora.download import Unreachable
from corpora.readers import Reader
from corpora.sources import mirror as mirrors
from corpora.sources.checks import problems
from corpora.sources.copy import Copy, Parts
from corpora.sources.mirror import LANGUAGE, MIRROR
from corpora.sources.source import Source
from corpora.sources.stored_text import StoredText


class StoredSource(Source):
    """``mirrored_by_name``: whether the name of its file says where in the mirror folder a copy may be.

    ``implied`` are the keys of the configuration that the source itself settles.
    """

    mirrored_by_name: ClassVar[bool] = True
    implied: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def reader(self) -> type[Reader] | None:
        """The format as far as the configuration tells it; None leaves it to a catalogue."""

    @abstractmethod
    def originals(self) -> Iterator[Copy]:
        """Where anybody gets the text, one copy for each alternative. Raises UserError."""

    @property
    def member(self) -> str | None:
        """The file meant if the source is an archive."""
        return self.entry["member"]

    def addresses(self) -> Iterator[tuple[str, str]]:
        """The keys of the entry with addresses in which {lang} may stand, and the addresses."""
        yield from ()

    def problems(self) -> Iterator[str]:
        yield from problems(self)

    def origins(self) -> list[str]:
        return [str(place) for place in next(self.originals()).places]

    def copies(self, mirror: Path | None) -> Iterator[Copy]:
        try:
            yield from mirrors.copies(self, mirror)
        except UserError as error:
            raise UserError(f"{self.name}: {error}") from error

    def present(self, mirror: Path | None, cache: Path) -> bool:
        return any(copy.present(cache) is not None for copy in self.copies(mirror))

    def text(self, mirror: Path | None, cache: Path, seed: int) -> StoredText:
        copies, reasons = [], []
        for copy in self.copies(mirror):  # one by one: to ask a catalogue may take seconds
            copies.append(copy)
            if parts := copy.present(cache):
                return self._opened(copy, parts, cache)
        for copy in copies:
            try:
                return self._opened(copy, copy.obtained(cache), cache)
            except Unreachable as error:
                reasons += [str(error)] if copy.remote else []
        raise UserError(self.nowhere(copies, mirror, "; ".join(reasons)))

    def _opened(self, copy: Copy, parts: Parts, cache: Path) -> StoredText:
        self.verify_files(parts, cache)
        return StoredText(self.name, self.entry, copy, parts, cache)

    def verify_files(self, parts: Parts, cache: Path) -> None:
        """Check the packed files, where the configuration has checksums of them. Raises UserError."""

    def nowhere(self, copies: list[Copy], mirror: Path | None, reason: str) -> str:
        """The error for a text of which no copy can be had, with the remedy."""
        code, places = next(iter(copies[0].texts.items()))
        file = (self.entry["mirror"] or places[0].name).replace(LANGUAGE, code or self.languages[0])
        remedy = f"Set {MIRROR} to a folder that has {file}"
        searched = f"no {mirror / file} in the mirror" if mirror else "no mirror"
        if self.entry["mirror"] is None and not self.mirrored_by_name:
            remedy = f"Set {MIRROR} and say where in that folder it is (mirror)"
            searched = "the study does not say where in the mirror it is" if mirror else searched
        offline = "or run configs/offline.yaml, which needs neither"
        return f"{self.name}: {searched}, and no download: {reason}. {remedy}, {offline}"
