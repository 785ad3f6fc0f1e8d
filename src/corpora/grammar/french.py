"""Meanings in French: agreement, place of the adjective, elision, contraction, relative clauses with qui."""

import random

from corpora.grammar.meaning import Adjective, Clause, Meaning, Noun, Phrase, Place, Sentence, Verb

VOWELS = tuple("aeiouéèêâîœ")
SPOKEN_WITH_H = ("homme", "habit")  # a mute h: l'homme
NUMBERS = {
    "two": ("deux",), "three": ("trois",), "four": ("quatre",),
    "several": ("plusieurs",), "many": ("beaucoup de", "de nombreux"),
}  # fmt: skip
CONJUNCTIONS = {"while": ("pendant que", "tandis que"), "because": ("parce que",), "when": ("quand", "lorsque")}


def sentence(meaning: Sentence, source: random.Random) -> str:
    text = _main(meaning.main, source)
    if meaning.other and meaning.conjunction:
        conjunction = source.choice(CONJUNCTIONS[meaning.conjunction])
        other = _clause(meaning.other, source)
        text += f" {elided(conjunction, other) if conjunction.endswith('que') else f'{conjunction} {other}'}"
    return text[0].upper() + text[1:] + "."


def vowel(word: str) -> bool:
    return word.startswith((*VOWELS, *SPOKEN_WITH_H))


def elided(word: str, following: str) -> str:
    """le ami -> l'ami, de école -> d'école, que un -> qu'un."""
    return f"{word[:-1]}'{following}" if vowel(following) else f"{word} {following}"


def agreed(word: Adjective, gender: str, plural: bool, following: str = "") -> str:
    form = word.feminine if gender == "f" else word.masculine
    if gender == "m" and not plural and following and vowel(following):
        form = word.before_vowel
    if not plural or form.endswith(("s", "x", "bon marché")):
        return form
    return form + ("x" if form.endswith("eau") else "s")


def phrase(meaning: Phrase, source: random.Random) -> tuple[str, Noun]:
    """The phrase, and the noun with which the verb agrees."""
    word = source.choice(meaning.noun.fr)
    text = word.plural if meaning.plural else word.singular
    after = ""
    if meaning.adjective:
        quality = source.choice(meaning.adjective.fr)
        form = agreed(quality, word.gender, meaning.plural, text if quality.before else "")
        text, after = (f"{form} {text}", "") if quality.before else (text, f" {form}")
    if meaning.material:
        after = f" {source.choice(meaning.material.fr)}{after}"
    text = _determined(meaning.determiner, text, word.gender, source) + after
    if meaning.wears:
        worn, _ = phrase(meaning.wears, source)
        text += f" {source.choice(('portant', 'avec'))} {worn}"
    if meaning.clause:
        verb = _predicate(meaning.clause, word.gender, meaning.plural, source)
        text += f" qui {verb}"
    return text, word


def _determined(determiner: str, text: str, gender: str, source: random.Random) -> str:
    if determiner == "the":
        return elided("la" if gender == "f" else "le", text)
    if determiner == "a":
        return f"{'une' if gender == 'f' else 'un'} {text}"
    number = source.choice(NUMBERS[determiner])
    if number == "beaucoup de":
        return elided(number, text)
    return f"{'de nombreuses' if number == 'de nombreux' and gender == 'f' else number} {text}"


def _place(meaning: Meaning[Place], towards: bool, source: random.Random) -> str:
    place = source.choice(meaning.fr)
    preposition = "vers" if towards else place.rest
    return f"{preposition} {elided('la' if place.noun.gender == 'f' else 'le', place.noun.singular)}"


def _conjugated(verb: Verb, gender: str, plural: bool) -> str:
    if verb.prefix == "être":  # être assis, être debout: the participle agrees, the adverb does not
        state = verb.singular
        if state != "debout":
            state += ("e" if gender == "f" else "") + ("s" if plural and (gender == "f" or state[-1] != "s") else "")
        return f"{'sont' if plural else 'est'} {state}"
    return verb.plural if plural else verb.singular


def _predicate(meaning: Clause, gender: str, plural: bool, source: random.Random, place: bool = True) -> str:
    verb = source.choice(meaning.verb.fr)
    if verb.prefix != "être" and source.random() < 0.2:  # the French progressive
        words = [f"{'sont' if plural else 'est'} en train {elided('de', verb.infinitive)}"]
    else:
        words = [_conjugated(verb, gender, plural)]
    words += [phrase(meaning.thing, source)[0]] if meaning.thing else []
    words += [_place(meaning.place, meaning.towards, source)] if meaning.place and place else []
    return " ".join(words)


def _clause(meaning: Clause, source: random.Random, place: bool = True) -> str:
    assert meaning.subject  # only a relative clause has none
    subject, word = phrase(meaning.subject, source)
    return f"{subject} {_predicate(meaning, word.gender, meaning.subject.plural, source, place)}"


def _main(meaning: Clause, source: random.Random) -> str:
    if meaning.place and not meaning.towards and source.random() < 0.2:
        return f"{_place(meaning.place, False, source)}, {_clause(meaning, source, place=False)}"
    return _clause(meaning, source)
