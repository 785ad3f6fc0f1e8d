"""Text with inline markup: its tags are taken out, and put around what the translation aligns with their content.

A line is divided at what separates texts, such as ``<p>`` or ``<br>``; this stays as it is. Inside of a text are
elements, void tags and comments. A line may be a part of a document: an element that it opens and does not close ends
with the line, without an end tag, and one that it closes only begins with it. Tags always nest: of elements that
overlap, the inner one is closed and opened again, and an end tag inside of another element is dropped.

What is not to be translated stays as it is, with its tags: ``translate="no"``, class ``notranslate``, code and the
like. A character stands in for it: between texts, as ``<p>``; as a void tag, for pictures; else in a text, as an item
that text.protection hides from the model.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from html.parser import HTMLParser
from itertools import chain
from typing import Any, NamedTuple

from nmt_frontier.characters import moves, visible
from nmt_frontier.sentence import NO_SPACES, one_line
from nmt_frontier.text.alignment import NOTHING, joined, moved, units
from nmt_frontier.text.items import STAND_IN
from nmt_frontier.text.stage import Context, Stage, Translation
from nmt_frontier.text.tags import Element, Text, placed

SEPARATORS = """
address article aside blockquote body br button caption center dd details dialog div dl dt fieldset figcaption figure
footer form h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link main meta nav noscript ol optgroup option p pre
script section select style summary table tbody td template textarea tfoot th thead title tr ul
"""
BLOCKS = frozenset(SEPARATORS.split())  # names of tags that separate texts
VOIDS = "area base br col embed hr img input link meta param source track wbr"
VOID = frozenset(VOIDS.split())
RAW = {"script", "style"}  # whose content is no text
UNTRANSLATED = {"code", "kbd", "math", "samp", "svg", "textarea", "var"}  # unless translate="yes"
STAND_INS = range(0xF0000, 0xFFFFE)  # characters of text.items.STAND_IN


_STAND_IN = re.compile(STAND_IN)


class Marked(NamedTuple):
    """A line in parts, the spaces that it begins with, and what STAND_INS stand for."""

    parts: Sequence[Text | str]
    lead: str
    untranslated: Sequence[str]


class Markup(Stage[Marked]):
    """spaced: whether the target language has spaces between words."""

    def __init__(self, spaced: bool):
        self._spaced = spaced

    @classmethod
    def chosen(cls, options: Mapping[str, Any], context: Context) -> "Markup | None":
        return cls(context.target not in NO_SPACES) if options["html"] else None

    def hide(self, text: str) -> tuple[Sequence[str], Marked]:
        line = Line(text)
        lead = text[: len(text) - len(text.lstrip(" \t"))]
        return [core for one in line.texts if (core := one.text.strip())], Marked(line.parts, lead, line.untranslated)

    def restore(self, state: Marked, outputs: Sequence[Translation]) -> Translation:
        left = iter(outputs)
        written = "".join(part if isinstance(part, str) else self._written(part, left) for part in state.parts)
        return Translation(state.lead + _STAND_IN.sub(partial(_behind, state.untranslated), one_line(written)))

    def _written(self, source: Text, outputs: Iterator[Translation]) -> str:
        """The translation of a text, with its elements and the spaces around it."""
        if not (core := source.text.strip()):
            return placed(source, source.text, NOTHING, [])
        output = next(outputs)
        begin = source.text.index(core)
        before, behind = source.text[:begin], source.text[begin + len(core) :]
        if not source.elements:
            return before + escape(output.text + behind, quote=False)
        alignment = joined([(begin, 0, output.alignment)])
        whole = units(output.text, None if self._spaced else alignment.target, alignment.whole)
        return before + placed(source, output.text + behind, alignment, whole)


class Line(HTMLParser):
    """A line of markup. parts: its texts, and what is between them as it is; untranslated: what STAND_INS stand for."""

    def __init__(self, line: str):
        super().__init__(convert_charrefs=True)
        self._line = line
        self.untranslated: list[str] = []
        self._kept, self._depth, self._begin = "", 0, 0  # the name of the element that is not translated, and its place
        self.parts: list[Text | str] = [Text()]
        self._open: list[Element] = []
        self._earlier: list[Element] = []  # what earlier texts left open, around all that is open now
        self._raw = ""
        self.feed(line)
        self.close()
        if self._kept:
            self._keep(len(line.rstrip()))
        self._leave()
        for text in self.texts:
            _make_visible(text)

    @property
    def texts(self) -> list[Text]:
        return [part for part in self.parts if isinstance(part, Text)]

    @property
    def _text(self) -> Text:
        last = self.parts[-1]
        assert isinstance(last, Text)
        return last

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._kept == tag == "p":  # which has no other p in it
            self._keep(self._place())
        if self._kept:
            self._depth += tag == self._kept
            return
        if tag not in RAW | VOID and _untranslated(tag, dict(attrs)):
            self._kept, self._depth, self._begin = tag, 1, self._place()
            return
        text = self.get_starttag_text() or f"<{tag}>"
        if tag in BLOCKS:
            self._raw = tag if tag in RAW else ""
            self._separate(text)
        elif tag in VOID:
            self._void(text)
        else:
            self._enter(Element(text[1 : 1 + len(tag)], text, len(self._text.text)))

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        if self._kept:
            return
        text = self.get_starttag_text() or f"<{tag}/>"
        if tag in BLOCKS:
            self._separate(text)
        else:
            self._void(text)

    def handle_endtag(self, tag: str) -> None:
        if self._kept:
            self._depth -= tag == self._kept
            if not self._depth:
                self._keep(self._line.find(">", self._place()) + 1 or len(self._line))
            return
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
        if self._kept:
            return
        if self._raw:
            self._separate(data)
        else:
            self._text.text += _STAND_IN.sub(lambda own: self._stand_in(own[0]), data)

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

    def _place(self) -> int:
        """Where in the line the tag begins that is being read."""
        row, column = self.getpos()
        lines = self._line.split("\n", row - 1)[:-1] if row > 1 else []
        return sum(map(len, lines)) + len(lines) + column

    def _keep(self, end: int) -> None:
        """End the element that is not translated."""
        name, self._kept = self._kept, ""
        one = self._stand_in(self._line[self._begin : end])
        if name in BLOCKS:
            self._separate(one)
        elif name == "svg":
            self._void(one)
        else:
            self._text.text += one

    def _stand_in(self, text: str) -> str:
        if len(self.untranslated) == len(STAND_INS):  # in no line that people write
            self.untranslated[-1] += text
            return ""
        self.untranslated.append(text)
        return chr(STAND_INS[len(self.untranslated) - 1])

    def _void(self, text: str) -> None:
        if self._kept:
            return
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


def _untranslated(tag: str, attributes: Mapping[str, str | None]) -> bool:
    said = (attributes.get("translate", "no" if tag in UNTRANSLATED else "") or "").lower()
    return said == "no" or "notranslate" in (attributes.get("class") or "").split()


def _behind(untranslated: Sequence[str], one: re.Match[str]) -> str:
    """What a character stands for; nothing for one that a model made up."""
    place = ord(one[0]) - STAND_INS[0]
    return untranslated[place] if place < len(untranslated) else ""


def _make_visible(text: Text) -> None:
    """Take invisible characters out of a text; its elements keep their places."""
    if (clean := visible(text.text)) == text.text:
        return
    elements = [*text.elements]
    for element in elements:  # no recursion: there may be thousands, each inside of another
        elements += element.inside
    spans = moved([(element.begin, element.stop) for element in elements], moves(text.text)).tolist()
    for element, span in zip(elements, spans, strict=True):
        element.begin, element.stop = span
    text.text = clean
