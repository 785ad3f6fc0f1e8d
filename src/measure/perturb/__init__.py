"""Perturbed versions of a test set, as people write: in capitals, with typos, with URLs in it.

Writes a folder of records, a file for each version: source, reference, the kind of what was inserted, and the inserted
text, which a translation must have unchanged, with spaces between its parts. A version has the lines of the test set in
their order. Two more lists have other lines: ``joined``, three sentences a line, and ``words``, single words, which
have no reference. ``suite`` has the inputs of the project's suite in the source language, if it has any.

A line depends on the seed, the version and its number alone: the first lines of a test set have the same versions.
"""

import csv
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from findings.altered_text import doubled, title, typos, without_final
from nmt_frontier.sentence import NO_SPACES

CLEAN, JOINED, WORDS, SUITE = "clean", "joined", "words", "suite"
SUITE_FILE = Path(__file__).parents[1] / "suite.tsv"  # CC0: language, kind, text, what must be in the output
TYPOS = 0.1  # share of the words
TOGETHER = 3  # sentences of a line of JOINED
DRAWN = 200  # words of WORDS

HOSTS = ("example.org", "www.example.com", "docs.example.net", "shop.example.org")
PATHS = ("", "a", "help/start", "2024/report.pdf", "search?q=dog", "a?b=1&c=2", "page#top")
PEOPLE = ("user", "anna.novak", "j-martin", "info", "support+mail", "office_2")
CURRENCIES = "€$£¥"
EMOJI = ("😀", "🎉", "❤️", "👍🏽", "👩‍🚀", "🇫🇷", "🐕", "🚲", "😂", "☕", "▶️", "©️", "🙂‍↔️")
PLACEHOLDERS = ("{name}", "{0}", "%s", "%(count)d", "${user}", "{{title}}", "__DATE__", "%1$s")
TAGS = ("b", "i", "em", "strong", "u", "span")

Row = tuple[str, str, str, str]  # source, reference, kind and text of what must survive
Change = Callable[[str, str, Random], Row]


def _both(change: Callable[[str], str]) -> Change:
    """A change that makes a true pair of a true pair."""
    return lambda source, reference, _: (change(source), change(reference), "", "")


def _source(change: Callable[[str, Random], str]) -> Change:
    """A change after which the translation is the same."""
    return lambda source, reference, drawn: (change(source, drawn), reference, "", "")


def _inserted(kind: str, make: Callable[[Random], str]) -> Change:
    """Text at the beginning or at the end of both sides."""

    def change(source: str, reference: str, drawn: Random) -> Row:
        item, first = make(drawn), drawn.random() < 0.3
        source, reference = (f"{item} {side}" if first else f"{side} {item}" for side in (source, reference))
        return source, reference, kind, item

    return change


def url(drawn: Random) -> str:
    return f"https://{drawn.choice(HOSTS)}/{drawn.choice(PATHS)}"


def email(drawn: Random) -> str:
    return f"{drawn.choice(PEOPLE)}@{drawn.choice(HOSTS)}"


def number(drawn: Random) -> str:
    amount = drawn.choice((f"{drawn.randint(1, 99)}.{drawn.randint(10, 99)}", f"{drawn.randint(2, 9999)}"))
    return f"{drawn.choice(CURRENCIES)}{amount}"


def tagged(source: str, reference: str, drawn: Random) -> Row:
    """A tag around the first word of either side: no other word is known to have its translation at a known place."""
    name = drawn.choice(TAGS)
    sides = []
    for side in (source, reference):
        first, space, rest = side.partition(" ")
        sides.append(f"<{name}>{first}</{name}>{space}{rest}")
    return sides[0], sides[1], "tag", f"<{name}> </{name}>"


CASE: dict[str, Change] = {  # compared without regard to case
    "upper_case": _source(lambda text, _: text.upper()),
    "title_case": _source(lambda text, _: title(text)),
    "lower_case": _source(lambda text, _: text.lower()),
}
PERTURBATIONS: dict[str, Change] = {
    **CASE,
    "typos": _source(lambda text, drawn: typos(text, drawn, TYPOS)),
    "no_final_punctuation": _both(without_final),
    "doubled_punctuation": _both(doubled),
    "url": _inserted("url", url),
    "email": _inserted("email", email),
    "number": _inserted("number", number),
    "emoji": _inserted("emoji", lambda drawn: drawn.choice(EMOJI)),
    "tag": tagged,
    "placeholder": _inserted("placeholder", lambda drawn: drawn.choice(PLACEHOLDERS)),
}


def perturbed(name: str, pairs: list[tuple[str, str]], seed: int) -> list[Row]:
    """A version of a test set, line by line."""
    change = PERTURBATIONS[name]
    return [change(*pair, random.Random(f"{seed} {name} {number}")) for number, pair in enumerate(pairs)]


def joined(pairs: list[tuple[str, str]], languages: tuple[str, str]) -> list[Row]:
    """Three sentences a line."""
    spaces = ["" if language in NO_SPACES else " " for language in languages]
    groups = (pairs[start : start + TOGETHER] for start in range(0, len(pairs), TOGETHER))
    sides = (
        (space.join(side) for space, side in zip(spaces, zip(*group, strict=True), strict=True)) for group in groups
    )
    return [(source, reference, "", "") for source, reference in sides]


def words(pairs: list[tuple[str, str]], language: str, seed: int) -> list[Row]:
    """Single words of the sources, without punctuation; none in a script without spaces."""
    if language in NO_SPACES:
        return []
    found = sorted({word for source, _ in pairs for word in source.split() if len(word) > 1 and word.isalpha()})
    drawn = random.Random(f"{seed} {WORDS}").sample(found, min(DRAWN, len(found)))
    return [(word, "", "", "") for word in drawn]


def suite(language: str) -> list[Row]:
    """The inputs of a language: text, no reference, its kind, what must be in the output."""
    with open(SUITE_FILE, encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["text"], "", row["kind"], row["kept"]) for row in rows if row["language"] == language]


def lists(pairs: list[tuple[str, str]], languages: tuple[str, str], seed: int) -> Iterator[tuple[str, list[Row]]]:
    """All that is translated, by name; a list may be empty."""
    yield CLEAN, [(*pair, "", "") for pair in pairs]
    yield from ((name, perturbed(name, pairs, seed)) for name in PERTURBATIONS)
    yield JOINED, joined(pairs, languages)
    yield WORDS, words(pairs, languages[0], seed)
    yield SUITE, suite(languages[0])
