"""The interface of sources and their texts; a text as lines of TSV, with the dropped ones counted."""

import gc
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from msgspec.json import encode

from corpora.language_codes import Sides
from corpora.readers.reader import BROKEN, NO_SCORE, NO_SIDE, Block, Unread
from corpora.scores import with_numbers
from corpora.settings import SIDES, TARGET_ONLY, Corpus
from nmt_frontier.errors import UserError

Address = TypeVar("Address")


class Text(ABC):
    """The text of a corpus, to be read once. ``checksums`` (sha256 by language) are complete after verify().

    ``unread`` fills up with what cannot be read, ``sides`` with the codes of languages that the files have.
    """

    def __init__(self) -> None:
        self.checksums: dict[str, str] = {}
        self.unread = Unread()
        self.sides = Sides([])

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """The sentences, a column a language. Raises UserError."""

    def verify(self) -> None:  # noqa: B027 (generated text has no checksums)
        """Compare with the configured checksums, if the text has any. Raises UserError."""


class Source(ABC, Generic[Address]):
    """One corpus of a study. address: what its entry says under the key of this kind of source.

    pair: source and target language of the study; languages: those of the corpus.
    """

    key: ClassVar[str]  # of the kind in the configuration
    text_key: ClassVar[str] = ""  # of what decides the text, below the corpus in the configuration

    def __init__(self, name: str, entry: Corpus, pair: list[str]):
        self.name, self.entry, self.pair = name, entry, pair
        self.address: Address = getattr(entry, self.key)
        self.languages = languages(entry, pair)

    @property
    def identity(self) -> str:
        """Equal for corpora with the same text."""
        return self._identity(self.address)

    def _identity(self, address: Address | str) -> str:
        entry = self.entry
        part = (entry.skip_lines, entry.role == TARGET_ONLY)
        decisive = (self.key, address, entry.member, entry.columns, entry.query, entry.names, entry.variants, *part)
        return encode(decisive, order="sorted").decode()

    @abstractmethod
    def problems(self) -> Iterator[str]:
        """Errors in the entry that the schema cannot find; each begins with the key."""

    @abstractmethod
    def origins(self) -> list[str]:
        """The public origins of the text."""

    @abstractmethod
    def text(self, mirror: Path | None, cache: Path, seed: int) -> Text:
        """The text, downloaded if necessary. Raises UserError."""


def sides(entry: Corpus) -> tuple[str, ...]:
    """The sides that a corpus has: monolingual text has only one of SIDES."""
    return {"monolingual": SIDES[:1], TARGET_ONLY: SIDES[1:]}.get(entry.role, SIDES)


def languages(entry: Corpus, pair: list[str]) -> list[str]:
    """The language of each side of a corpus."""
    return [pair[SIDES.index(side)] for side in sides(entry)]


MOST_LETTERS = 200  # of a list of codes
WHOLE_ROLES = ("dev", "test")  # a score is of all lines, or says so by invalid: drop


class CountedCorpus:
    """A corpus being read. ``dropped`` counts the lines left out, by reason; ``remarks`` say at the end what a person
    should know: that most lines lack a language, or that a language has several variants."""

    def __init__(self, name: str, entry: Corpus):
        self.name = name
        self.dropped: Counter[str] = Counter()
        self.remarks: list[str] = []
        self._expected, self._skipped, self._maximum = entry.lines, entry.skip_lines, entry.max_lines
        share = 0.0 if entry.role in WHOLE_ROLES else entry.invalid_share
        carried = ((name, *score.place().items()) for name, score in entry.carried.items())
        self._scores = [f"{name} ({key} {value})" for name, (key, value), *_ in carried]
        self._allowed = 1.0 if entry.invalid == "drop" else share

    def lines(self, text: Text) -> Iterator[bytes]:
        """Blocks of TSV. Raises UserError for no line, another number than configured, or too many broken ones."""
        read = kept = 0
        for block in text.blocks():
            if self._scores:
                block = with_numbers(block, self._scores, read, text.unread)
            if not read:
                gc.freeze()  # else cells of rows have the collector walk over all that is loaded: a tenth of TSV's time
            first = max(self._skipped - read, 0)  # of the block that is taken
            text.unread.forget(Counter(reason for row, reason in block.dropped.items() if row < first))
            read += len(block.columns[0])
            left = None if self._maximum is None else self._maximum - kept
            rows = [row for row in range(first, len(block.columns[0])) if row not in block.dropped][:left]
            kept += len(rows)
            full = kept == self._maximum  # lines after the last one kept do not count as dropped
            taken = ((row, reason) for row, reason in block.dropped.items() if row >= first)
            self.dropped.update(reason for row, reason in taken if not full or row < rows[-1])
            whole = not (block.dropped or full or first)
            yield _tsv(block.columns if whole else [[column[row] for row in rows] for column in block.columns])
            if full:
                break
        self._require_readable(read - min(self._skipped, read), text.unread)
        has = f"; its languages are {', '.join(filter(None, text.sides))[:MOST_LETTERS]}" if any(text.sides) else ""
        if not kept and self._skipped >= read > 0:
            raise UserError(f"{self.name}: skip_lines leaves out all of its {read:,} lines; take fewer")
        if not kept:
            dropped = f"; of {read:,} lines all were dropped: {dict(self.dropped)}{has}" if read else ""
            raise UserError(f"{self.name}: the text is empty{dropped}")
        self.remarks += self._remarks(read, text.sides, has)
        if self._expected not in (None, read) and kept != self._maximum:
            configured = f"its configuration says {self._expected:,}"
            raise UserError(f"{self.name}: has {read:,} lines, {configured}; mend one of the two")

    def _remarks(self, read: int, sides: Sides, has: str) -> Iterator[str]:
        if (lost := self.dropped[NO_SIDE]) > read / 2:
            yield f"{self.name}: {lost:,} of {read:,} lines lack one of the languages ({NO_SIDE}){has}"
        for codes in sides.variants():
            remedy = "variants (tmx, xliff) or columns (tables) chooses one"
            yield f"{self.name}: {' and '.join(codes)} are read as one language, the first of a unit; {remedy}"

    def _require_readable(self, read: int, unread: Unread) -> None:
        broken = sum(self.dropped[reason] for reason in BROKEN)
        if broken > self._allowed * read:
            more = "; ..." * (broken > len(unread.problems))
            remedy = "name its encoding if it is not UTF-8 (encoding)"
            if self.dropped[NO_SCORE] > broken / 2:
                remedy = "name another place of the numbers (score)"
            raise UserError(
                f"{self.name}: {broken:,} of {read:,} lines cannot be read, more than {self._allowed:.4g} of them "
                f"(invalid_share): {'; '.join(unread.problems)}{more}; mend the file, {remedy}, "
                "or drop such lines (invalid: drop)"
            )


def _tsv(columns: list[list[str]]) -> bytes:
    if not columns[0]:
        return b""
    rows = columns[0] if len(columns) == 1 else map("\t".join, zip(*columns, strict=True))
    return ("\n".join(rows) + "\n").encode()
