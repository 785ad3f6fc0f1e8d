"""The compiled measures against the same in Python."""

import unicodedata
from itertools import groupby

import numpy as np
import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from corpora.text_features import ASSIGNED, CODE_POINTS, MAX_NGRAM, STANDS_FOR, Measured, characters
from formats import records
from formats.batches import batches

TABLES = characters(["en", "ru"])
TEXT = st.text(st.characters(exclude_categories=["Cs"])).map(records.sentence)
WORDS = st.lists(st.sampled_from(["a", "dog", "Hund", "3", "١٤", "", "\u00a0", "дом"]), max_size=12).map(" ".join)
SIDE = TEXT | WORDS.map(records.sentence)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("measures")


def measured(folder, corpus):
    records.write(folder / "x.tsv.zst", corpus)
    (batch,) = batches(folder / "x.tsv.zst")
    return Measured(batch, TABLES)


def folded(side):
    word = "".join(regex.findall(r"[\p{L}\p{M}\p{N}]", side))
    return "".join("0" if unicodedata.category(c).startswith("N") else c.casefold() for c in word) or ("text", side)


def test_what_lies_beside_the_assigned_blocks_is_unassigned_or_private():
    outside = "".join(chr(code) for code in range(CODE_POINTS) if not any(code in block for block in ASSIGNED))
    assert len(outside) > CODE_POINTS / 2 and regex.fullmatch(r"[\p{Cn}\p{Co}]+", outside)


@given(st.lists(st.tuples(SIDE, SIDE), min_size=1))
@example([("漢字 kanji, かな 가각 ሀገር", "हिन्दी ไทย ქართული தமிழ் كتاب ㅋㅋ")])
@example([("\u02c7", "")])  # a caron is common to several scripts, Latin among them
def test_numbers_of_a_side(folder, corpus):
    for column, side in enumerate(measured(folder, corpus).sides):
        texts = [record[column] for record in corpus]
        dense = [sum(n - 1 for p, n in STANDS_FOR.items() for _ in regex.findall(p, text)) for text in texts]
        assert side.length.tolist() == [len(text) + more for text, more in zip(texts, dense, strict=True)]
        assert side.words.tolist() == [len(text.split()) for text in texts]
        assert side.letters.tolist() == [len(regex.findall(r"\p{L}", text)) for text in texts]
        script = ("Latin", "Cyrillic")[column]
        native = [len(regex.findall(rf"[\p{{L}}&&\p{{Script_Extensions={script}}}]", text, regex.V1)) for text in texts]
        assert side.in_script.tolist() == native
        assert side.control.tolist() == [bool(regex.search(r"[\p{Cc}\p{Co}\p{Cn}\uFFFD]", text)) for text in texts]


@given(st.lists(st.tuples(SIDE, SIDE), min_size=2))
def test_hashes_are_equal_where_texts_are(folder, corpus):
    numbers = measured(folder, corpus)
    for found, key in (
        (numbers.hash, lambda record: record),
        (numbers.folded, lambda record: tuple(map(folded, record))),
        (numbers.sides[0].hash, lambda record: record[0]),
        (numbers.sides[1].folded, lambda record: folded(record[1])),
    ):
        keys = list(map(key, corpus))
        assert len(set(found.tolist())) == len(set(keys)) == len(set(zip(found.tolist(), keys, strict=True)))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("A dog, running.", "a dog running", True), ("T - shirt", "T-Shirt", True), ("Straße", "STRASSE", True),
        ("„Hallo“ \u00a0Welt", '"hallo" welt', True), ("हिन्दी।", "हिन्दी", True), ("2 dogs", "3 dogs", True),
        ("हिन्दी", "हन्द", False), ("...", "?", False), ("2 dogs", "22 dogs", False),
    ],
)  # fmt: skip
def test_folding(folder, one, other, same):
    first, second = measured(folder, [(one,), (other,)]).folded
    assert (first == second) == same


def repeats(text):
    words = text.split()
    most = 1
    for size in range(1, MAX_NGRAM + 1):
        same = [a == b for a, b in zip(words, words[size:], strict=False)]
        runs = [len(list(group)) for key, group in groupby(same) if key]
        most = max([most, *(run // size + 1 for run in runs)])
    return most


@given(st.lists(st.tuples(WORDS.map(records.sentence), SIDE), min_size=1))
def test_repeats(folder, corpus):
    found = measured(folder, corpus).repeats(np.arange(len(corpus)))
    assert found.tolist() == [max(map(repeats, record)) for record in corpus]


@pytest.mark.parametrize(
    ("text", "times"),
    [("a b c", 1), ("a a a", 3), ("no no, no no, no no, x", 3), ("a b a b a b a", 3), ("a b c d a b c d", 2), ("", 1)],
)
def test_repeats_by_hand(folder, text, times):
    assert measured(folder, [(text,)]).repeats(np.array([0])).tolist() == [times]


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("Go!", True), ("Go! Now", False), ("„Los …“", True), ("see 4.2", False), ("see 4.2.", True),
        ("他走了。", True), ("वह गया।", True), ("(etc.)", True), ("Yes:", False), ("", False), ("?", True),
    ],
)  # fmt: skip
def test_terminal_punctuation_follows_the_last_word(folder, text, ended):
    assert measured(folder, [(text,)]).sides[0].ended.tolist() == [ended]


@pytest.mark.parametrize(
    ("source", "target", "share"),
    [
        ("1999", "1999", 0), ("12 and 21", "21, 12", 0), ("12", "", 1), ("no", "nein", 0), ("page 3", "Seite 4", 1),
        ("2019", "2020", 0.5), ("3", "٣", 0),
    ],
)  # fmt: skip
def test_digit_mismatch(folder, source, target, share):
    assert measured(folder, [(source, target)]).digit_mismatch(np.array([0])).tolist() == [share]
