"""Meanings of sentences, independent of language, drawn at random from the words of lexicon.yaml."""

import random
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Generic, NamedTuple, TypedDict, TypeVar

from nmt_frontier.files import read_yaml

DETERMINERS = ("a", "the", "two", "three", "four", "several", "many")
CONJUNCTIONS = ("while", "because", "when")


class Noun(NamedTuple):
    """``weak``: German masculines that take -(e)n in all cases but the nominative."""

    singular: str
    gender: str
    plural: str
    weak: bool = False


class Verb(NamedTuple):
    """``singular`` and ``plural`` are third person; ``prefix`` is separable; ``ing`` is English."""

    infinitive: str
    singular: str
    plural: str
    prefix: str = ""
    reflexive: bool = False
    ing: str = ""


class Adjective(NamedTuple):
    """German has the stem only; French puts it ``before`` the noun, with a form ``before_vowel``, or after it."""

    masculine: str
    feminine: str = ""
    before: bool = False
    before_vowel: str = ""


class Place(NamedTuple):
    """A place with its prepositions of rest and of motion."""

    noun: Noun
    rest: str
    motion: str


Word = TypeVar("Word")


class Meaning(NamedTuple, Generic[Word]):
    """Words of one meaning; German and French with all synonyms."""

    en: Word
    de: tuple[Word, ...]
    fr: tuple[Word, ...]


class Lexicon(TypedDict):
    """All meanings by category."""

    people: list[Meaning[Noun]]
    animals: list[Meaning[Noun]]
    clothes: list[Meaning[Noun]]
    things: list[Meaning[Noun]]
    furniture: list[Meaning[Noun]]
    rest: list[Meaning[Verb]]
    motion: list[Meaning[Verb]]
    transitive: list[Meaning[Verb]]
    qualities: list[Meaning[Adjective]]
    looks: list[Meaning[Adjective]]
    materials: list[Meaning[str]]
    places: list[Meaning[Place]]


def _plural(word: str) -> str:
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


def _english_noun(text: str) -> Noun:
    singular, _, plural = text.partition(", ")
    if not plural and singular.endswith("y") and singular[-2] not in "aeiou":
        plural = singular[:-1] + "ies"
    return Noun(singular, "", plural or _plural(singular))


def _german_noun(text: str) -> Noun:
    singular, gender, plural, *weak = text.split()
    return Noun(singular, gender, plural, bool(weak))


def _french_noun(text: str) -> Noun:
    singular, _, plural = text.partition(", ")
    word, gender = singular.rsplit(" ", 1)
    return Noun(word, gender, plural or (word if word.endswith(("s", "x")) else word + "s"))


def _english_verb(text: str) -> Verb:
    words = text.split()  # a phrasal verb has several words, as many in each of the three forms
    size = len(words) // 3
    base, third, ing = (" ".join(words[size * k : size * (k + 1)]) for k in range(3))
    return Verb(base, third, base, ing=ing)


def _german_verb(text: str) -> Verb:
    infinitive, third, *reflexive = text.split()
    singular, _, prefix = third.partition("|")
    return Verb(infinitive, singular, infinitive.removeprefix(prefix), prefix, bool(reflexive))


def _french_verb(text: str) -> Verb:
    infinitive, *forms = (word.replace("_", " ") for word in text.split())
    if infinitive == "être":
        return Verb(f"être {forms[0]}", forms[0], "", "être")
    singular, plural = forms
    return Verb(infinitive, singular, plural)


def _french_adjective(text: str) -> Adjective:
    masculine, feminine, *rest = (word.replace("_", " ") for word in text.split())
    return Adjective(masculine, feminine, bool(rest), rest[1] if len(rest) > 1 else masculine)


def _english_place(text: str) -> Place:
    rest, motion, noun = text.split(", ", 2)
    return Place(_english_noun(noun), rest, motion)


def _place(text: str, read: Callable[[str], Noun]) -> Place:
    preposition, noun = text.split(maxsplit=1)
    return Place(read(noun), preposition, preposition)


NOUN = (_english_noun, _german_noun, _french_noun)
VERB = (_english_verb, _german_verb, _french_verb)
ADJECTIVE = (Adjective, Adjective, _french_adjective)
PLACE = (_english_place, partial(_place, read=_german_noun), partial(_place, read=_french_noun))


def _meanings(lines: str, readers: tuple[Callable[[str], Word], ...]) -> list[Meaning[Word]]:
    """readers: of a word in English, German and French."""

    def meaning(line: str) -> Meaning[Word]:
        (read, english), *others = zip(readers, line.split(" / "), strict=True)
        return Meaning(
            read(english), *(tuple(read(word.strip()) for word in words.split(";")) for read, words in others)
        )

    return [meaning(line) for line in lines.splitlines()]


@cache
def lexicon() -> Lexicon:
    text = read_yaml(Path(__file__).with_name("lexicon.yaml"))
    return {
        "people": _meanings(text["people"], NOUN),
        "animals": _meanings(text["animals"], NOUN),
        "clothes": _meanings(text["clothes"], NOUN),
        "things": _meanings(text["things"], NOUN),
        "furniture": _meanings(text["furniture"], NOUN),
        "rest": _meanings(text["rest"], VERB),
        "motion": _meanings(text["motion"], VERB),
        "transitive": _meanings(text["transitive"], VERB),
        "qualities": _meanings(text["qualities"], ADJECTIVE),
        "looks": _meanings(text["looks"], ADJECTIVE),
        "materials": _meanings(text["materials"], (str, str, str)),
        "places": _meanings(text["places"], PLACE),
    }


class Phrase(NamedTuple):
    """``material`` makes the noun a compound; ``wears`` and ``clause`` modify a person."""

    noun: Meaning[Noun]
    determiner: str
    adjective: Meaning[Adjective] | None = None
    material: Meaning[str] | None = None
    wears: "Phrase | None" = None
    clause: "Clause | None" = None

    @property
    def plural(self) -> bool:
        return self.determiner not in ("a", "the")


class Clause(NamedTuple):
    """``subject`` is None in a relative clause."""

    subject: Phrase | None
    verb: Meaning[Verb]
    thing: Phrase | None = None
    place: Meaning[Place] | None = None
    towards: bool = False


class Sentence(NamedTuple):
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
    wears = clause = None
    if rich and person and source.random() < 0.25:
        wears = Phrase(source.choice(words["clothes"]), "a", source.choice(words["looks"]))
    if rich and not wears and source.random() < 0.15:
        clause = _clause(source, None)
    return Phrase(noun, _determiner(source), adjective, wears=wears, clause=clause)


def _object(source: random.Random) -> Phrase:
    words = lexicon()
    material = source.choice(words["materials"]) if source.random() < 0.35 else None
    things, furniture, animals = words["things"], words["furniture"], words["animals"]
    noun = source.choice(source.choice((furniture, furniture, things) if material else (things, furniture, animals)))
    adjective = source.choice(words["looks"]) if source.random() < 0.4 else None
    return Phrase(noun, _determiner(source), adjective, material)


def _clause(source: random.Random, subject: Phrase | None) -> Clause:
    words = lexicon()
    place = source.choice(words["places"]) if source.random() < (0.5 if subject else 0.3) else None
    kind = source.choices(("rest", "motion", "transitive"), (3, 2, 5))[0]
    if kind == "transitive":
        return Clause(subject, source.choice(words["transitive"]), _object(source), place)
    if kind == "motion":
        verb = source.choice(words["motion"])
        return Clause(subject, verb, place=place or source.choice(words["places"]), towards=True)
    return Clause(subject, source.choice(words["rest"]), place=place)


def _determiner(source: random.Random) -> str:
    return source.choices(DETERMINERS, (10, 5, 2, 1, 1, 1, 1))[0]
