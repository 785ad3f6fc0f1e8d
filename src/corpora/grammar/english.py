"""Meanings in English: one sentence for each."""

from corpora.grammar.meaning import Clause, Phrase, Sentence, lexicon

VOWELS = tuple("aeiou")


def sentence(meaning: Sentence) -> str:
    text = clause(meaning.main)
    if meaning.other:
        text += f" {meaning.conjunction} {clause(meaning.other)}"
    return text[0].upper() + text[1:] + "."


def phrase(meaning: Phrase) -> str:
    noun = meaning.noun.en.plural if meaning.plural else meaning.noun.en.singular
    words = [meaning.adjective.en.masculine] if meaning.adjective else []
    words += [meaning.material.en] if meaning.material else []
    words.append(noun)
    # "a uniform": the only word of the lexicon with a written but not spoken vowel
    vowel = words[0].startswith(VOWELS) and words[0] != "uniform"
    text = " ".join(["an" if meaning.determiner == "a" and vowel else meaning.determiner, *words])
    if meaning.wears:
        text += f" in {phrase(meaning.wears)}"
    if meaning.clause:
        pronoun = "who" if meaning.noun in lexicon()["people"] else "that"
        text += f" {pronoun} {_predicate(meaning.clause, meaning.plural)}"
    return text


def clause(meaning: Clause) -> str:
    assert meaning.subject  # only a relative clause has none
    return f"{phrase(meaning.subject)} {_predicate(meaning, meaning.subject.plural)}"


def _predicate(meaning: Clause, plural: bool) -> str:
    words = ["are" if plural else "is", meaning.verb.en.ing]
    words += [phrase(meaning.thing)] if meaning.thing else []
    if meaning.place:
        place = meaning.place.en
        words.append(f"{place.motion if meaning.towards else place.rest} the {place.noun.singular}")
    return " ".join(words)
