"""Text that must come through a translation as it is: hidden behind symbols before decoding, put back after it.

A symbol stands in the source as a word of its own, also where a tag touches a word, so that the word keeps its pieces.
A symbol that a translation repeats, or has without its source, is dropped. A line that has no letter outside of such
text is not translated but copied.

Where a model writes spaces around a symbol otherwise than the source, the source holds. A tag touches what the
translation has on the sides where it touched text. Any other item is kept apart from letters, digits and items on the
sides where it had a space, a mark such as ``.`` or ``(``, or an end of the line: ``Hund⟦1⟧`` becomes ``Hund {name}``.
Only letters of scripts that have a space between words count (nmt_frontier.text.items.SPACED). Behind a placeholder the
model decides: a word may end in what follows, as in ``{city}ssä``. Marks touch an item as the model has them, as in
``(⟦1⟧).``. Items that follow each other at once, such as ``%s%d``, do so again where the model keeps their order.

What the model loses is counted by kind. ``append`` puts it at the end of the translation; ``keep`` translates the line
again, in pieces around what must be kept, each at its place. Both are also for models whose vocabulary has no symbols:
these translate the text as it is, with ``append``, or in pieces at once, with ``keep``.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.errors import UserError
from nmt_frontier.sentence import has_letters, one_line
from nmt_frontier.text.alignment import Alignment, Span, copied, joined, moved
from nmt_frontier.text.items import DIVIDING, LETTER, SPACED, STAND_IN, SYMBOL, SYMBOLS, Finder
from nmt_frontier.text.stage import Again, Context, Stage, Translation
from nmt_frontier.text.tokenizers import Processors

Missing = Literal["append", "keep"]

MARKUP = "markup"  # the kind of what --html does not translate
_SYMBOL, _STAND_IN = re.compile(SYMBOL), re.compile(STAND_IN)
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


class InPieces(NamedTuple):
    """A line that is translated in the pieces around its items."""

    parts: Sequence[str | Item]


def symbols_of(processors: Processors | None) -> int:
    """How many symbols the vocabulary of both sides has, from the first one on; only SentencePiece can have any."""
    if not processors:
        return 0
    known = (all(side.piece_to_id(symbol) != side.unk_id() for side in processors) for symbol in SYMBOLS)
    return sum(itertools.takewhile(bool, known))


class Protection(Stage[Hidden | InPieces]):
    """Hides text of some kinds. symbols: as many as the model's vocabulary has, from the first one on.

    It counts ``protected_KIND`` of items in sources, and ``lost_KIND`` and ``repeated_KIND`` of those that the model
    did not translate to exactly one copy, whatever became of them then.
    """

    def __init__(self, kinds: Sequence[str], missing: Missing | None, symbols: int, counts: Counter[str]):
        self._finder, self._missing, self._counts = Finder(kinds), missing, counts
        self._symbols, self._only_markup = SYMBOLS[:symbols], [*kinds] == [MARKUP]

    @classmethod
    def chosen(cls, options: Mapping[str, Any], context: Context) -> "Protection | None":
        kinds, missing = options["protect"], options["protect_missing"]
        if missing and not kinds:
            raise UserError("--protect-missing needs --protect, which names what must not be missing")
        if not kinds and not options["html"]:
            return None
        if missing not in (None, "append", "keep"):
            raise UserError(f"--protect-missing {missing}: is neither append nor keep")
        if not (symbols := symbols_of(context.processors)) and kinds and missing is None:
            raise UserError(
                f"{context.folder}: its vocabulary has no symbol {SYMBOLS[0]} to protect text with; train it with "
                "`augmentation: {both_sides: {protected: 0.05}}`, or add --protect-missing append or keep"
            )
        return cls([*kinds, *[MARKUP] * options["html"]], missing, symbols, context.counts)

    def hide(self, text: str) -> tuple[Sequence[str], Hidden | InPieces]:
        hidden = self.hidden(text)
        if hidden.copy is None and hidden.items and not self._symbols and self._keeps(hidden):
            return [], hidden
        return [hidden.text] * (hidden.copy is None), hidden

    def restore(self, state: Hidden | InPieces, outputs: Sequence[Translation]) -> Translation | Again:
        if isinstance(state, InPieces):
            return _in_pieces(state.parts, outputs)
        if (copy := state.copy) is not None:
            self._count(state.items)
            return Translation(copy, lambda: copied(copy, self._whole(copy)))
        if not outputs:
            self._count(state.items)
            return Again([*_pieces(state.parts)], InPieces(state.parts))
        (output,) = outputs
        kept = self.restored(state, output.text) if state.items else Restored(output.text)
        if kept.failed and self._keeps(state):
            return Again([*_pieces(state.parts)], InPieces(state.parts))
        return Translation(kept.text, lambda: self._aligned(state, kept, output.alignment))

    def _aligned(self, hidden: Hidden, kept: Restored, alignment: Alignment) -> Alignment:
        if kept.moves:
            alignment = _with_items(alignment, hidden, kept)
        spans = [(begin, begin + len(item.text)) for begin, item in kept.items]
        return replace(alignment, whole=[*spans, *self._whole(kept.text)])  # also those that were no symbols

    def _keeps(self, hidden: Hidden) -> bool:
        """Whether a line must have all its items: markup that is not translated is never lost."""
        return self._missing == "keep" or any(item.kind == MARKUP for item in hidden.items)

    def _found(self, text: str) -> Sequence[re.Match[str]]:
        return () if self._only_markup and not _STAND_IN.search(text) else self._finder.found(text)

    def _whole(self, text: str) -> list[Span]:
        """Where a text has items, which no tag divides."""
        return [match.span() for match in self._found(text)]

    def hidden(self, line: str) -> Hidden:
        if not (matches := self._found(line)) and (self._only_markup or any(map(str.isalpha, line))):
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
        text, moves = _with_symbols(parts, self._symbols)
        return Hidden(text, parts, moves, min(len(matches), len(self._symbols)))

    def restored(self, source: Hidden, output: str) -> Restored:
        """What becomes of the model's output for a line with items; adds to the counts."""
        items = source.items
        parts: Parts = [output]
        spans = [(0, len(output))]
        lost: list[Item] = []
        repeated: list[Item] = []
        if self._symbols:
            parts, spans, lost, repeated = _without_symbols(output, items[: source.symbols])
        plain = items[source.symbols :]
        if plain:  # these were in the source as they are
            kept = any(item.text in output for item in plain)
            there = Counter([match[0] for match in self._finder.found(_joined(parts)[0])] if kept else [])
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


def _in_pieces(parts: Sequence[str | Item], outputs: Iterable[Translation]) -> Translation:
    """A line whose text is replaced by the translations of its ``_pieces``, with what stands around these."""
    found: Parts = []
    aligned: list[tuple[int, Translation]] = []  # with what stands before it in its part
    results = iter(outputs)
    for part in parts:
        if isinstance(part, str) and _has_letters(part):
            before, _, after = _bounds(part)
            output = next(results)
            found.append(f"{before}{output.text}{after}")
            aligned.append((len(before), output))
        else:
            found.append(part)
            own = _text(part)
            whole = [(0, len(own))] if isinstance(part, Item) else []
            aligned.append((0, Translation(own, partial(copied, own, whole))))
    text, begins = _joined(found)
    sources = itertools.accumulate((len(_text(part)) for part in parts), initial=0)
    return Translation(
        one_line(text),
        lambda: joined(
            (source + before, max(target + before, 0), own.alignment)
            for (before, own), source, target in zip(aligned, sources, begins, strict=False)
        ),
    )


def _with_items(alignment: Alignment, hidden: Hidden, kept: Restored) -> Alignment:
    """The alignment of a text and its translation with their items, each of which is aligned with itself."""
    source, target = moved(alignment.source, hidden.moves), moved(alignment.target, kept.moves)
    rows = [*alignment.weights]
    appended: list[Span] = []
    for begin, item in kept.items:
        own = begin, begin + len(item.text)
        row = np.zeros(alignment.weights.shape[1], np.float32)
        row[_common(source[: len(row)], (item.begin, item.begin + len(item.text)))] = 1
        pieces = _common(target, own)
        if not len(pieces):
            appended.append(own)
            rows.append(row)
        for piece in pieces:
            rows[piece] = row
    weights = np.array(rows, np.float32).reshape(len(rows), alignment.weights.shape[1])
    return Alignment(source.tolist(), [*target.tolist(), *appended], weights)


def _common(spans: NDArray[np.int64], wanted: Span) -> NDArray[np.int64]:
    """The places of those spans that have characters in common with another one."""
    return np.flatnonzero(np.maximum(spans[:, 0], wanted[0]) < np.minimum(spans[:, 1], wanted[1]))
