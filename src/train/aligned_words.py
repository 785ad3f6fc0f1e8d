"""A pair in words that a word alignment links: the places that both sides have alike, to put text in.

The links of an aligner (corpora.alignment) are of pieces. Two words are linked if any of their pieces are.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Self

from corpora.alignment import Aligner, Links, alignable

SPACE = "▁"  # what SentencePiece has instead of a space
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


Align = Callable[[Sequence[Pair]], list[AlignedWords | None]]  # None where the words of a pair are not known


def by(aligner: Aligner, split: Callable[[list[str]], list[list[str]]]) -> Align:
    """Links by an aligner, of the pieces that ``split`` makes of lines; a line without spaces is one word."""

    def align(pairs: Sequence[Pair]) -> list[AlignedWords | None]:
        sides = [split([*side]) for side in zip(*pairs, strict=True)]
        pieces = [*zip(*sides, strict=True)] if pairs else []
        links = iter(aligner.align([pair for pair in pieces if alignable(*pair)]))
        return [
            _in_words(pair, split_pair, next(links)) if alignable(*split_pair) else None
            for pair, split_pair in zip(pairs, pieces, strict=True)
        ]

    return align


def _in_words(pair: Pair, pieces: tuple[list[str], list[str]], links: Links) -> AlignedWords | None:
    """None where normalisation has changed the number of words."""
    source, target = (side.split(" ") for side in pair)
    left, right = map(_word_numbers, pieces)
    if (left[-1] + 1, right[-1] + 1) != (len(source), len(target)):
        return None
    return AlignedWords(source, target, frozenset((left[one], right[other]) for one, other in links))


def _word_numbers(pieces: Sequence[str]) -> list[int]:
    number, found = -1, []
    for piece in pieces:
        number += piece.startswith(SPACE)
        found.append(number)
    return found
