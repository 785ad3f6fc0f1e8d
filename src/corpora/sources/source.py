"""What every kind of source says about itself; `corpora.sources` has the list of the kinds."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from corpora.readers.reader import Block
from corpora.sources.copy import Copy

Entry = dict[str, Any]  # one corpus of the effective configuration: every key of the schema is there


class Text(ABC):
    """The text of a corpus, ready to be read once. ``checksums`` (sha256 by language) are complete after verify()."""

    def __init__(self) -> None:
        self.checksums: dict[str, str] = {}

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """The sentences, a column for each language. Raises UserError."""

    @abstractmethod
    def verify(self) -> None:
        """Compare with the configured checksums, where there are any. Raises UserError."""


class Source(ABC):
    """One corpus of a study, read from one kind of source.

    ``key`` names the kind in the configuration. ``text_key`` follows the path of the corpus in the error for two
    corpora with the same text. ``pair`` holds the source and the target language of the study, ``languages`` those of
    the corpus.
    """

    key: ClassVar[str]
    text_key: ClassVar[str] = ""

    def __init__(self, name: str, entry: Entry, pair: list[str]):
        self.name, self.entry, self.pair = name, entry, pair
        self.languages = languages(entry, pair)

    @property
    def identity(self) -> str:
        """Equal for corpora that are the same text, whatever is done with it."""
        return self._identity(self.entry[self.key])

    def _identity(self, address: Any) -> str:
        options = (self.entry[option] for option in ("member", "columns", "query", "names"))
        return json.dumps([self.key, address, *options], sort_keys=True)

    @abstractmethod
    def problems(self) -> Iterator[str]:
        """What is wrong with the entry, beyond what the schema can say; each begins with the key."""

    @abstractmethod
    def origins(self) -> list[str]:
        """Where anybody gets the text, not where this machine happened to have it."""

    @abstractmethod
    def copies(self, mirror: Path | None) -> Iterator[Copy]:
        """All copies of the text, those on this machine before those to download. Raises UserError."""

    @abstractmethod
    def present(self, mirror: Path | None, cache: Path) -> bool:
        """Whether the text can be had without a download. Raises UserError."""

    @abstractmethod
    def text(self, mirror: Path | None, cache: Path, seed: int) -> Text:
        """The text, downloaded if need be. Raises UserError."""


def languages(entry: Entry, pair: list[str]) -> list[str]:
    """The languages a corpus is in: monolingual text has the source side only."""
    return pair[:1] if entry["role"] == "monolingual" else pair
