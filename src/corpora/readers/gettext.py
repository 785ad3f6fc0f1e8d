"""PO files of gettext: messages of a program and their translations."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from corpora.language_codes import shortest
from corpora.readers.reader import INVALID, MALFORMED, Block, Input, Reader, decoded, rows

_KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*"(.*)"\s*')
_MORE = re.compile(r'\s*"(.*)"\s*')
_BARE_QUOTE = re.compile(r'(?<!\\)(?:\\\\)*"')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_LANGUAGE = re.compile(r"^Language: *([\w@.-]+)", re.MULTILINE)
FUZZY = "fuzzy"


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
        return None if parts is None else _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), "".join(parts))

    def add(self, line: str) -> None:
        """A line of the message; one that is none makes it malformed."""
        if line.startswith("#"):
            self.fuzzy |= line.startswith("#,") and FUZZY in line
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


class Po(Reader):
    """``msgid`` is the source side, unless the header says that the translations are in the source language."""

    format = "po"
    suffixes = (".po",)

    def blocks(self, chunks: Iterable[bytes], file: Input) -> Iterator[Block]:
        return rows(self._rows(chunks, file), file, len(self.selection.languages))

    def _rows(self, chunks: Iterable[bytes], file: Input) -> Iterator[tuple[str | None, ...] | str]:
        languages, swapped = self.selection.languages, False
        for message in _messages(chunks, file):
            identifier, plural, reason = message.text("msgid"), message.text("msgid_plural"), message.reason
            translations = [message.text(keyword) for keyword in message.texts if keyword.startswith("msgstr")]
            if reason == INVALID:
                yield reason
            elif reason or identifier is None or not translations:
                shown = " ".join(text for parts in message.texts.values() for text in parts)
                yield file.broken(MALFORMED, f"line {message.line:,}", ": no message with its translation", shown)
            elif not identifier:
                language = _LANGUAGE.search(translations[0] or "")
                swapped = language is not None and shortest(language[1].replace("_", "-")) == languages[0]
            elif message.fuzzy:
                yield FUZZY
            else:
                for source, target in [(identifier, translations[0]), (plural, translations[-1])][: 1 + bool(plural)]:
                    sides = (source, target or None)
                    yield (sides[::-1] if swapped else sides)[: len(languages)]


def _messages(chunks: Iterable[bytes], file: Input) -> Iterator[Message]:
    message: Message | None = None
    for text in decoded(chunks, file, "\r"):
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
