"""A pair in words that a word alignment links: the places that both sides have alike, to put text in.

The links of an aligner (corpora.alignment) are of pieces. Two words are linked if any of their pieces are.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Self

from corpora.alignment import BATCH, Aligner, alignable

MOST_WORDS = 3  # of a source that tags are put around

Pair = tuple[str, str]
Cut = tuple[int, int]  # words of the source and of the target before a place
Span = tuple[Cut, Cut]  # its begin and its end


class AlignedWords(NamedTuple):
    """The words of both sides, and the numbers of those that are linked, source first."""

    source: Sequence[str]
    target: Sequence[str]
    links: frozenset[tuple[int, int]]

    @property
    def pair(self) -> Pair:
        return " ".join(self.source), " ".join(self.target)

    def of(self, pair: Pair) -> Self | None:
        """Another pair, which has these links; None if it has another number of words."""
        source, target = (side.split(" ") for side in pair)
        alike = (len(source), len(target)) == (len(self.source), len(self.target))
        return self._replace(source=source, target=target) if alike else None

    def cuts(self) -> list[Cut]:
        """The places between words that no link crosses."""
        size, ranges = len(self.source), _ranges(self.links)
        lowest = [len(self.target)] * (size + 1)  # of the targets of the words from a place on
        for place in reversed(range(size)):
            lowest[place] = min(lowest[place + 1], *ranges.get(place, lowest[-1:]))
        found, highest = [], -1
        for place in range(1, size):
            highest = max(highest, *ranges.get(place - 1, [-1]))
            if 0 <= highest < lowest[place] < len(self.target):
                found.append((place, highest + 1))
        return found

    def spans(self) -> list[Span]:
        """Words of the source, and those of the target that are linked to them alone."""
        forward, backward = _ranges(self.links), _ranges((target, source) for source, target in self.links)
        found = []
        for begin in range(len(self.source)):
            for end in range(begin + 1, min(begin + MOST_WORDS, len(self.source)) + 1):
                targets = [target for word in range(begin, end) for target in forward.get(word, ())]
                first, last = min(targets, default=1), max(targets, default=0)
                sources = [source for word in range(first, last + 1) for source in backward.get(word, ())]
                if targets and begin <= min(sources) and max(sources) < end:
                    found.append(((begin, first), (end, last + 1)))
        return found

    def inserted(self, word: str, cut: Cut) -> Self:
        """The pair with a word more on either side, which are linked."""
        source, target = cut
        links = {(left + (left >= source), right + (right >= target)) for left, right in self.links} | {cut}
        return type(self)(
            [*self.source[:source], word, *self.source[source:]],
            [*self.target[:target], word, *self.target[target:]],
            frozenset(links),
        )

    def around(self, first: str, last: str, span: Span) -> Pair:
        """The pair with text that touches the first and the last word of a span."""
        sides = []
        for words, begin, end in zip((self.source, self.target), *span, strict=True):
            new = [*words]
            new[begin] = first + new[begin]
            new[end - 1] += last
            sides.append(" ".join(new))
        return sides[0], sides[1]


def _ranges(links: Iterable[Cut]) -> dict[int, list[int]]:
    """The first and the last word that each word is linked with."""
    found: dict[int, list[int]] = {}
    for word, other in links:
        first, last = found.get(word, (other, other))
        found[word] = [min(first, other), max(last, other)]
    return found


Align = Callable[[Iterable[Pair]], Iterator[AlignedWords | None]]  # None where the words of a pair are not known


def by(aligner: Aligner, split: Callable[[list[str]], list[list[str]]]) -> Align:
    """Links by an aligner, of the pieces that ``split`` makes of each word; a line without spaces is one word.

    Words are split one by one, since normalisation makes two of one with a no-break space, and drops others. A pair in
    words takes some 20 kB, so only BATCH pairs are linked at a time.
    """

    def align(pairs: Iterable[Pair]) -> Iterator[AlignedWords | None]:
        rest = iter(pairs)
        while batch := list(itertools.islice(rest, BATCH)):
            yield from aligned(batch)

    def aligned(pairs: Sequence[Pair]) -> list[AlignedWords | None]:
        words = [(source.split(" "), target.split(" ")) for source, target in pairs]
        made = iter(split([word for pair in words for side in pair for word in side]))
        numbered = [(_numbered(source, made), _numbered(target, made)) for source, target in words]
        pieces = [(source[1], target[1]) for source, target in numbered]
        links = iter(aligner.align([pair for pair in pieces if alignable(*pair)]))
        return [
            AlignedWords(*sides, frozenset((left[one], right[other]) for one, other in next(links)))
            if alignable(*pair)
            else None
            for sides, pair, ((left, _), (right, _)) in zip(words, pieces, numbered, strict=True)
        ]

    return align


def _numbered(words: Sequence[str], made: Iterator[list[str]]) -> tuple[list[int], list[str]]:
    """The next pieces that are made, and the number of the word that each is of."""
    both = [(number, piece) for number in range(len(words)) for piece in next(made)]
    return [number for number, _ in both], [piece for _, piece in both]
