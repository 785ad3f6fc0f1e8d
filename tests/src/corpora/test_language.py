"""The compiled decision against langid.py's own, for any bytes."""

import copy
import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langid import langid

from corpora.language import MOST_VISITS, Identifier
from corpora.settings import LANGUAGES
from nmt_frontier.errors import UserError

FULL = LANGUAGES  # those of langid.py, sorted: test_study_schema

SENTENCES = [
    "A little girl is climbing into a wooden playhouse.",
    "Ein kleines Mädchen klettert in ein Spielhaus aus Holz.",
    "Une petite fille grimpe dans une maisonnette en bois.",
    "Маленькая девочка забирается в деревянный домик.",
    "小女孩爬进木制玩具屋。",
    "少女が木でできたおもちゃの家に入っている。",
    "فتاة صغيرة تصعد إلى بيت لعب خشبي.",
    "ילדה קטנה מטפסת לבית משחקים מעץ.",
    "Μια μικρή κοπέλα σκαρφαλώνει σε ένα ξύλινο σπιτάκι.",
    "एक छोटी लड़की लकड़ी के घर में चढ़ रही है।",
]
TEXT = st.text(st.characters(exclude_categories=["Cs"])).map(str.encode)
WORDS = sorted({word for sentence in SENTENCES for word in sentence.split()} | {"123", "Ω", "\ufeff", "\x00", "🙂"})
MIXTURES = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join).map(str.encode)
CUT = MIXTURES.flatmap(lambda text: st.integers(0, len(text)).map(lambda end: text[:end]))  # through a character
BYTES = TEXT | st.binary(max_size=300) | MIXTURES | CUT
LANGUAGES = st.lists(st.sampled_from(FULL), min_size=1, max_size=len(FULL))


@functools.cache
def everything():
    return Identifier()


@functools.cache
def reference():
    """langid.py itself, loaded by the first test that asks: unpacking the model takes seconds."""
    return langid.LanguageIdentifier.from_modelstring(langid.model)


def packed(texts):
    """The texts as one array with a stranger between any two of them, and their offsets."""
    separator = "Ж".encode()
    lengths = np.array([len(text) for text in texts], np.int64)
    ends = np.cumsum(lengths + len(separator))
    return np.frombuffer(b"".join(separator + text for text in texts), np.uint8), ends - lengths, ends


def labels(identifier, texts):
    return [identifier.classes[label] for label in identifier.classify(*packed(texts))]


def assert_close(identifier, reference, texts):
    """The log-probabilities are those of langid.py."""
    found = identifier.log_probabilities(*packed(texts))
    assert found.shape == (len(texts), len(identifier.classes)) and found.dtype == np.float64
    expected = [reference.nb_classprobs(reference.instance2fv(text)) for text in texts]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


@settings(max_examples=300)  # the first call compiles
@given(st.lists(BYTES, max_size=8))
@pytest.mark.slow
def test_labels_are_those_of_langid(texts):
    assert labels(everything(), texts) == [reference().classify(text)[0] for text in texts]


@given(st.lists(BYTES, min_size=1, max_size=4))
@pytest.mark.slow
def test_log_probabilities_are_those_of_langid(texts):
    assert_close(everything(), reference(), texts)


@settings(max_examples=12)  # packing the rows takes most of the time
@given(LANGUAGES, st.lists(BYTES, max_size=10))
@pytest.mark.slow
def test_a_restricted_set_chooses_as_set_languages_does(languages, texts):
    restricted = copy.copy(reference())
    restricted.set_languages(languages)
    identifier = Identifier(languages)
    assert identifier.classes == restricted.nb_classes
    texts = texts + [sentence.encode() for sentence in SENTENCES]
    assert labels(identifier, texts) == [restricted.classify(text)[0] for text in texts]
    assert_close(identifier, restricted, texts)


@pytest.mark.parametrize("languages", [["en"], ["zh", "de", "en"], ["en", "de", "de", "zh"], FULL[::-1]])
def test_classes_stand_in_the_order_of_the_model(languages):
    identifier = Identifier(languages)
    assert identifier.classes == [code for code in reference().nb_classes if code in languages]
    assert set(identifier.labels(["", *SENTENCES])) <= set(languages)


def test_an_unknown_language_is_an_error_that_lists_the_known_ones():
    with pytest.raises(UserError, match=r"'xx'.* de .*en .*zh"):
        Identifier(["en", "xx"])


def test_labels_of_sentences():
    assert everything().labels(SENTENCES[:4]) == ["en", "de", "fr", "ru"]
    assert everything().labels([]) == []
    assert everything().labels([""]) == [reference().classify("")[0]]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_text_too_long_for_small_numbers(sentence):
    """Around the length where 32 bits could overflow, and beyond it."""
    text = (sentence + " ").encode() * (3 * MOST_VISITS // len(sentence.encode()))
    texts = [text[: MOST_VISITS + 1], text, b"", text[:MOST_VISITS]]
    assert labels(everything(), texts) == [reference().classify(text)[0] for text in texts]


def test_a_tie_is_left_to_langid():
    """With two equal columns of the model, only langid.py's arithmetic decides which is first within rounding."""
    identifier = Identifier(["de", "en"])
    twin, rows = identifier._reference, identifier._rows
    twin.nb_ptc, twin.nb_pc = np.repeat(twin.nb_ptc[:, :1], 2, axis=1), np.repeat(twin.nb_pc[:1], 2)
    rows[:, 1] = rows[:, 0]
    identifier._small[:, 1] = identifier._small[:, 0]
    texts = [sentence.encode() for sentence in SENTENCES]
    assert labels(identifier, texts) == [twin.classify(text)[0] for text in texts]
    assert identifier.exact == len(texts)
