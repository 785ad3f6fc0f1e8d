"""Paragraphs are divided into sentences by rules, with the package sentencex, and each is translated by itself."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from nmt_frontier.errors import UserError
from nmt_frontier.sentence import NO_SPACES, one_line
from nmt_frontier.text.alignment import joined
from nmt_frontier.text.items import Finder
from nmt_frontier.text.stage import Context, Stage, Translation


class Sentence(NamedTuple):
    """Where a sentence begins in its text, and the spaces behind it."""

    begin: int
    behind: str


class Sentences(Stage[Sequence[Sentence]]):
    """split: divides a text. finder: of items in which no sentence ends. spaced: whether translations have spaces."""

    def __init__(self, split: Callable[[str], list[str]], finder: Finder | None, spaced: bool):
        self._split, self._finder, self._spaced = split, finder, spaced

    @classmethod
    def chosen(cls, options: Mapping[str, Any], context: Context) -> "Sentences | None":
        if not options["sentences"]:
            return None
        finder = Finder(options["protect"]) if options["protect"] else None
        return cls(splitter(context.source or "en"), finder, context.target not in NO_SPACES)

    def hide(self, text: str) -> tuple[Sequence[str], Sequence[Sentence]]:
        texts, places, begin = [], [], 0
        parts: Iterable[str] = self._split(text)
        for part in _whole(parts, self._finder.found(text)) if self._finder else parts:
            if core := part.strip():
                lead = len(part) - len(part.lstrip())
                texts.append(core)
                places.append(Sentence(begin + lead, part[lead + len(core) :]))
            begin += len(part)
        return texts, places

    def restore(self, state: Sequence[Sentence], outputs: Sequence[Translation]) -> Translation:
        text, begins = "", []
        for place, output in zip(state, outputs, strict=True):
            begins.append(len(text))
            text += output.text + ((place.behind or " ") if self._spaced else "")
        lead = len(text) - len(text.lstrip())
        parts = [*zip(state, begins, outputs, strict=True)]
        return Translation(
            one_line(text),
            lambda: joined((place.begin, max(begin - lead, 0), one.alignment) for place, begin, one in parts),
        )


def splitter(language: str) -> Callable[[str], list[str]]:
    """A function that divides a text; its sentences, with the spaces behind them, make up the text again.

    language: a code; a language that the package does not know has the rules of a related one, or those of English.
    Raises UserError if the package is not installed.
    """
    try:
        from sentencex import segment  # inside: only --sentences needs it
    except ImportError as error:
        raise UserError(f"--sentences needs a package ({error}): pip install sentencex") from None
    return lambda text: list(segment(language, text))


def _whole(sentences: Iterable[str], items: Iterable[re.Match[str]]) -> Iterator[str]:
    """The sentences of a text, of which none ends inside of a protected item, such as a URL with a question mark."""
    inside = {place for item in items for place in range(item.start() + 1, item.end())}
    waiting, end = "", 0
    for part in sentences:
        waiting, end = waiting + part, end + len(part)
        if end not in inside:
            yield waiting
            waiting = ""
