"""Text that must come through a translation as it is: hidden behind symbols before decoding, put back after it.

A symbol stands in the source as a word of its own, also where a tag touches a word, so that the word keeps its pieces.
A symbol that a translation repeats, or has without its source, is dropped. A line that has no letter outside of such
text is not translated but copied.

Where a model writes spaces around a symbol otherwise than the source, the source holds. A tag touches what the
translation has on the sides where it touched text. Any other item is kept apart from letters, digits and items on the
sides where it had a space, a mark such as ``.`` or ``(``, or an end of the line: ``Hund⟦1⟧`` becomes ``Hund {name}``.
Only letters of scripts that have a space between words count (formats.protection.SPACED). Behind a placeholder the
model decides: a word may end in what follows, as in ``{city}ssä``. Marks touch an item as the model has them, as in
``(⟦1⟧).``. Items that follow each other at once, such as ``%s%d``, do so again where the model keeps their order.

What the model loses is counted by kind. ``append`` puts it at the end of the translation; ``keep`` translates the line
again, in pieces around what must be kept, each at its place. Both are also for models whose vocabulary has no symbols:
these translate the text as it is, with ``append``, or in pieces at once, with ``keep``.
"""

import argparse
import itertools
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from common.errors import UserError
from formats.protection import DIVIDING, KINDS, LETTER, SPACED, SYMBOL, SYMBOLS, Finder
from formats.sentence import has_letters, one_line
from formats.tokenizers import Processors

Missing = Literal["append", "keep"]
Windows = Callable[[Iterable[str]], Iterator[list[str]]]  # translates lines

BYTE_ORDER_MARK = "\ufeff"
_SYMBOL = re.compile(SYMBOL)
_LETTER, _SPACED, _DIVIDING = map(re.compile, (LETTER, SPACED, DIVIDING))
_CLOSING = " .,;:!?"  # no space before them
_OPEN = SYMBOL[0]

Side = Literal["", "touching", "apart"]  # a tag touched text there; another item stood apart


class Item(NamedTuple):
    """Text to keep, what was on its left and on its right, and where it begins."""

    kind: str
    text: str
    before: Side = ""
    after: Side = ""
    begin: int = 0

    def touches(self, other: "Item") -> bool:
        """Whether the other one follows it at once."""
        return self.begin + len(self.text) == other.begin


Parts = list[str | Item]
Moves = Sequence[tuple[int, int]]  # places in a text for the model or by it, and the same ones in the text with items


class Hidden(NamedTuple):
    """A line as it is translated.

    parts: the whole line, if it has items. moves: from ``text`` to the line. symbols: how many of the items are symbols
    in the text. copy: the translation of a line without anything to translate.
    """

    text: str
    parts: Sequence[str | Item] = ()
    moves: Moves = ()
    symbols: int = 0
    copy: str | None = None

    @property
    def items(self) -> list[Item]:
        return [part for part in self.parts if isinstance(part, Item)]


class Restored(NamedTuple):
    """A translation with what its symbols stand for.

    moves: from the model's output to ``text``. items: those put into it, with their places. failed: whether the model
    did not keep everything once.
    """

    text: str
    moves: Moves = ()
    items: Sequence[tuple[int, Item]] = ()
    failed: bool = False


class Protection:
    """Hides text of some kinds. symbols: as many as the model's vocabulary has, from the first one on.

    kinds, finder: what is hidden.
    ``counts``, to which every window adds: ``protected_KIND`` of items in sources, ``lost_KIND`` and ``repeated_KIND``
    of those that the model did not translate to exactly one copy, whatever became of them then.
    """

    def __init__(self, kinds: Sequence[str], missing: Missing | None, symbols: int, counts: Counter[str]):
        self.kinds, self.finder = kinds, Finder(kinds)
        self._missing, self._counts = missing, counts
        self._symbols = SYMBOLS[:symbols]

    def windows(self, translated: Windows, lines: Iterable[str]) -> Iterator[list[str]]:
        """As ``translated``, which it translates the lines with."""
        waiting: deque[Hidden] = deque()

        def hidden() -> Iterator[str]:
            for line in lines:
                waiting.append(self.hide(line.removeprefix(BYTE_ORDER_MARK)))
                yield waiting[-1].text

        for outputs in translated(hidden()):
            yield self._finished([waiting.popleft() for _ in outputs], outputs, translated)

    def hide(self, line: str) -> Hidden:
        if not (matches := self.finder.found(line)) and any(map(str.isalpha, line)):
            return Hidden(line)  # most lines, so this is fast
        parts: Parts = []
        end = 0
        begins = {match.start() for match in matches}
        for match in matches:
            start, stop = match.span()
            kind = match.lastgroup or ""
            behind = _OPEN if stop in begins else line[stop : stop + 1]  # an address may begin with a dot
            before, after = (_side(kind, beside) for beside in (line[max(start - 1, 0) : start], behind))
            if kind == "placeholder" and after == "apart":
                after = ""
            parts += [*filter(None, [line[end:start]]), Item(kind, match[0], before, after, start)]
            end = stop
        parts += filter(None, [line[end:]])
        if not any(map(_has_letters, parts)):
            return Hidden("", parts, copy=one_line(line))
        if not self._symbols and matches and self._missing == "keep":
            return Hidden("", parts)
        text, moves = _with_symbols(parts, self._symbols)
        return Hidden(text, parts, moves, min(len(matches), len(self._symbols)))

    def _finished(self, sources: Sequence[Hidden], outputs: Sequence[str], translated: Windows) -> list[str]:
        lines, again = [*outputs], []
        for place, (source, output) in enumerate(zip(sources, outputs, strict=True)):
            if source.parts and not source.text and source.copy is None:  # in pieces at once
                again.append(place)
                self._count(source.items)
            else:
                kept = self.restored(source, output)
                lines[place] = kept.text
                if kept.failed and self._missing == "keep":
                    again.append(place)
        pieces = [piece for place in again for piece in _pieces(sources[place].parts)]
        results = itertools.chain.from_iterable(translated(pieces)) if pieces else iter(())
        for place in again:
            lines[place] = _in_pieces(sources[place].parts, results)
        return lines

    def restored(self, source: Hidden, output: str) -> Restored:
        """The translation of a hidden line, unless that is translated in pieces; adds to ``counts``."""
        items = source.items
        if source.copy is not None or not items:
            self._count(items)
            return Restored(output if source.copy is None else source.copy)
        parts: Parts = [output]
        spans = [(0, len(output))]
        lost: list[Item] = []
        repeated: list[Item] = []
        if self._symbols:
            parts, spans, lost, repeated = _without_symbols(output, items[: source.symbols])
        plain = items[source.symbols :]
        if plain:  # these were in the source as they are
            kept = any(item.text in output for item in plain)
            there = Counter([match[0] for match in self.finder.found(_joined(parts)[0])] if kept else [])
            there.subtract(part.text for part in parts if isinstance(part, Item))
            wanted = Counter([item.text for item in plain])
            for text, item in {item.text: item for item in plain}.items():
                lost += [item] * (wanted[text] - there[text])
                repeated += [item] * (there[text] > wanted[text])
        self._count(items, lost, repeated)
        if self._missing == "append":
            parts += [part for item in lost for part in (" ", item._replace(before="", after=""))]
        text, begins = _joined(parts)
        placed = [(begin, part) for begin, part in zip(begins, parts, strict=True) if isinstance(part, Item)]
        moves = [
            move
            for (start, stop), begin, part in zip(spans, begins, parts, strict=False)  # what is appended has no span
            for move in ((start, begin), (stop, begin + len(_text(part))))
        ]
        return Restored(text, moves, placed, bool(lost or [item for item in repeated if item in plain]))

    def _count(self, items: Iterable[Item], lost: Iterable[Item] = (), repeated: Iterable[Item] = ()) -> None:
        for name, group in (("protected", items), ("lost", lost), ("repeated", repeated)):
            for item in group:
                self._counts[f"{name}_{item.kind}"] += 1


def _side(kind: str, beside: str) -> Side:
    """beside: the character there, if any."""
    if kind == "tag":
        return "touching" if beside.strip() else ""
    return "" if beside and not _DIVIDING.match(beside) else "apart"


def _with_symbols(parts: Parts, symbols: Sequence[str]) -> tuple[str, Moves]:
    """The line with a symbol for each item, as far as they go, and a space between a tag's and what it touches."""
    line, left, apart, begin = "", iter(symbols), False, 0
    moves: list[tuple[int, int]] = []
    for part in parts:
        symbol = next(left, None) if isinstance(part, Item) else None
        text = symbol or _text(part)
        tag = symbol is not None and isinstance(part, Item) and part.kind == "tag"
        touches = line[-1:].isalnum() or line[-1:] == "⟧"
        if (tag and touches) or (apart and (text[0].isalnum() or symbol) and not line.endswith(" ")):
            line += " "
        end = begin + len(_text(part))
        moves += [(len(line), begin), (len(line) + len(text), end)]
        line, apart, begin = line + text, tag, end
    return line, moves


def _text(part: str | Item) -> str:
    return part.text if isinstance(part, Item) else part


def _without_symbols(output: str, items: Sequence[Item]) -> tuple[Parts, list[tuple[int, int]], list[Item], list[Item]]:
    """A translation in parts, where symbols are items, and their spans; items that it lacks, and that it repeats."""
    parts: Parts = []
    spans: list[tuple[int, int]] = []
    seen: Counter[int] = Counter()
    repeated: list[Item] = []
    end = 0
    for match in _SYMBOL.finditer(output):
        number = int(match[0][1:-1]) - 1
        spans.append((end, match.start()))
        before, end = output[end : match.start()], match.end()
        seen[number] += 1
        if number < len(items) and seen[number] == 1:
            item = items[number]
            follows = parts and isinstance(last := parts[-1], Item) and last.touches(item)
            parts += ["" if follows and not before.strip() else before, item]
            spans.append(match.span())
            continue
        if number < len(items) and seen[number] == 2:
            repeated.append(items[number])
        parts.append(before.rstrip(" ") if output[end : end + 1] in _CLOSING else before)
    lost = [item for place, item in enumerate(items) if not seen[place]]
    return [*parts, output[end:]], [*spans, (end, len(output))], lost, repeated


def _joined(parts: Parts) -> tuple[str, list[int]]:
    """A line of parts, and where each begins: each item touches what it may, and none becomes part of a word."""
    line = ""
    end: Side | None = None  # what was on the right of an item that the line ends with
    begins = []
    for part in parts:
        text, begin = _text(part), part.before if isinstance(part, Item) else None
        if isinstance(part, Item):
            line = line.removesuffix(" ") if begin == "touching" else line
        elif end == "touching":
            text = text.removeprefix(" ")
        if _divided(line[-1:], end, text[:1], begin):
            line += " "
        line += text
        begins.append(len(line) - len(_text(part)))
        if text:
            end = part.after if isinstance(part, Item) else None
    lead = len(line) - len(line.lstrip())
    return line.strip(), [begin - lead for begin in begins]


def _divided(last: str, end: Side | None, first: str, begin: Side | None) -> bool:
    """Whether a space belongs between two parts, given the characters there, and the sides of those that are items."""
    if end is None and begin is None:
        return bool(_SPACED.match(last) and _SPACED.match(first))
    if _LETTER.match(last) and _LETTER.match(first):
        return True
    if end is not None and begin is not None:
        return "apart" in (end, begin) and "touching" not in (end, begin)
    return bool((end == "apart" and _SPACED.match(first)) or (begin == "apart" and _SPACED.match(last)))


def _has_letters(part: str | Item) -> bool:
    return isinstance(part, str) and has_letters(part)


def _pieces(parts: Sequence[str | Item]) -> Iterator[str]:
    """What is to be translated between the items of a line: text that begins with a letter or a digit."""
    return (_bounds(part)[1] for part in parts if isinstance(part, str) and _has_letters(part))


def _bounds(part: str) -> tuple[str, str, str]:
    """What stands before the first letter or digit, the text from there, and the spaces behind it."""
    start = next(place for place, character in enumerate(part) if character.isalnum())
    end = len(part.rstrip())
    return part[:start], part[start:end], part[end:]


def _in_pieces(parts: Sequence[str | Item], results: Iterator[str]) -> str:
    """A line whose text is replaced by the results for its ``_pieces``, with what stands around these."""
    found: Parts = []
    for part in parts:
        if isinstance(part, str) and _has_letters(part):
            before, _, after = _bounds(part)
            found.append(f"{before}{next(results)}{after}")
        else:
            found.append(part)
    return one_line(_joined(found)[0])


def symbols_of(processors: Processors | None) -> int:
    """How many symbols the vocabulary of both sides has, from the first one on; only SentencePiece can have any."""
    if not processors:
        return 0
    known = (all(side.piece_to_id(symbol) != side.unk_id() for side in processors) for symbol in SYMBOLS)
    return sum(itertools.takewhile(bool, known))


def protection(
    folder: Path,
    kinds: str | Iterable[str],
    missing: Missing | None,
    processors: Processors | None,
    counts: Counter[str],
) -> Protection | None:
    """Protection for a model folder; none without kinds, which may be a text with commas.

    Raises UserError for an unknown kind, for ``missing`` without kinds, and for a model that never saw a symbol.
    """
    kinds = [kind.strip(" ") for kind in kinds.split(",")] if isinstance(kinds, str) else [*kinds]
    if missing and not kinds:
        raise UserError("--protect-missing needs --protect, which names what must not be missing")
    if not kinds:
        return None
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise UserError(f"--protect {unknown[0]}: is none of {', '.join(KINDS)}")
    if missing not in (None, "append", "keep"):
        raise UserError(f"--protect-missing {missing}: is neither append nor keep")
    if not (symbols := symbols_of(processors)) and missing is None:
        remedy = (
            "train it with `augmentation: {both_sides: {protected: 0.05}}`, or add --protect-missing append or keep"
        )
        raise UserError(f"{folder}: its vocabulary has no symbol {SYMBOLS[0]} to protect text with; {remedy}")
    return Protection(kinds, missing, symbols, counts)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this module, which are arguments of a Translator."""
    kinds = f"text to keep as it is: {','.join(KINDS)}, or some of them"
    parser.add_argument("--protect", metavar="KINDS", default=[], help=kinds)
    about = "what the model loses: put it at the end, or translate the line in pieces around it"
    parser.add_argument("--protect-missing", choices=["append", "keep"], help=about)


def summary(counts: Counter[str]) -> str:
    """What was protected, by kind, and what the model lost or repeated; nothing if nothing was."""
    found = [
        name.removeprefix("protected_") for name, count in counts.items() if name.startswith("protected_") and count
    ]
    parts = []
    for kind in sorted(found, key=[*KINDS, "symbol"].index):
        failed = [f"{counts[f'{name}_{kind}']:,} {name}" for name in ("lost", "repeated") if counts[f"{name}_{kind}"]]
        parts.append(f"{kind} {counts[f'protected_{kind}']:,}" + (f" ({', '.join(failed)})" if failed else ""))
    return f"protected: {'; '.join(parts)}" if parts else ""
