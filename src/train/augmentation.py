"""Change some pairs of an epoch by rule, so that a student learns text as people write it.

Both sides of a finished pair change alike: case, final punctuation, several sentences in one, and text that must be
copied, at an edge or, by the links of its words (train.aligned_words), inside. Or the source alone changes (MEANT), and
its target stays a translation of what was meant. What else changes a source is done before the teacher translates it
(train.source_augmentation).

At most one rule changes a pair, so counts add up. ``joined`` appends copies of the next pairs, which stay, so an epoch
keeps its number of pairs. Equal pairs, settings, seed and epoch give equal bytes.

The rules are those of OpusTrainer's modifiers, as far as it has them. Its package is not used: it draws from the one
random state of Python's process, so no epoch could be drawn by itself; it joins all languages with spaces; and it
demands one version of SentencePiece.
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from random import Random

from findings.altered_text import FINAL, doubled, title, typo, typos, without_final
from nmt_frontier.errors import UserError
from nmt_frontier.sentence import NO_SPACES, sentence
from nmt_frontier.text.items import SYMBOLS, Finder
from train.aligned_words import Align, AlignedWords, Pair
from train.invented_text import email, emoji, number, placeholder, url, word
from train.settings import PLACED, PROTECTED, Augmentation

Change = Callable[[Random, Pair, AlignedWords | None], Pair]

TOGETHER = (2, 4)  # sentences of a joined pair, as in OpusTrainer's Merge
SHARED = re.compile(r"(?<=\w )[A-Z]\w{2,}")  # a name, where both sides have it and it begins none of them
ITEMS = Finder()
MOST_SYMBOLS = 3  # that are put into a pair besides those that stand for its own text
PLACES = {"start": 3, "end": 4, "before the final mark": 2, "alone": 1}  # of a copy, with their weights
INSIDE = 0.5  # of what could stand at an edge, where places inside are known
TAGS = ("b", "i", "u", "em", "strong", "span", "a", "code")
NAME = re.compile("[A-Za-z]{2,}")  # a word of a source that may be in a URL


def _both(change: Callable[[str], str]) -> Change:
    return lambda drawn, pair, words: (change(pair[0]), change(pair[1]))


def _marked(change: Callable[[str], str]) -> Change:
    """A change of the final marks, if both sides have one."""
    return lambda drawn, pair, words: (change(pair[0]), change(pair[1])) if _ends_with_marks(pair) else pair


def _source(change: Callable[[Random, str], str]) -> Change:
    return lambda drawn, pair, words: (change(drawn, pair[0]), pair[1])


def _ends_with_marks(pair: Pair) -> bool:
    return all(side.endswith(tuple(FINAL)) for side in pair)


def _copied(make: Callable[[Random, Sequence[str]], str]) -> Change:
    """The same text at the same place of both sides, or instead of them. make: has words of the source for it."""

    def change(drawn: Random, pair: Pair, words: AlignedWords | None) -> Pair:
        names = [name.lower() for name in NAME.findall(pair[0])]
        item, place = make(drawn, names), drawn.choices([*PLACES], [*PLACES.values()])[0]
        if place == "alone":
            return item, item
        if words and (cuts := words.cuts()) and drawn.random() < INSIDE:
            return words.inserted(item, drawn.choice(cuts)).pair
        if place == "before the final mark" and not _ends_with_marks(pair):
            place = "end"
        return _with(item, pair[0], place), _with(item, pair[1], place)

    return change


def _with(item: str, side: str, place: str) -> str:
    if place == "start":
        return f"{item} {side}"
    before = side if place == "end" else without_final(side)
    marks = side[len(side.rstrip(FINAL)) :] if place != "end" else ""
    return f"{before} {item}{marks}"


def tag(drawn: Random, pair: Pair, words: AlignedWords | None) -> Pair:
    """A tag around linked words; where none are known, around the first word or the sentence."""
    name = drawn.choice(TAGS)
    first, last = f"<{name}>", f"</{name}>"
    if words and (spans := words.spans()):
        return words.around(first, last, drawn.choice(spans))
    if drawn.random() < 0.5 or not all(" " in side for side in pair):
        return _each(lambda side: f"{first}{side}{last}", pair)
    return _each(lambda side: f"{first}{side.replace(' ', f'{last} ', 1)}", pair)


def protected(drawn: Random, pair: Pair, words: AlignedWords | None) -> Pair:
    """Symbols instead of what both sides have alike, such as a number, and more of them at places that both have.

    nmt-frontier translate --protect hides URLs, tags and the like behind these symbols.
    """
    symbols = drawn.sample(SYMBOLS, len(SYMBOLS))
    if drawn.random() < 0.1:
        alone = " ".join(symbols[: drawn.randint(1, 2)])
        return alone, alone
    shared = _shared(pair)[: len(SYMBOLS) - 2 * MOST_SYMBOLS]
    symbol_of = {item: symbols.pop() for item in shared}
    if shared:
        pattern = re.compile("|".join(map(re.escape, shared)))
        pair = _each(lambda side: pattern.sub(lambda match: symbol_of[match[0]], side), pair)
    places = drawn.randint(0 if shared else 1, MOST_SYMBOLS)
    if words and (linked := words.of(pair)) and (linked.cuts() or linked.spans()):
        inside = sum(drawn.random() < INSIDE for _ in range(places))
        pair, places = _inside(drawn, linked, symbols, inside), places - inside
    for _ in range(places):
        pair = drawn.choice((_beside, _beside, _around))(drawn, pair, symbols)
    return pair


def _inside(drawn: Random, words: AlignedWords, symbols: list[str], places: int) -> Pair:
    """Symbols between words and, as tags, around them, each at one of the places that the sides have alike."""
    for _ in range(places):
        cuts, spans = words.cuts(), words.spans()
        if spans and (not cuts or drawn.random() < 0.5):
            begin, end = drawn.choice(spans)
            words = words.inserted(symbols.pop(), end).inserted(symbols.pop(), begin)
        else:
            words = words.inserted(symbols.pop(), drawn.choice(cuts))
    return words.pair


def _shared(pair: Pair) -> list[str]:
    """Items and names that either side has exactly once, in the order of the source."""
    sides = []
    for side in pair:
        items = [match[0] for match in ITEMS.found(side)]
        rest = [name for name in SHARED.findall(side) if not any(name in item for item in items)]
        sides.append([text for text in [*items, *rest] if side.count(text) == 1])
    return [text for text in sides[0] if text in sides[1]]


def _each(change: Callable[[str], str], pair: Pair) -> Pair:
    return change(pair[0]), change(pair[1])


def _beside(drawn: Random, pair: Pair, symbols: list[str]) -> Pair:
    """A symbol at the start, at the end, or after a comma of the same number, where both sides have as many."""
    symbol, commas = symbols.pop(), pair[0].count(", ")
    places = ["start", "end", *["before the final mark"] * _ends_with_marks(pair)]
    place = drawn.choice([*places, *["comma"] * (0 < commas == pair[1].count(", "))])
    if place != "comma":
        return _each(lambda side: _with(symbol, side, place), pair)
    which = drawn.randint(1, commas)
    parts = (side.split(", ") for side in pair)
    source, target = (", ".join([*part[:which], f"{symbol} {part[which]}", *part[which + 1 :]]) for part in parts)
    return source, target


def _around(drawn: Random, pair: Pair, symbols: list[str]) -> Pair:
    """Two symbols around the sentence or its first word, as tags; no other word is known to be at a known place."""
    first, last = symbols.pop(), symbols.pop()
    if drawn.random() < 0.5 or not all(" " in side for side in pair):
        place = "before the final mark" if _ends_with_marks(pair) else "end"
        return _each(lambda side: f"{first} {_with(last, side, place)}", pair)
    return _each(lambda side: f"{first} {side.replace(' ', f' {last} ', 1)}", pair)


JOINED = "joined"  # the rule that needs other pairs, too
CHANGES: dict[str, Change] = {
    "upper_case": _both(str.upper),
    "title_case": _both(title),
    "lower_case": _both(str.lower),
    "no_final_punctuation": _marked(without_final),
    "doubled_punctuation": _marked(doubled),
    "url": _copied(url),
    "email": _copied(email),
    "number": _copied(number),
    "emoji": _copied(emoji),
    "placeholder": _copied(placeholder),
    "foreign_word": _copied(lambda drawn, names: word(drawn)),  # none of the source, whose words are translated
    "tag": tag,
    PROTECTED: protected,
}
RULES = (*CHANGES, JOINED)

TYPOS = (0.05, 0.1, 0.2)  # shares of the words of a line


def mistyped(drawn: Random, text: str) -> str:
    """A typo in a share of the words, and in one of them at least: a short line would often get none."""
    if (changed := typos(text, drawn, drawn.choice(TYPOS))) != text:
        return changed
    words = text.split(" ")
    for place in drawn.sample(range(len(words)), len(words)):
        if (word := typo(words[place], drawn)) != words[place]:
            return " ".join([*words[:place], word, *words[place + 1 :]])
    return text


MEANT: dict[str, Callable[[Random, str], str]] = {  # the source alone
    "upper_case": lambda _, text: text.upper(),
    "title_case": lambda _, text: title(text),
    "lower_case": lambda _, text: text.lower(),
    "typos": mistyped,
}
_SOURCE = "meant {}"  # how a rule of MEANT is counted


def check(part: str, rules: Iterable[str], known: Collection[str]) -> None:
    """Raises UserError if a part of an augmentation has a rule that is not known."""
    if unknown := [rule for rule in rules if rule not in known]:
        raise UserError(f"{part} {unknown[0]}: is none of {', '.join(known)}")


def rates(settings: Augmentation) -> dict[str, float]:
    """The share of the pairs that each rule changes, by the names that it is counted by."""
    meant = {_SOURCE.format(rule): share for rule, share in settings.meant.items()}
    return {rule: float(share) for rule, share in {**settings.both_sides, **meant}.items()}


_CHANGES = CHANGES | {_SOURCE.format(rule): _source(change) for rule, change in MEANT.items()}


def joined(pairs: Iterable[Pair], languages: Iterable[str]) -> Pair:
    """All pairs as one, with a space between sentences in languages that have one."""
    spaces = ("" if language in NO_SPACES else " " for language in languages)
    source, target = (space.join(side) for space, side in zip(spaces, zip(*pairs, strict=True), strict=True))
    return source, target


def augmented(
    blocks: Iterable[bytes], settings: Augmentation, seed: int, epoch: int, counts: Counter[str],
    align: Align | None = None, added: bool = False,
) -> Iterator[bytes]:  # fmt: skip
    """Yield blocks of lines of TSV with their changes, and count the pairs that each rule changed.

    A rule that has nothing to change in a pair, or would leave a side empty, leaves it as it is, and does not count it.
    The last pairs of a block are joined with its first ones. align: links the words of pairs that get text inside.
    added: a changed pair comes behind the unchanged one.
    """
    shares = rates(settings)
    rules = [*shares, ""]
    weights = [*shares.values(), max(1 - sum(shares.values()), 0.0)]
    for block, text in enumerate(blocks):
        drawn = Random(f"{seed} augmentation {epoch} {block}")
        lines = text.split(b"\n")[:-1]
        changed = list(lines)
        chosen = drawn.choices(rules, weights, k=len(lines))
        placed = (_pair(line) for line, rule in zip(lines, chosen, strict=True) if rule in PLACED)
        words = align(placed) if align else itertools.repeat(None)
        for place, rule in enumerate(chosen):
            if not rule:
                continue
            source, target, *rest = lines[place].decode().split("\t")
            if rule == JOINED:
                following = range(place, place + drawn.randint(*TOGETHER))
                new = joined((_pair(lines[row % len(lines)]) for row in following), settings.languages)
            else:
                new = _CHANGES[rule](drawn, (source, target), next(words) if rule in PLACED else None)
            source_side, target_side = map(sentence, new)
            if source_side and target_side and (source_side, target_side) != (source, target):
                counts[rule] += 1
                line = "\t".join((source_side, target_side, *rest)).encode()
                changed[place] = lines[place] + b"\n" + line if added else line
        yield b"".join(line + b"\n" for line in changed)


def _pair(line: bytes) -> Pair:
    source, target, *_ = line.decode().split("\t")
    return source, target
