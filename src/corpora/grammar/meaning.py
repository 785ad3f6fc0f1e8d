"""Meanings of sentences, independent of any language: drawn at random from the lexicon."""

import random
from dataclasses import dataclass

from corpora.grammar.lexicon import Meaning, lexicon

DETERMINERS = ("a", "the", "two", "three", "four", "several", "many")
CONJUNCTIONS = ("while", "because", "when")


@dataclass(frozen=True)
class Phrase:
    """A noun phrase; ``material`` makes the noun a compound, ``wears`` and ``clause`` modify a person."""

    noun: Meaning
    determiner: str
    adjective: Meaning | None = None
    material: Meaning | None = None
    wears: "Phrase | None" = None
    clause: "Clause | None" = None

    @property
    def plural(self) -> bool:
        return self.determiner not in ("a", "the")


@dataclass(frozen=True)
class Clause:
    """``subject`` is None in a relative clause, which takes it from the phrase that it modifies."""

    subject: Phrase | None
    verb: Meaning
    thing: Phrase | None = None
    place: Meaning | None = None
    towards: bool = False


@dataclass(frozen=True)
class Sentence:
    main: Clause
    conjunction: str | None = None
    other: Clause | None = None


def draw(source: random.Random) -> Sentence:
    """A sentence of one clause, or of two with a conjunction."""
    first = _clause(source, _subject(source, rich=True))
    if source.random() < 0.7:
        return Sentence(first)
    return Sentence(first, source.choice(CONJUNCTIONS), _clause(source, _subject(source, rich=False)))


def _subject(source: random.Random, rich: bool) -> Phrase:
    words = lexicon()
    person = source.random() < 0.8
    noun = source.choice(words["people" if person else "animals"])
    adjective = source.choice(words["qualities"]) if source.random() < 0.35 else None
    wears = _worn(source) if rich and person and source.random() < 0.25 else None
    clause = None
    if rich and not wears and source.random() < 0.15:
        clause = _clause(source, None)
    return Phrase(noun, _determiner(source), adjective, wears=wears, clause=clause)


def _worn(source: random.Random) -> Phrase:
    return Phrase(source.choice(lexicon()["clothes"]), "a", source.choice(lexicon()["looks"]))


def _object(source: random.Random) -> Phrase:
    words = lexicon()
    material = source.choice(words["materials"]) if source.random() < 0.35 else None
    kinds = ("furniture", "furniture", "things") if material else ("things", "furniture", "animals")
    noun = source.choice(words[source.choice(kinds)])
    adjective = source.choice(words["looks"]) if source.random() < 0.4 else None
    return Phrase(noun, _determiner(source), adjective, material)


def _clause(source: random.Random, subject: Phrase | None) -> Clause:
    words = lexicon()
    place = source.choice(words["places"]) if source.random() < (0.5 if subject else 0.3) else None
    kind = source.choices(("rest", "motion", "transitive"), (3, 2, 5))[0]
    verb = source.choice(words[kind])
    if kind == "transitive":
        return Clause(subject, verb, _object(source), place)
    if kind == "motion":
        return Clause(subject, verb, place=place or source.choice(words["places"]), towards=True)
    return Clause(subject, verb, place=place)


def _determiner(source: random.Random) -> str:
    return source.choices(DETERMINERS, (10, 5, 2, 1, 1, 1, 1))[0]
