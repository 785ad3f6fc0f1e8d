"""Stored sources whose addresses are in the configuration, with {lang} in place of the language code."""

from abc import abstractmethod
from collections.abc import Iterator

from corpora.readers import READERS, Reader, by_name
from corpora.readers.reader import Selection
from corpora.sources.copy import Copy
from corpora.sources.place import Place
from corpora.sources.stored import StoredSource


class AddressedSource(StoredSource):
    @abstractmethod
    def alternatives(self, code: str | None) -> list[list[Place]]:
        """The alternative places of one text, each a list of its parts; ``code`` stands in place of {lang}."""

    @property
    def reader(self) -> type[Reader]:
        """The configured format, else that of the file's name."""
        if self.entry["format"]:
            return READERS[self.entry["format"]]
        return by_name(self.member or self.alternatives(None)[0][0].address)

    @property
    def selection(self) -> Selection:
        """What of the files belongs to the corpus."""
        columns, names = self.entry["columns"] or {}, self.entry["names"] or {}
        source, target = (names.get(code, code) for code in self.pair)
        return Selection(
            languages=self.languages,
            columns=[columns.get(code, number) for number, code in enumerate(self.languages)],
            query=self.entry["query"],
            parameters={"source": source, "target": target},
        )

    def originals(self) -> Iterator[Copy]:
        codes = [None] if self.reader.one_file else self.languages
        only = self.languages[0] if len(self.languages) == 1 else None  # {lang} of monolingual text, in any format
        texts = {code: self.alternatives(code or only) for code in codes}
        for places in zip(*texts.values(), strict=True):
            yield Copy(self.reader(self.selection), dict(zip(texts, places, strict=True)))
