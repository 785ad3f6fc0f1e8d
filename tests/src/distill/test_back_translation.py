"""Back-translations as training pairs: noise, tags, counts."""

import json
import subprocess
from random import Random

import pytest
import sentencepiece
import warm
from hypothesis import given
from hypothesis import strategies as st

from corpora import gather
from distill import n_best_lists
from distill.back_translation import noisy, pairs
from distill.n_best_lists import NBestList, ScoredText
from distill.select import Selector
from distill.settings import BLANK, BackTranslationSettings, Noise
from formats import records
from nmt_frontier.files import read_json
from train.vocabulary import train

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"]), min_size=1, max_size=12)
LISTS = [
    NBestList(f"Satz {number}", [ScoredText(f"this is the sentence number {number}", -0.5), ScoredText("bad", -2)])
    for number in range(300)
]


def made(lists, **asked):
    return [*pairs(iter(lists), BackTranslationSettings("en", **asked), Selector())]


@given(st.integers(1, 30), st.integers(0, 4), st.randoms(use_true_random=False))
def test_no_word_moves_further_than_asked(number, swap, drawn):
    words = [str(place) for place in range(number)]
    moved = noisy(words, Noise(delete=0, blank=0, swap=swap), drawn)
    assert sorted(moved) == sorted(words)
    assert all(abs(place - int(word)) <= swap for place, word in enumerate(moved))


@given(WORDS, st.randoms(use_true_random=False))
def test_a_word_always_stays(words, drawn):
    (left,) = noisy(words, Noise(delete=1, blank=0), drawn)
    assert left in words
    assert noisy(words, Noise(delete=0, blank=1), drawn) == [BLANK] * len(words)
    assert noisy(words, Noise(delete=0, blank=0, swap=0), drawn) == words


def test_the_defaults_are_those_of_the_paper():
    words = [str(place) for place in range(50_000)]
    changed = noisy(words, Noise(), Random(1))
    assert len(changed) == pytest.approx(0.9 * len(words), rel=0.01)
    assert changed.count(BLANK) == pytest.approx(0.1 * len(changed), rel=0.05)
    left = [int(word) for word in changed if word != BLANK]
    assert left != sorted(left)


def test_a_pair_has_the_best_translation_and_the_real_sentence():
    assert made(LISTS)[7] == ("this is the sentence number 7", "Satz 7")
    assert made(LISTS, tag="<BT>")[7] == ("<BT> this is the sentence number 7", "Satz 7")


def test_noise_depends_on_the_seed_and_the_sentence_alone():
    noise = Noise()
    whole = made(LISTS, noise=noise)
    assert whole == made(LISTS[:100], noise=noise) + made(LISTS[100:], noise=noise)
    assert whole != made(LISTS, noise=noise, seed=2)
    assert [target for _, target in whole] == [each.source for each in LISTS]
    tagged = made(LISTS, noise=Noise(delete=0.9, blank=1), tag="<BT>")
    assert all(source.split()[0] == "<BT>" for source, _ in tagged)


def test_between_spaces_there_is_no_word():
    lists = [NBestList("ein Hund", [ScoredText("a   dog", -1.0)])]
    assert made(lists, noise=Noise(delete=0, blank=1)) == [(f"{BLANK} {BLANK}", "ein Hund")]


def test_where_words_have_no_spaces_a_character_is_one():
    lists = [NBestList("ein Hund", [ScoredText("一只狗在跑", -1.0)])]
    asked = BackTranslationSettings("zh", noise=Noise(delete=0, blank=0))
    (pair,) = pairs(iter(lists), asked, Selector())
    assert sorted(pair[0]) == sorted("一只狗在跑")


def test_the_tag_and_the_blank_are_one_piece_each():
    symbols = ["<BT>", BLANK]
    lines = [text for source, target in made(LISTS) for text in (source, target)]
    model = train(lines, "unigram", 60, 1.0, 1, symbols=symbols)
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model).encode(f"<BT> a {BLANK} b", out_type=str)
    assert [pieces.count(symbol) for symbol in symbols] == [1, 1]


@pytest.mark.slow
def test_the_command_counts_what_has_no_translation(tmp_path):
    """And its shards are gathered as those of any corpus."""
    shards, counted = [tmp_path / f"{part}-of-2.tsv.zst" for part in (1, 2)], {"noise": {}, "tag": "<BT>"}
    for shard, lists in zip(shards, ([*LISTS[:5], NBestList("leer", [])], LISTS[5:9]), strict=True):
        n_best_lists.write(tmp_path / "lists.tsv.zst", lists)
        options = ["--n-best-lists", tmp_path / "lists.tsv.zst", "--output", shard]
        settings = json.dumps({"language": "en", **counted})
        command = [warm.python(), "-m", "distill.back_translation", settings, *options]
        subprocess.run(command, check=True, capture_output=True)
    whole = tmp_path / "german.tsv.zst"
    gather.gather(shards, whole, {"name": "german"}, [], [])
    counts = read_json(records.info(whole))
    assert (counts["lines_in"], counts["lines_out"], counts["dropped"]) == (10, 9, {"empty_translation": 1})
    assert counts["samples"] == {"empty_translation": [["leer"]]}
    assert [*records.read(whole)] == made(LISTS[:9], noise=Noise(), tag="<BT>")
