"""Where the tags of a text go in its translation: around what is aligned with their content."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.text.alignment import Alignment, Span


@dataclass
class Element:
    """A tag pair around these characters of a text, or a void tag. start or end is empty where the line has none."""

    name: str
    start: str
    begin: int
    end: str = ""
    stop: int = -1
    void: bool = False
    inside: "list[Element]" = field(default_factory=list)


@dataclass
class Text:
    """A text between separators, with its outer elements."""

    text: str = ""
    elements: list[Element] = field(default_factory=list)


def placed(source: Text, translation: str, alignment: Alignment, units: Sequence[Span]) -> str:
    """The translation with the elements of the source, escaped. units: what a tag never divides, characters."""
    return _Placing(source, translation, alignment, units).written()


class _Placing:
    def __init__(self, source: Text, translation: str, alignment: Alignment, units: Sequence[Span]):
        self._source, self._text, self._units = source, translation, units
        spans = [_stripped(source.text, span) for span in alignment.source][: alignment.weights.shape[1]]
        self._spans = np.array(spans, np.int64).reshape(-1, 2)
        self._shares = _shares(units, alignment, len(spans))
        self._sums = np.zeros((len(units), len(spans) + 1))  # of the shares of the pieces before each
        np.cumsum(self._shares * (self._spans[:, 1] > self._spans[:, 0]), 1, np.float64, self._sums[:, 1:])
        self._out: list[str] = []
        self._done = 0  # characters written

    def written(self) -> str:
        todo = self._within(self._source.elements, (0, len(self._source.text)), (0, len(self._units)))
        while todo:  # no recursion: a line may have thousands of elements, each inside of another
            span, element, room = todo.pop()
            if room:
                self._begin(element, span, room)
                todo.append((span, element, None))
                todo += self._within(element.inside, (element.begin, element.stop), span)
            else:
                self._end(element, span)
        self._upto(len(self._text))
        return "".join(self._out)

    def _upto(self, place: int) -> None:
        self._out.append(escape(self._text[self._done : place], quote=False))
        self._done = max(self._done, place)

    def _within(self, elements: list[Element], outer: Span, room: Span) -> list[tuple[Span, Element, Span | None]]:
        """What is to be written into ``room``, the last one first; without a room an element is only to be ended."""
        return [(span, element, room) for span, element in reversed(self._placed(elements, outer, room))]

    def _begin(self, element: Element, span: Span, room: Span) -> None:
        begin, end = span
        if begin < end or begin < room[1]:
            self._upto(self._units[begin][0])
        elif room[0] < room[1]:
            self._upto(self._units[room[1] - 1][1])
        self._out.append(element.start)

    def _end(self, element: Element, span: Span) -> None:
        begin, end = span
        if begin < end:
            self._upto(self._units[end - 1][1])
        self._out.append(element.end)

    def _placed(self, elements: list[Element], outer: Span, room: Span) -> list[tuple[Span, Element]]:
        """The elements inside of ``outer``, characters of the source, with their units of the translation, in ``room``.

        They are in the order of the translation; no two have a unit in common.
        """
        scores = {place: self._score(element) for place, element in enumerate(elements) if self._has_text(element)}

        def order(place: int) -> tuple[bool, float]:
            return self._closed(elements[place]), -float(np.maximum(scores[place][slice(*room)], 0).sum())

        taken: dict[int, Span] = {}
        free = _without([room], (room[0], room[0]))
        for place in sorted(scores, key=order):
            element = elements[place]
            whole = self._source.text[slice(*outer)].strip() == self._content(element)
            taken[place] = room if whole and free == [room] else self._best(element, scores[place], free, room)
            free = _without(free, taken[place])
        others = [(span, elements[place]) for place, span in taken.items()]
        found: list[tuple[Span, int]] = []
        for place, element in enumerate(elements):
            if place not in taken:
                unit = self._beside(element, outer, room, others)
                taken[place] = unit, unit
            found.append((taken[place], place))
        return [(span, elements[place]) for span, place in sorted(found)]

    def _closed(self, element: Element) -> bool:
        return element.void or bool(element.start and element.end)

    def _content(self, element: Element) -> str:
        return self._source.text[element.begin : element.stop].strip()

    def _has_text(self, element: Element) -> bool:
        return bool(self._content(element)) or (not self._closed(element) and element.stop > element.begin)

    def _score(self, element: Element) -> NDArray[np.float32]:
        """For each unit how much more than half of it is aligned with the element."""
        inside = self._before(element.stop) - self._before(element.begin)
        return inside.astype(np.float32) - np.float32(0.5)

    def _before(self, place: int) -> NDArray[np.float64]:
        """For each unit how much of it is aligned with what stands before a character of the source."""
        number = int(np.searchsorted(self._spans[:, 1], place, "right"))  # of the piece that the character is in
        sums: NDArray[np.float64] = self._sums[:, number]
        if number < len(self._spans) and (begin := self._spans[number, 0]) < place:
            sums = sums + self._shares[:, number] * ((place - begin) / (self._spans[number, 1] - begin))
        return sums

    def _best(self, element: Element, scores: NDArray[np.float32], free: list[Span], room: Span) -> Span:
        """The units whose scores have the largest sum; at an end of the text for an element without a tag there."""
        best, found = -np.inf, (room[1], room[1])
        for first, last in free:
            if not (element.start or first == room[0]) or not (element.end or last == room[1]):
                continue
            sums = np.zeros(last - first + 1)  # up to each place; exact, as scores are of float32
            np.cumsum(scores[first:last], out=sums[1:])
            ends = np.maximum.accumulate(sums[:0:-1])[::-1] if element.end else sums[-1]  # the best behind each place
            gains = ends - sums[:-1]
            begin = int(gains.argmax()) if element.start else 0
            if gains[begin] > best:
                end = begin + 1 + int(sums[begin + 1 :].argmax()) if element.end else last - first
                best, found = float(gains[begin]), (first + begin, first + end)
        if best == -np.inf and not element.start:
            return room[0], room[0]
        return found

    def _beside(self, element: Element, outer: Span, room: Span, taken: list[tuple[Span, Element]]) -> int:
        """Where something without text comes: before the unit of what follows it in the source."""
        following = np.flatnonzero((self._spans[:, 0] >= element.begin) & (self._spans[:, 1] <= outer[1]))
        if not self._closed(element):
            return room[1] if element.start else room[0]
        place = room[1]
        if len(following) and room[0] < room[1]:
            place = room[0] + int(np.argmax(self._shares[room[0] : room[1], following[0]]))
        for (begin, end), other in taken:
            if begin < place < end or (begin == place and other.begin < element.begin and begin < end):
                place = begin if element.begin <= other.begin else end
        return place


def _shares(units: Sequence[Span], alignment: Alignment, width: int) -> NDArray[np.float32]:
    """How much each unit is aligned with each of the first ``width`` pieces of the source, one in all."""
    firsts, lasts = np.array(alignment.target, np.int64).reshape(-1, 2).T
    begins, ends = np.array(units, np.int64).reshape(-1, 2).T
    places = zip(np.searchsorted(lasts, begins, "right"), np.searchsorted(firsts, ends), strict=True)
    shares = np.zeros((len(units), width), np.float32)
    for row, (begin, end), (low, high) in zip(shares, units, places, strict=True):
        common = np.maximum(np.minimum(end, lasts[low:high]) - np.maximum(begin, firsts[low:high]), 0)  # characters
        row[:] = common.astype(np.float32) @ alignment.weights[low:high, :width]
    shares /= np.maximum(shares.sum(1, keepdims=True), 1e-9)
    return shares


def _without(parts: Iterable[Span], taken: Span) -> list[Span]:
    """What is left of these parts."""
    left = (span for begin, end in parts for span in ((begin, min(end, taken[0])), (max(begin, taken[1]), end)))
    return [(begin, end) for begin, end in left if begin < end]


def _stripped(text: str, span: Span) -> Span:
    begin, end = span
    while begin < end and text[begin : begin + 1].isspace():
        begin += 1
    return begin, end
