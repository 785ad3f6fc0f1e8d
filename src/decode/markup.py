"""Text with inline markup: its tags are taken out, and put around what the translation aligns with their content.

A line is divided at what separates texts, such as ``<p>`` or ``<br>``; this stays as it is. Inside of a text are
elements, void tags and comments. A line may be a part of a document: an element that it opens and does not close ends
with the line, without an end tag, and one that it closes only begins with it. Tags always nest: of elements that
overlap, the inner one is closed and opened again, and an end tag inside of another element is dropped.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from itertools import chain

import numpy as np
from numpy.typing import NDArray

SEPARATORS = """
address article aside blockquote body br button caption center dd details dialog div dl dt fieldset figcaption figure
footer form h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link main meta nav noscript ol optgroup option p pre
script section select style summary table tbody td template textarea tfoot th thead title tr ul
"""
BLOCKS = frozenset(SEPARATORS.split())  # names of tags that separate texts
VOIDS = "area base br col embed hr img input link meta param source track wbr"
VOID = frozenset(VOIDS.split())
RAW = {"script", "style"}  # whose content is no text
UNIT = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+|\S")
Span = tuple[int, int]  # characters, or units, from the first to the one behind the last


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


@dataclass(frozen=True)
class Alignment:
    """Characters of pieces of a source and of its translation; weights: float32 [translation, source]."""

    source: Sequence[Span]
    target: Sequence[Span]
    weights: NDArray[np.float32]


class Line(HTMLParser):
    """A line of markup. parts: its texts, and what is between them as it is."""

    def __init__(self, line: str):
        super().__init__(convert_charrefs=True)
        self.parts: list[Text | str] = [Text()]
        self._open: list[Element] = []
        self._earlier: list[Element] = []  # what earlier texts left open, around all that is open now
        self._raw = ""
        self.feed(line)
        self.close()
        self._leave()

    @property
    def texts(self) -> list[Text]:
        return [part for part in self.parts if isinstance(part, Text)]

    @property
    def _text(self) -> Text:
        last = self.parts[-1]
        assert isinstance(last, Text)
        return last

    def handle_starttag(self, tag: str, attrs: object) -> None:
        text = self.get_starttag_text() or f"<{tag}>"
        if tag in BLOCKS:
            self._raw = tag if tag in RAW else ""
            self._separate(text)
        elif tag in VOID:
            self._void(text)
        else:
            self._enter(Element(text[1 : 1 + len(tag)], text, len(self._text.text)))

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        text = self.get_starttag_text() or f"<{tag}/>"
        if tag in BLOCKS:
            self._separate(text)
        else:
            self._void(text)

    def handle_endtag(self, tag: str) -> None:
        if tag in BLOCKS:
            self._raw = ""
            self._separate(f"</{tag}>")
            return
        opened = chain(reversed(self._open), reversed(self._earlier))
        if all(element.name.lower() != tag for element in opened):
            if not self._open and not self._earlier and tag not in VOID:  # it began on an earlier line
                self._end_earlier(tag)
            return
        inner = []
        while (element := self._exit()).name.lower() != tag:
            inner.append(element)
        for element in reversed(inner):
            self._enter(Element(element.name, element.start, len(self._text.text)))

    def handle_data(self, data: str) -> None:
        if self._raw:
            self._separate(data)
        else:
            self._text.text += data

    def handle_comment(self, data: str) -> None:
        self._void(f"<!--{data}-->")

    def parse_html_declaration(self, i: int) -> int:
        """Up to its end, as it is: Python's method raises AssertionError for sections that it does not know."""
        last = "]]>" if self.rawdata.startswith("<![CDATA[", i) else ">"
        end = self.rawdata.find(last, i) + len(last)
        if end < i + len(last):
            return -1
        self._void(self.rawdata[i:end])
        return end

    def handle_pi(self, data: str) -> None:
        self._void(f"<?{data}>")

    def _void(self, text: str) -> None:
        place = len(self._text.text)
        self._add(Element("", text, place, stop=place, void=True))

    def _add(self, element: Element) -> None:
        (self._open[-1].inside if self._open else self._text.elements).append(element)

    def _enter(self, element: Element) -> None:
        self._add(element)
        self._open.append(element)

    def _exit(self) -> Element:
        if not self._open:
            self._end_earlier(self._earlier[-1].name)
            return self._earlier.pop()
        element = self._open.pop()
        element.end, element.stop = f"</{element.name}>", len(self._text.text)
        return element

    def _end_earlier(self, name: str) -> None:
        """End an element that began before this text, all of which is inside of it."""
        text = self._text
        text.elements = [Element(name, "", 0, f"</{name}>", len(text.text), inside=text.elements)]

    def _leave(self) -> None:
        for element in self._open:
            element.stop = len(self._text.text)

    def _separate(self, separator: str) -> None:
        """End a text; what is open goes on in the next one."""
        self._leave()
        self.parts += [separator, Text()]
        self._earlier += self._open
        self._open = []


def placed(source: Text, translation: str, alignment: Alignment, units: Sequence[Span]) -> str:
    """The translation with the elements of the source, escaped. units: what a tag never divides, characters."""
    return _Placing(source, translation, alignment, units).written()


def units(text: str, pieces: Iterable[Span] | None = None, items: Iterable[Span] = ()) -> list[Span]:
    """Words, numbers and marks; in a language without spaces what they are inside of ``pieces``; items whole."""
    spans = [(0, len(text))] if pieces is None else pieces
    inside = {place for begin, end in items for place in range(begin + 1, end)}
    found: list[Span] = []
    for match in (match for begin, end in spans for match in UNIT.finditer(text, begin, end)):
        found.append((found.pop()[0] if found and match.start() in inside else match.start(), match.end()))
    return found


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
