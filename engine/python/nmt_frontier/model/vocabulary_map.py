"""The vocabulary map as CTranslate2 reads it: lines ``source n-gram<TAB>target pieces``, pieces separated by spaces.

The pieces of an empty n-gram are always on. For each batch, the output layer computes only the *candidates*: the pieces
of all n-grams of its sentences, with ``<unk>``, ``<s>`` and ``</s>``.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nmt_frontier.errors import UserError
from nmt_frontier.sentence import split_pieces

SPECIAL = ("<unk>", "<s>", "</s>")  # candidates that the engine adds


def read(path: Path) -> Iterator[tuple[int, tuple[str, ...], list[str]]]:
    """Yield the number, the n-gram and the target pieces of each line. Raises UserError for a malformed line."""
    with open(path, encoding="utf-8") as lines:
        try:
            for number, line in enumerate(lines, 1):
                left, tab, right = line.rstrip("\n").partition("\t")
                if not tab or "\t" in right:
                    raise UserError(f"{path}: line {number} is not n-gram<TAB>target pieces")
                yield number, tuple(split_pieces(left)), split_pieces(right)
        except UnicodeDecodeError as error:
            raise UserError(f"{path}: not UTF-8 ({error}); make the map again") from None


def check(path: Path, vocabulary: Iterable[str]) -> None:
    """Raises UserError for a piece outside the vocabulary, which CTranslate2 would read as <unk>."""
    vocabulary = {*vocabulary, *SPECIAL}
    for number, ngram, pieces in read(path):
        if foreign := [piece for piece in (*ngram, *pieces) if piece not in vocabulary]:
            raise UserError(
                f"{path}: line {number}: {foreign[0]!r} is no piece of the model's vocabulary;"
                " this map was made for another model"
            )


class VocabularyMap:
    """entries: the target pieces of each source n-gram; those of the n-gram ``()`` are always on."""

    def __init__(self, entries: dict[tuple[str, ...], list[str]]):
        self.entries = entries
        self.max_ngram = max(map(len, entries), default=0)

    @classmethod
    def load(cls, path: Path, sources: Sequence[Sequence[str]] | None = None) -> "VocabularyMap":
        """Load a map, or the entries that ``sources``, in pieces, look up. Raises UserError for a wrong line."""
        entries: dict[tuple[str, ...], list[str]] = {}
        lookups: dict[int, set[tuple[str, ...]]] = {}  # the n-grams of the sources, by length
        for number, ngram, pieces in read(path):
            if sources is not None:
                if (size := len(ngram)) not in lookups:
                    lookups[size] = {tuple(s[i : i + size]) for s in sources for i in range(len(s) - size + 1)}
                if ngram not in lookups[size]:
                    continue
            if ngram in entries:
                raise UserError(f"{path}: line {number}: the n-gram {' '.join(ngram)!r} occurs twice")
            entries[ngram] = pieces
        return cls(entries)

    def ngrams(self, source: Sequence[str]) -> Iterable[tuple[str, ...]]:
        """The n-grams of a sentence that have an entry, the empty one first."""
        if () in self.entries:
            yield ()
        for start in range(len(source)):
            for end in range(start + 1, min(start + self.max_ngram, len(source)) + 1):
                ngram = tuple(source[start:end])
                if ngram in self.entries:
                    yield ngram

    def candidates(self, sources: Iterable[Sequence[str]]) -> set[str]:
        """The target pieces that the output layer computes for a batch of sentences."""
        pieces = set(SPECIAL)
        for source in sources:
            for ngram in self.ngrams(source):
                pieces.update(self.entries[ngram])
        return pieces
