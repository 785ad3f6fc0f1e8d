"""Meanings in German: cases, adjective endings, compounds, separable verbs, verb-second and verb-final clauses."""

import random

from corpora.grammar.meaning import Clause, Meaning, Noun, Phrase, Place, Sentence, Verb

Gender = str  # m, f, n, or p for the plural of all three
DEFINITE = {
    "nom": {"m": "der", "f": "die", "n": "das", "p": "die"},
    "acc": {"m": "den", "f": "die", "n": "das", "p": "die"},
    "dat": {"m": "dem", "f": "der", "n": "dem", "p": "den"},
}
# The endings of the adjective without an article (strong), and of `ein`.
STRONG = {
    "nom": {"m": "er", "f": "e", "n": "es", "p": "e"},
    "acc": {"m": "en", "f": "e", "n": "es", "p": "e"},
    "dat": {"m": "em", "f": "er", "n": "em", "p": "en"},
}
EIN = {
    "nom": {"m": "", "f": "e", "n": ""},
    "acc": {"m": "en", "f": "e", "n": ""},
    "dat": {"m": "em", "f": "er", "n": "em"},
}
WEAK_E = {("nom", "m"), ("nom", "f"), ("nom", "n"), ("acc", "f"), ("acc", "n")}  # weak: -e here, -en elsewhere
NUMBERS = {
    "two": ("zwei",), "three": ("drei",), "four": ("vier",), "several": ("mehrere", "einige"), "many": ("viele",),
}  # fmt: skip
CONJUNCTIONS = {"while": ("während",), "because": ("weil", "da"), "when": ("wenn", "sobald")}
WORN_ON_TOP = ("Hut", "Mütze", "Kappe", "Helm", "Schal")  # mit einem Hut, never in einem Hut
CONTRACTED = {"in dem": "im", "an dem": "am", "in das": "ins", "an das": "ans"}


def sentence(meaning: Sentence, source: random.Random) -> str:
    parts = [_verb_second(meaning.main, source)]
    if meaning.other and meaning.conjunction:
        conjunction = source.choice(CONJUNCTIONS[meaning.conjunction])
        parts.append(f"{conjunction} {_verb_final(meaning.other, source)}")
    text = ", ".join(parts) + "."
    text = text.replace(",,", ",").replace(",.", ".")  # a relative clause brings its own closing comma
    return text[0].upper() + text[1:]


def noun(word: Noun, case: str, plural: bool) -> str:
    if plural:
        return word.plural + ("n" if case == "dat" and not word.plural.endswith(("n", "s")) else "")
    if word.weak and case != "nom":
        return word.plural if word.singular != "Nachbar" else "Nachbarn"
    return word.singular


def adjective(stem: str, determiner: str, case: str, gender: Gender) -> str:
    """The ending shows gender and case if the determiner does not (mixed after `ein`, strong after numbers)."""
    if determiner == "a" and (case, gender) in {("nom", "m"), ("nom", "n"), ("acc", "n")}:
        return stem + STRONG[case][gender]
    if determiner in ("a", "the"):
        return stem + ("e" if (case, gender) in WEAK_E else "en")
    return stem + STRONG[case]["p"]


def phrase(meaning: Phrase, case: str, source: random.Random) -> str:
    """A noun phrase with modifiers: `ein Mann mit einem roten Hemd`, `ein Kind, das lacht,`."""
    word = source.choice(meaning.noun.de)
    gender = "p" if meaning.plural else word.gender
    if meaning.determiner == "the":
        words = [DEFINITE[case][gender]]
    elif meaning.determiner == "a":
        words = ["ein" + EIN[case][gender]]
    else:
        number = source.choice(NUMBERS[meaning.determiner])
        inflected = case == "dat" and number.endswith("e")  # mit vielen Kindern, but mit zwei Kindern
        words = [number + "n" if inflected else number]
    if meaning.adjective:
        words.append(adjective(source.choice(meaning.adjective.de).masculine, meaning.determiner, case, gender))
    head = noun(word, case, meaning.plural)
    words.append(source.choice(meaning.material.de) + head.lower() if meaning.material else head)
    text = " ".join(words)
    if meaning.wears:
        worn = phrase(meaning.wears, "dat", source)
        inside = not worn.endswith(WORN_ON_TOP) and source.random() < 0.5
        text += f" {'in' if inside else 'mit'} {worn}"
    if meaning.clause:
        text += f", {DEFINITE['nom'][gender]} {_verb_final(meaning.clause, source, meaning.plural)},"
    return text


def _place(meaning: Meaning[Place], towards: bool, source: random.Random) -> str:
    place = source.choice(meaning.de)
    case = "acc" if towards else "dat"
    article = f"{place.rest} {DEFINITE[case][place.noun.gender]}"
    if source.random() < 0.9:
        article = CONTRACTED.get(article, article)
    return f"{article} {noun(place.noun, case, plural=False)}"


def _rest(meaning: Clause, verb: Verb, source: random.Random) -> list[str]:
    """The words between the two positions of the verb: reflexive, adverb, object and place."""
    words = ["sich"] if verb.reflexive else []
    words += ["gerade"] if source.random() < 0.15 else []
    others = [phrase(meaning.thing, "acc", source)] if meaning.thing else []
    others += [_place(meaning.place, meaning.towards, source)] if meaning.place else []
    if len(others) == 2 and source.random() < 0.3:
        others.reverse()
    return words + others


def _verb_second(meaning: Clause, source: random.Random) -> str:
    assert meaning.subject  # only a relative clause has none
    verb, plural = source.choice(meaning.verb.de), meaning.subject.plural
    finite = verb.plural if plural else verb.singular
    subject = phrase(meaning.subject, "nom", source)
    if source.random() < 0.1:  # ist dabei, ... aufzuheben
        rest = [word for word in _rest(meaning, verb, source) if word != "gerade"]
        infinitive = f"{verb.prefix}zu{verb.plural}" if verb.prefix else f"zu {verb.infinitive}"
        return f"{subject} {'sind' if plural else 'ist'} dabei, {' '.join([*rest, infinitive])}"
    if meaning.place and not meaning.towards and source.random() < 0.25:  # the place first, the subject after the verb
        without = Clause(meaning.subject, meaning.verb, meaning.thing)
        words = [_place(meaning.place, False, source), finite, *(["sich"] if verb.reflexive else []), subject]
        words += [word for word in _rest(without, verb, source) if word != "sich"]
    else:
        words = [subject, finite, *_rest(meaning, verb, source)]
    return " ".join([*words, verb.prefix]).strip()


def _verb_final(meaning: Clause, source: random.Random, plural: bool = False) -> str:
    """A subordinate clause; a relative clause takes the number of its noun."""
    verb = source.choice(meaning.verb.de)
    words = []
    if meaning.subject:
        words, plural = [phrase(meaning.subject, "nom", source)], meaning.subject.plural
    finite = verb.infinitive if plural else verb.prefix + verb.singular
    return " ".join([*words, *_rest(meaning, verb, source), finite])
