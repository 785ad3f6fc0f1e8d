"""Cut XML-like text into its units (``<tu>``, ``<trans-unit>``, ``<seg>``), so that a broken one does not reach others.

A unit begins at its start tag and ends at its end tag or, if that is missing, before the next start tag.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from corpora.readers.reader import MALFORMED, OVERLONG, Input
from nmt_frontier.errors import UserError
from nmt_frontier.text.encodings import XML_DECLARATION, as_utf8

LONGEST_UNIT = 4_000_000  # bytes
TAG_BYTES = 64  # an end tag is shorter; a comment's end is looked for no farther than a unit
MOST_ABOUT = 4_000  # bytes of tags of ``Tags.about`` that are held
OPEN_COMMENT, END_OF_COMMENT = b"<!--", b"-->"
_TRANSLATE = re.compile(rb"""\stranslate\s*=\s*["'](yes|no)["']""")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
TOO_LONG = f": longer than {LONGEST_UNIT:,} bytes"


class Tags:
    """The tags of a unit, those around all of them, and those that say something about the units after them.

    The names are patterns; root may be missing in a file if it is ``optional``. scopes: as in Scopes.
    """

    def __init__(self, name: str, root: str, about: str | None = None, scopes: str = "", optional: bool = False):
        flags = re.IGNORECASE if optional else re.NOFLAG
        self.names, self.optional = name.split("|"), optional
        self.root, self.end_of_root = root, re.compile(rf"</(?:{root})\b".encode(), flags)
        self.start_of_root = re.compile(rf"<(?:{root})\b".encode(), flags)
        start, end = rf"(?:{name})(?:\s[^<>]*)?(?<!/)>", rf"/(?:{name})\s*>"
        self.start, self.end = re.compile(f"<{start}".encode(), flags), re.compile(f"<{end}".encode(), flags)
        tokens = rf"<(?:(?P<start>{start})|(?P<end>{end})|!--.*?-->)"
        self.tokens = re.compile(tokens.encode(), flags | re.DOTALL)
        self.about = re.compile(rf"<(?:{about})\s[^<>]*>".encode()) if about else None
        tag = rf"<!--.*?-->|<!\[CDATA\[.*?\]\]>|</?(?:{scopes})(?:\s[^<>]*)?(?<!/)>"
        self.scopes = re.compile(tag.encode(), re.DOTALL) if scopes else None
        self.overlong = f"<{self.names[0]} \0>".encode()  # where the beginning of a unit is no longer held


class Stretch(NamedTuple):
    """Whole units, what is between them, and the number of their first line. about: the tags of ``Tags.about``
    before them, the last one first. translate: whether the elements around the units want it."""

    text: bytes
    line: int
    about: bytes
    translate: bool


class Unit(NamedTuple):
    text: bytes
    line: int
    whole: bool  # it has both tags


class Scopes:
    """Elements around units, of which the innermost one with an attribute ``translate`` says what holds inside."""

    def __init__(self, tag: re.Pattern[bytes] | None):
        self._tag = tag
        self._open: list[bool] = []  # the value in the outermost element with "no", and in those inside of it

    @property
    def translate(self) -> bool:
        return not self._open or self._open[-1]

    def parts(self, text: bytes) -> Iterator[tuple[bytes, bool]]:
        """The text, cut where the value changes, with the value."""
        start, before = 0, self.translate
        if self._tag and (self._open or b"translate" in text):
            for tag in self._tag.finditer(text):
                self._pass(tag[0])
                if self.translate != before and start < tag.start():
                    yield text[start : tag.start()], before
                    start = tag.start()
                before = self.translate
        yield text[start:], before

    def _pass(self, tag: bytes) -> None:
        if tag.startswith(b"</"):
            del self._open[-1:]
        elif not tag.startswith(b"<!"):
            said = _TRANSLATE.search(tag)
            translate = said[1] == b"yes" if said else self.translate
            if self._open or not translate:
                self._open.append(translate)


def stretches(chunks: Iterable[bytes], file: Input, tags: Tags) -> Iterator[Stretch]:
    """The text up to its last unit in pieces of about a chunk. Raises UserError for text that was cut off."""
    rest, line, about, scopes, rooted = b"", 1, b"", Scopes(tags.scopes), False

    def parts(text: bytes) -> Iterator[Stretch]:
        nonlocal line, about, scopes
        for piece in _by_about(text, tags):
            if tags.about and (found := tags.about.match(piece)):
                about, scopes = found[0] + about[:MOST_ABOUT], Scopes(tags.scopes)
            for part, translate in scopes.parts(piece):
                yield Stretch(part, line, about, translate)
                line += part.count(b"\n")

    for chunk in as_utf8(chunks, file.name, file.encoding, XML_DECLARATION):
        text = rest + chunk
        rooted = rooted or tags.start_of_root.search(text) is not None
        cut = _last_end(text, max(len(rest) - TAG_BYTES, 0), tags)
        yield from parts(text[:cut])
        rest = text[cut:]
        if len(rest) > LONGEST_UNIT + len(chunk):
            if not tags.start.search(rest):
                problem = f"no <{tags.names[0]}> for a long while; is the format right?"
                raise UserError(f"{file.name}: line {line:,}: {problem}")
            kept = rest[-TAG_BYTES:]
            line += rest.count(b"\n") - kept.count(b"\n")
            rest = tags.overlong + kept
    end = tags.end_of_root.search(rest)
    inside = tags.start.search(_COMMENT.sub(b"", rest))
    if inside and end:
        yield from parts(rest[: end.start()])
    elif inside or not (end or tags.optional):
        line += rest.count(b"\n")
        if not (rooted or inside):
            raise UserError(f"{file.name}: has no <{tags.root}>; it has another format, or it was cut off")
        where = f"inside a <{tags.names[0]}>" if inside else f"before </{tags.root}>"
        raise UserError(f"{file.name}: line {line:,}: ends {where}; it was cut off")


def _last_end(text: bytes, after: int, tags: Tags) -> int:
    """Where the last unit ends; before a comment that is not over."""
    cut = 0
    for match in tags.end.finditer(text, after):
        cut = match.end()
    comment = text.rfind(OPEN_COMMENT, 0, cut)
    return comment if comment > text.rfind(END_OF_COMMENT, 0, cut) else cut


def _by_about(text: bytes, tags: Tags) -> Iterator[bytes]:
    places = [match.start() for match in tags.about.finditer(text)] if tags.about else []
    bounds = [0, *places, len(text)]
    yield from (text[start:end] for start, end in pairwise(bounds) if start < end)


def units(stretch: Stretch, tags: Tags) -> Iterator[Unit]:
    """The units one by one, also what is left of broken ones."""
    text, line = stretch.text, stretch.line
    opened, last, counted = None, 0, 0  # where a unit begins; the end of the last tag; lines are counted up to here
    spans: list[tuple[int, int, bool]] = []
    for token in tags.tokens.finditer(text):
        if token["start"] is not None:
            if opened is not None:
                spans.append((opened, token.start(), False))
            opened = token.start()
        elif token["end"] is not None:
            line_of_end = max(last, text.rfind(b"\n", last, token.start()) + 1)
            spans.append((line_of_end if opened is None else opened, token.end(), opened is not None))
            opened = None
        else:
            continue
        last = token.end()
    if opened is not None:
        spans.append((opened, len(text), False))
    for start, end, whole in spans:
        line += text.count(b"\n", counted, start)
        counted = start
        yield Unit(text[start:end], line, whole)


def broken(unit: Unit, tags: Tags, file: Input) -> str | None:
    """The reason to drop a unit that is not whole, which is noted."""
    if unit.text.startswith(tags.overlong):
        return file.broken(OVERLONG, f"line {unit.line:,}", TOO_LONG, unit.text[len(tags.overlong) :])
    if not unit.whole:
        problem = f": not well-formed (a start or an end of <{tags.names[0]}> is missing)"
        return file.broken(MALFORMED, f"line {unit.line:,}", problem, unit.text)
    return None
