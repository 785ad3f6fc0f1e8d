"""Damage three pairs in ten of a clean text in six known ways, to see what filters find (benchmarks/filters.py).

The folder gets ``noisy.tsv.gz``, pairs with their numbers; the same as ``rules.tsv.gz`` and ``punctuation.tsv.gz``,
as a study reads no text twice; ``clean.tsv.gz``, the same pairs without damage; ``labels.tsv.gz``, the kind, the part
and the corpus of each; and other pairs of the same corpora: ``trusted``, ``dev`` and ``test``, and of one of them
``rest``. Parts 1 and 2 are halves of a text of all corpora; part 3, behind them, is more of one corpus, for models to
learn from. No pair has a side that is in dev or test; none of trusted or rest has one of a clean pair. Equal seeds give
equal bytes.
"""

import argparse
import gzip
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from formats import records
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import atomic_path

GOOD = "good"
NOISE = 0.3
SHARES = {"shifted": 2, "language": 2, "copied": 2, "cut source": 1, "cut target": 1, "shuffled": 2, "other": 2}
TWELFTHS = sum(SHARES.values())  # of the noise
NEAR = 5  # pairs after a pair, of which a shifted alignment has the target of the first one that says something else
LEAST_WORDS = 4  # of a side that is cut or shuffled

MODELS = 3  # the part that models learn from

SAME = ("noisy", "rules", "punctuation")  # corpora of the study with one text and different rules

Sides = tuple[str, str]


class Pair(NamedTuple):
    source: str
    target: str
    corpus: str

    @property
    def sides(self) -> Sides:
        return self.source, self.target


class Labelled(NamedTuple):
    """A pair of the noisy text. place: of the clean one in all corpora."""

    place: int
    kind: str
    sides: Sides


def unrelated(pair: Pair, other: Pair) -> bool:
    """Whether on neither side half of the words of both together are in both, whatever their case."""
    for one, another in zip(pair.sides, other.sides, strict=True):
        left, right = ({*text.casefold().split()} for text in (one, another))
        if 2 * len(left & right) >= len(left | right):
            return False
    return True


class Damage:
    """pairs: of all corpora, in order. french: of English captions. held_out: sides that no damaged pair may get."""

    def __init__(self, pairs: list[Pair], french: dict[str, str], held_out: set[str], rng: random.Random):
        self._pairs, self._french, self._held_out, self._rng = pairs, french, held_out, rng
        self._captions = [*french.values()]
        self._by_length: dict[tuple[str, int], list[Pair]] = defaultdict(list)
        for pair in pairs:
            self._by_length[pair.corpus, len(pair.target.split())].append(pair)
        self._ways: dict[str, Callable[[int, Pair], Sides]] = {
            "shifted": self._shifted,
            "language": self._language,
            "copied": lambda _, pair: (pair.source, pair.source),
            "cut source": lambda _, pair: (half(pair.source), pair.target),
            "cut target": lambda _, pair: (pair.source, half(pair.target)),
            "shuffled": self._shuffled,
            "other": self._other,
        }

    def sides(self, kind: str, place: int) -> Sides | None:
        """Those of a pair with such damage; None if it cannot have it."""
        pair = self._pairs[place]
        found = self._ways[kind](place, pair)
        return found if found != pair.sides and self._held_out.isdisjoint(found) else None

    def _shifted(self, place: int, pair: Pair) -> Sides:
        following = self._pairs[place + 1 : place + 1 + NEAR]
        others = (other for other in following if other.corpus == pair.corpus and unrelated(pair, other))
        return pair.source, next(others, pair).target

    def _language(self, _: int, pair: Pair) -> Sides:
        """A caption's own French translation; of other text as many words of French captions."""
        if own := self._french.get(pair.source):
            return pair.source, own
        length, found = len(pair.target.split()), list[str]()
        while len(found) < length:
            found += self._rng.choice(self._captions).split()
        return pair.source, " ".join(found[:length])

    def _shuffled(self, _: int, pair: Pair) -> Sides:
        """At most half of the words where they were."""
        before = pair.target.split()
        after = self._rng.sample(before, len(before))
        still = sum(one == other for one, other in zip(before, after, strict=True))
        return pair.source, " ".join(after if len(before) >= LEAST_WORDS and 2 * still <= len(before) else before)

    def _other(self, _: int, pair: Pair) -> Sides:
        """The translation of another sentence of the corpus, as long as the right one but for a tenth or a word."""
        length = len(pair.target.split())
        most = max(1, length // 10)
        other = self._rng.choice(self._by_length[pair.corpus, length + self._rng.randint(-most, most)] or [pair])
        return pair.source, (other if unrelated(pair, other) else pair).target


def half(text: str) -> str:
    """The first half of its words; all of it if they are few."""
    words = text.split()
    return " ".join(words[: (len(words) + 1) // 2]) if len(words) >= LEAST_WORDS else text


def labelled(pairs: list[Pair], places: list[int], damage: Damage, rng: random.Random) -> list[Labelled]:
    """Some of the pairs damaged, all in a random order."""
    found: list[Labelled] = []
    rest = places
    for kind, share in SHARES.items():
        missing, left = round(len(places) * NOISE * share / TWELFTHS), list[int]()
        for place in rest:
            if missing and (sides := damage.sides(kind, place)):
                found.append(Labelled(place, kind, sides))
                missing -= 1
            else:
                left.append(place)
        rest = left
    found += [Labelled(place, GOOD, pairs[place].sides) for place in rest]
    return rng.sample(found, len(found))


def halves(noisy: list[Labelled]) -> Iterator[int]:
    """1 or 2 for each pair, as many of either in every kind."""
    seen: dict[str, int] = defaultdict(int)
    for pair in noisy:
        yield 1 + seen[pair.kind] % 2
        seen[pair.kind] += 1


class Draw:
    """Draws pairs at random, none twice."""

    def __init__(self, pairs: list[Pair], rng: random.Random):
        self._pairs, self._order = pairs, iter(rng.sample(range(len(pairs)), len(pairs)))

    def _without(self, sides: set[str]) -> Iterator[int]:
        return (place for place in self._order if sides.isdisjoint(self._pairs[place].sides))

    def rest(self, corpus: str, most: int, without: set[str]) -> list[int]:
        """Further pairs of one corpus, so many at most."""
        places = (place for place in self._without(without) if self._pairs[place].corpus == corpus)
        return [*islice(places, most)]

    def places(self, number: int, without: set[str]) -> list[int]:
        """Of so many pairs that have none of these sides."""
        found = [*islice(self._without(without), number)]
        if len(found) < number:
            raise UserError(f"the corpora have {len(found):,} pairs that may be drawn, not {number:,}; draw fewer")
        return found

    def sides(self, places: Iterable[int]) -> set[str]:
        return {side for place in places for side in self._pairs[place].sides}


def write(path: Path, rows: Iterable[tuple[object, ...]]) -> None:
    """A compressed table; equal rows give equal bytes."""
    with atomic_path(path) as part, open(part, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        file.writelines(("\t".join(map(str, row)) + "\n").encode() for row in rows)


def lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=there, nargs="+", required=True, help="records, after a study's rules")
    parser.add_argument("--captions", type=there, nargs=2, required=True, help="English and French lines, .gz")
    parser.add_argument("--pairs", type=positive, default=60_000, help="of the noisy text (default: %(default)s)")
    parser.add_argument("--trusted", type=positive, default=100_000, help="pairs (default: %(default)s)")
    parser.add_argument("--dev", type=positive, default=1000, help="pairs (default: %(default)s)")
    parser.add_argument("--test", type=positive, default=3000, help="pairs (default: %(default)s)")
    parser.add_argument("--rest", required=True, help="the corpus of which other pairs are written, too")
    parser.add_argument("--most", type=positive, default=20_000, help="of them (default: %(default)s)")
    parser.add_argument("--models", required=True, metavar="CORPUS", help="that models learn more pairs of")
    parser.add_argument("--learned", type=positive, default=20_000, help="so many at most (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="folder")
    args = parser.parse_args()

    rng = random.Random(args.seed)
    pairs = [Pair(*sides, records.name(path)) for path in args.corpora for sides in records.read(path)]
    french = dict(zip(*map(lines, args.captions), strict=True))
    draw = Draw(pairs, rng)
    held_out = {name: draw.places(number, set()) for name, number in (("dev", args.dev), ("test", args.test))}
    reserved = draw.sides(place for places in held_out.values() for place in places)
    places = draw.places(args.pairs, reserved)
    used = reserved | draw.sides(places)
    further = {"trusted": draw.places(args.trusted, used), "rest": draw.rest(args.rest, args.most, used)}
    damage = Damage(pairs, french, reserved, rng)
    noisy = labelled(pairs, places, damage, rng)
    parts = [*halves(noisy)]
    learned = Draw(pairs, rng).rest(args.models, args.learned, used | draw.sides(further["trusted"]))
    noisy += labelled(pairs, learned, damage, rng)
    parts += [MODELS] * len(learned)

    labels = ((pair.kind, part, pairs[pair.place].corpus) for pair, part in zip(noisy, parts, strict=True))
    write(args.output / "labels.tsv.gz", ((number, *label) for number, label in enumerate(labels)))
    for name in SAME:
        write(args.output / f"{name}.tsv.gz", ((*pair.sides, number) for number, pair in enumerate(noisy)))
    write(args.output / "clean.tsv.gz", (pairs[pair.place].sides for pair in noisy))
    for name, drawn in (held_out | further).items():
        write(args.output / f"{name}.tsv.gz", (pairs[place].sides for place in drawn))


if __name__ == "__main__":
    command(main)
