"""The built-in corpus: deterministic, disjoint, several translations, and grammar as far as rules can check it."""

import itertools
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.grammar import LANGUAGES, SPLITS, english, french, generate, german
from corpora.grammar.meaning import draw, lexicon
from nmt_frontier.errors import UserError


def sample(target, split, sentences, seed=1):
    return list(generate(target, split, sentences, seed))


targets = pytest.mark.parametrize("target", LANGUAGES)


@targets
def test_the_same_seed_gives_the_same_text_and_another_seed_another(target):
    assert sample(target, "train", 300) == sample(target, "train", 300) != sample(target, "train", 300, seed=2)


@targets
@pytest.mark.slow
def test_splits_share_no_sentence_on_either_side(target):
    sides = [{side for record in sample(target, split, 1000) for side in record} for split in SPLITS]
    assert not any(one & other for one, other in itertools.combinations(sides, 2))


def test_monolingual_text_has_one_column_and_sentences_are_distinct():
    records = sample("de", "monolingual", 500)
    translated = [*generate("de", "monolingual", 50, 1, translated=True)]
    assert {len(record) for record in translated} == {2} and len({text for text, _ in translated}) == 50
    assert {len(record) for record in records} == {1} and len(set(records)) == 500


def test_a_few_thousand_word_forms_and_caption_like_length():
    records = [(en, de, fr) for (en, de), (_, fr) in zip(
        sample("de", "train", 6000), sample("fr", "train", 6000), strict=False)]  # fmt: skip
    words = {word for record in records for side in record for word in re.findall(r"[\w'-]+", side.lower())}
    lengths = [len(record[0].split()) for record in records]
    assert len(words) > 2000
    assert 9 < sum(lengths) / len(lengths) < 14 and max(lengths) < 45


@given(st.integers())
def test_one_english_sentence_and_several_translations(seed):
    meaning = draw(random.Random(seed))
    for realise in (german.sentence, french.sentence):
        texts = {realise(meaning, random.Random(number)) for number in range(60)}
        assert all(text[0].isupper() and text.endswith(".") for text in texts)
    assert english.sentence(meaning) == english.sentence(draw(random.Random(seed)))


def test_most_sentences_have_several_translations():
    meanings = [draw(random.Random(seed)) for seed in range(200)]
    assert sum(len({german.sentence(m, random.Random(n)) for n in range(20)}) > 1 for m in meanings) > 150


@targets
def test_no_word_has_two_meanings(target):
    for meanings in lexicon().values():
        owners = [str(word) for meaning in meanings for word in getattr(meaning, target)]
        assert len(owners) == len(set(owners))


@given(st.integers())
def test_german_articles_agree_with_their_nouns(seed):
    text = german.sentence(draw(random.Random(seed)), random.Random(seed))
    assert not re.search(r",[,.]", text), text
    genders = {word.singular: word.gender for kind in ("people", "animals", "things", "furniture", "clothes")
               for meaning in lexicon()[kind] for word in meaning.de}  # fmt: skip
    for article, noun in re.findall(r"\b(ein|eine|einen|einer|einem) (?:[a-zäöüß]+ )?([A-ZÄÖÜ]\w+)", text):
        if noun in genders:
            allowed = {"ein": "mn", "eine": "f", "einen": "m", "einer": "f", "einem": "mn"}[article]
            assert genders[noun] in allowed, text


@given(st.integers())
def test_french_elides_before_vowels_and_only_there(seed):
    text = french.sentence(draw(random.Random(seed)), random.Random(seed))
    assert not re.search(r"\b(le|la|de|que) [aeiouéèêâ]", text), text
    assert not re.search(r"\b[ld]'[^aeiouéèêâîœh]", text), text


@pytest.mark.parametrize(
    ("stem", "determiner", "case", "gender", "form"),
    [
        ("rot", "a", "nom", "m", "roter"), ("rot", "a", "nom", "n", "rotes"), ("rot", "a", "acc", "m", "roten"),
        ("rot", "the", "nom", "m", "rote"), ("rot", "the", "acc", "f", "rote"), ("rot", "the", "dat", "f", "roten"),
        ("rot", "two", "nom", "p", "rote"), ("rot", "many", "dat", "p", "roten"), ("rot", "the", "acc", "p", "roten"),
    ],
)  # fmt: skip
def test_german_adjective_endings(stem, determiner, case, gender, form):
    assert german.adjective(stem, determiner, case, gender) == form


def test_unknown_languages_and_splits_are_errors():
    with pytest.raises(UserError, match="no language 'es'; it has de, fr"):
        sample("es", "train", 1)
    with pytest.raises(UserError, match="no split 'valid'; it has dev, test, test2, monolingual, train"):
        sample("de", "valid", 1)
