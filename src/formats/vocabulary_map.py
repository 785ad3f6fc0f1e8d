"""The vocabulary map as CTranslate2 reads it: ``n-gram<TAB>target pieces``, pieces separated by spaces.

A line that begins with a tab is always on. While a batch is decoded, the output layer holds only the pieces that some
n-gram of some sentence in it brings, with ``<unk>``, ``<s>`` and ``</s>``.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from formats.errors import UserError

SPECIAL = ("<unk>", "<s>", "</s>")  # the engine adds them itself


def read(path: Path) -> Iterator[tuple[int, tuple[str, ...], list[str]]]:
    """Number, n-gram and target pieces of each line. Raises UserError for a broken one."""
    with open(path, encoding="utf-8") as lines:
        try:
            for number, line in enumerate(lines, 1):
                left, tab, right = line.rstrip("\n").partition("\t")
                if not tab or "\t" in right:
                    raise UserError(f"{path}: line {number} is not n-gram<TAB>target pieces")
                yield number, tuple(left.split()), right.split()
        except UnicodeDecodeError as error:
            raise UserError(f"{path}: not UTF-8 ({error}); make the map again") from None


def check(path: Path, vocabulary: Iterable[str]) -> None:
    """Raises UserError for a piece that the vocabulary lacks, which CTranslate2 would take for <unk> without a word."""
    known = {*vocabulary, *SPECIAL}
    for number, ngram, pieces in read(path):
        if strange := [piece for piece in (*ngram, *pieces) if piece not in known]:
            raise UserError(
                f"{path}: line {number}: {strange[0]!r} is no piece of the model's vocabulary;"
                " this map was made for another model"
            )


class VocabularyMap:
    """entries: target pieces by source n-gram; ``()`` holds those that are always on."""

    def __init__(self, entries: dict[tuple[str, ...], list[str]]):
        self.entries = entries
        self.max_ngram = max(map(len, entries), default=0)

    @classmethod
    def load(cls, path: Path, sources: Sequence[Sequence[str]] | None = None) -> "VocabularyMap":
        """The map, or of a large one only what these sentences look up.

        Raises UserError for a broken line, and for an n-gram that stands there twice.
        """
        entries: dict[tuple[str, ...], list[str]] = {}
        wanted: dict[int, set[tuple[str, ...]]] = {}  # by length
        for number, ngram, pieces in read(path):
            if sources is not None:
                if (size := len(ngram)) not in wanted:
                    wanted[size] = {tuple(s[i : i + size]) for s in sources for i in range(len(s) - size + 1)}
                if ngram not in wanted[size]:
                    continue
            if ngram in entries:
                raise UserError(f"{path}: line {number}: the n-gram {' '.join(ngram)!r} stands there twice")
            entries[ngram] = pieces
        return cls(entries)

    def ngrams(self, source: Sequence[str]) -> Iterable[tuple[str, ...]]:
        """The n-grams of a sentence that the map knows, with the empty one."""
        if () in self.entries:
            yield ()
        for start in range(len(source)):
            for end in range(start + 1, min(start + self.max_ngram, len(source)) + 1):
                ngram = tuple(source[start:end])
                if ngram in self.entries:
                    yield ngram

    def candidates(self, sources: Iterable[Sequence[str]]) -> set[str]:
        """The pieces that may be output for a batch of sentences."""
        found = set(SPECIAL)
        for source in sources:
            for ngram in self.ngrams(source):
                found.update(self.entries[ngram])
        return found
