"""PO files of gettext: messages of a program and their translations."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from gettext import c2py
from typing import NamedTuple

from corpora.readers.reader import INVALID, MALFORMED, NOT_A_TRANSLATION, Block, Input, Reader, decoded, rows
from nmt_frontier.text.encodings import PO_DECLARATION

_KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*"(.*)"\s*')
_MORE = re.compile(r'\s*"(.*)"\s*')
_BARE_QUOTE = re.compile(r'(?<!\\)(?:\\\\)*"')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_LANGUAGE = re.compile(r"^Language: *([\w@.-]+)", re.MULTILINE)
_PLURALS = re.compile(r"\bnplurals\s*=\s*(\d{1,3})\s*;(?:\s*plural\s*=([^;\n]+))?")
_CONTEXT = re.compile(r"_:([^\n]*)\n")  # of KDE 3, as the plural
_PLURAL = "_n:"
_CREDITS = re.compile(  # names and addresses of translators, in KDE and GNOME
    r"(?:_: *)?(?:(?:NAMES?|EMAILS?|ROLES)[ _]OF[ _]TRANSLATORS|CREDIT[ _]FOR[ _]TRANSLATORS) *(?:\n.*)?"
    r"|translat(?:or|ion)s?[-_]credits?",
    re.DOTALL,
)


@dataclass
class Message:
    """A message as it is read. texts: by keyword; reason: to drop it."""

    line: int
    texts: dict[str, list[str]] = field(default_factory=dict)
    fuzzy: bool = False
    reason: str = ""
    last: str = ""

    def text(self, keyword: str) -> str | None:
        parts = self.texts.get(keyword)
        if parts is None:
            return None
        text = "".join(parts)
        return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), text) if "\\" in text else text

    def add(self, line: str) -> None:
        """A line of the message; one that is none makes it malformed."""
        if line.startswith("#"):
            self.fuzzy |= line.startswith("#,") and "fuzzy" in line
            self.reason = self.reason or MALFORMED * bool(self.texts)
            return
        match, more = _KEYWORD.fullmatch(line), _MORE.fullmatch(line)
        text = match[2] if match else more[1] if more and self.last else None
        if text is None or _BARE_QUOTE.search(text) or (match and match[1] in self.texts):
            self.reason = self.reason or MALFORMED
            return
        self.last = match[1] if match else self.last
        self.texts.setdefault(self.last, []).append(text)

    @property
    def ended(self) -> bool:
        return self.last.startswith("msgstr")


class Plurals(NamedTuple):
    """Which of a number of forms is the one of n = 1, and those of n = 5 and 2."""

    number: int = 2
    one: int = 0
    five: int = 1
    two: int = 1

    def chosen(self, forms: list[str]) -> tuple[str | None, str | None]:
        """The forms for one and for several; None where the header does not say which they are."""
        if len(forms) != self.number:
            return None, None
        return forms[self.one], forms[self.five] or forms[self.two]


UNKNOWN_PLURALS = Plurals(0)


def plurals(header: str) -> Plurals:
    """By ``Plural-Forms``. Without it, or where it is broken, only two forms have a meaning."""
    match = _PLURALS.search(header)
    number = int(match[1]) if match else 2
    try:
        form = c2py(match[2] if match and match[2] else "")
        found = [form(count) for count in (1, 5, 2)]
    except (ValueError, ArithmeticError):
        found = []
    if found and all(0 <= index < number for index in found):
        return Plurals(number, *found)
    return Plurals() if number == 2 else UNKNOWN_PLURALS


class Po(Reader):
    """``msgid`` is the source side, unless the header says that the translations are in the source language."""

    format = "po"
    suffixes = (".po",)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        return rows(self._rows(chunks, file), file, len(self.selection.languages))

    def _rows(self, chunks: Iterable[bytes], file: Input) -> Iterator[tuple[str | None, ...] | str]:
        sides, forms, swapped = self.selection.sides, Plurals(), False
        for message in _messages(chunks, file):
            identifier, reason = message.text("msgid"), message.reason
            translations = [message.text(keyword) or "" for keyword in message.texts if keyword.startswith("msgstr")]
            if reason == INVALID:
                yield reason
            elif reason or identifier is None or not translations:
                shown = " ".join(text for parts in message.texts.values() for text in parts)
                yield file.broken(MALFORMED, f"line {message.line:,}", ": no message with its translation", shown)
            elif not identifier:
                language = _LANGUAGE.search(translations[0])
                swapped = language is not None and sides[language[1]] == 0
                forms = plurals(translations[0])
            elif message.fuzzy or _CREDITS.fullmatch(identifier) or _CREDITS.fullmatch(message.text("msgctxt") or ""):
                yield NOT_A_TRANSLATION
            else:
                for source, target in _pairs(identifier, message.text("msgid_plural"), translations, forms):
                    pair = (source, target or None)
                    yield (pair[::-1] if swapped else pair)[: len(sides.wanted)]


def _pairs(
    identifier: str, plural: str | None, translations: list[str], forms: Plurals
) -> Iterable[tuple[str, str | None]]:
    source = _CONTEXT.sub("", identifier) if identifier.startswith("_:") else identifier
    if source.startswith(_PLURAL):  # all forms in one text, a line each
        sources = source.removeprefix(_PLURAL).split("\n", 1)
        return zip(sources, forms.chosen(translations[0].rstrip("\n").split("\n")), strict=False)
    if plural:
        return zip((source, plural), forms.chosen(translations), strict=True)
    return [(source, translations[0])]


def _messages(chunks: Iterable[bytes], file: Input) -> Iterator[Message]:
    message: Message | None = None
    for text in decoded(chunks, file, "\r", PO_DECLARATION):
        for row, line in enumerate(text.lines):
            number, line = text.first + row, line.strip()
            starts = line.startswith(("#", "msgid ", "msgctxt ", 'msgid"'))
            if message and message.texts and (not line or (starts and message.ended)) and row not in text.dropped:
                yield message
                message = None
            if row in text.dropped:
                message = message or Message(number)
                message.reason = INVALID
            elif line and not line.startswith("#~"):
                message = message or Message(number)
                message.add(line)
            elif not line and message and message.reason:
                yield message
                message = None
            elif not line:
                message = None  # comments alone
    if message and (message.texts or message.reason):
        yield message
