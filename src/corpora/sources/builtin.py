"""Source `builtin`: sentences made by corpora.grammar, without files or a network."""

from collections.abc import Iterator
from pathlib import Path

from corpora import settings
from corpora.readers.reader import Block, Input, Unread, rows
from corpora.settings import SIDES
from corpora.sources.source import Source, Text, sides

# The grammar is imported where it is used; only built-in studies need it.


class GeneratedText(Text):
    def __init__(self, source: "Builtin", seed: int):
        super().__init__()
        self._source, self._seed = source, seed

    def blocks(self) -> Iterator[Block]:
        from corpora.grammar import generate

        source, columns = self._source, [SIDES.index(side) for side in sides(self._source.entry)]
        asked = (source.pair[-1], source.split, source.address.sentences, self._seed)
        sentences = generate(*asked, translated=1 in columns)
        chosen = (tuple(record[column] for column in columns) for record in sentences)
        return rows(chosen, Input(source.name, Unread()), len(columns))


class Builtin(Source[settings.Builtin]):
    key = "builtin"
    text_key = ".builtin.split"

    @property
    def split(self) -> str:
        return self.address.split

    @property
    def identity(self) -> str:
        return self._identity(self.split)

    def problems(self) -> Iterator[str]:
        from corpora.grammar import LANGUAGES, SPLITS

        source, target = self.pair
        if source != "en":
            yield f"builtin: the grammar is from English, not from {source}"
        if target not in LANGUAGES:
            yield f"builtin: the grammar has no {target}, only {', '.join(LANGUAGES)}"
        if self.split not in SPLITS:
            yield f"builtin.split: there is no {self.split}, only {', '.join(SPLITS)}"

    def origins(self) -> list[str]:
        return [f"built-in grammar, {self.split}"]

    def text(self, mirror: Path | None, cache: Path, seed: int) -> GeneratedText:
        return GeneratedText(self, seed)
