"""Text is put where both sides have the same place, by the links of their words."""

import re
import subprocess
from collections import Counter
from random import Random

import pytest
import sentencepiece
import warm
from hypothesis import given
from hypothesis import strategies as st

from corpora.alignment import FastAlign
from formats import records
from nmt_frontier.text.items import SYMBOL
from train import aligned_words
from train.aligned_words import AlignedWords, by
from train.augmentation import CHANGES, augmented
from train.settings import PLACED, Augmentation

#  0   1    2    3   4          0   1   2    3    4
PAIR = "she has seen the dog", "sie hat den Hund gesehen"
WORDS = AlignedWords(*(side.split(" ") for side in PAIR), frozenset([(0, 0), (1, 1), (2, 4), (3, 2), (4, 3)]))


def test_a_cut_crosses_no_link_and_a_span_has_no_link_outside():
    assert WORDS.cuts() == [(1, 1), (2, 2)]
    assert {span[0][0]: span for span in WORDS.spans() if span[1][0] - span[0][0] == 1}[2] == ((2, 4), (3, 5))
    assert ((3, 2), (5, 4)) in WORDS.spans() and ((2, 2), (5, 5)) in WORDS.spans()
    assert all(span[:1] != (1,) for span in WORDS.spans()) and ((1, 1), (3, 5)) not in WORDS.spans()
    assert WORDS._replace(links=frozenset()).cuts() == WORDS._replace(links=frozenset()).spans() == []


def test_an_unlinked_word_stays_with_what_stands_behind_it():
    assert AlignedWords(["a", "b"], ["x", "of", "y"], frozenset([(0, 0), (1, 2)])).cuts() == [(1, 1)]


def test_text_is_put_between_and_around_linked_words():
    assert WORDS.inserted("#", (2, 2)).pair == ("she has # seen the dog", "sie hat # den Hund gesehen")
    assert WORDS.around("<b>", "</b>", ((2, 4), (3, 5))) == (
        "she has <b>seen</b> the dog",
        "sie hat den Hund <b>gesehen</b>",
    )
    assert WORDS.of(("she has seen the ⟦1⟧", PAIR[1])) and not WORDS.of(("she has seen a big dog", PAIR[1]))


@st.composite
def linked_words(draw):
    sizes = draw(st.tuples(st.integers(1, 7), st.integers(1, 7)))
    links = draw(st.frozensets(st.tuples(*(st.integers(0, size - 1) for size in sizes))))
    return AlignedWords(
        *([f"{side}{word}" for word in range(size)] for side, size in zip("st", sizes, strict=True)), links
    )


def sides_of(words):
    """For each link, whether it stands before an inserted word, on both sides."""
    places = [side.index("#") for side in (words.source, words.target)]
    return [(source < places[0], target < places[1]) for source, target in words.links if source != places[0]]


@given(linked_words())
def test_inserted_words_stand_between_links_and_keep_them(words):
    for cut in words.cuts():
        new = words.inserted("#", cut)
        assert all(left == right for left, right in sides_of(new))
        old = {(words.source[source], words.target[target]) for source, target in words.links}
        assert {(new.source[source], new.target[target]) for source, target in new.links} == old | {("#", "#")}


@given(linked_words(), st.sampled_from(sorted(PLACED)), st.integers())
def test_both_sides_get_the_same_and_keep_their_words(words, rule, seed):
    new = CHANGES[rule](Random(seed), words.pair, words)
    marked = [Counter(re.findall(rf"{SYMBOL}|</?\w+>", side)) for side in new]
    assert marked[0] == marked[1] and new[0] != words.pair[0]
    alone = new[0] == new[1]
    for words_of_side, side in zip(words[:2], new, strict=True):
        assert alone or words_of_side == [word for word in re.sub(r"<.*?>", "", side).split() if word in words_of_side]


@pytest.mark.parametrize("rule", ["url", "tag", "protected"])
def test_rules_use_places_inside(rule):
    found = Counter()
    for seed in range(200):
        source, _ = CHANGES[rule](Random(seed), PAIR, WORDS)
        found["has" in source and not re.search(r"(^| )she has( seen the dog|$)", source)] += 1
    assert found[True] > 50


def test_words_are_linked_by_their_pieces(tmp_path):
    """Words of several pieces, or of none, or with a no-break space, and a side without any."""
    text = tmp_path / "text"
    text.write_text("abc def\nghi jkl\nABC DEF\nGHI JKL\n" * 50)
    options = {"vocab_size": 26, "hard_vocab_limit": False, "minloglevel": 2, "model_type": "char"}
    sentencepiece.SentencePieceTrainer.train(input=str(text), model_prefix=str(tmp_path / "model"), **options)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "model.model"))

    def split(lines):
        return processor.encode(lines, out_type=str)

    sides = [("abc def", "ABC DEF"), ("ghi jkl", "GHI JKL"), ("def", "DEF"), ("jkl", "JKL")] * 50
    FastAlign.train(iter([tuple(split([*pair])) for pair in sides]), tmp_path)
    align = by(FastAlign(tmp_path), split)
    odd = "abc  def\u00a0def"  # SentencePiece makes three words of it, too, but others
    same, spaces, unaligned = align([("abc def", "ABC DEF"), (odd, "ABC DEF"), ("abc", "")])
    assert same == AlignedWords(["abc", "def"], ["ABC", "DEF"], frozenset([(0, 0), (1, 1)]))
    assert spaces.source == ["abc", "", "def\u00a0def"] and spaces.links == {(0, 0), (2, 1)}
    assert unaligned is None and [*align([])] == []

    corpus, epoch = tmp_path / "corpus.tsv.zst", tmp_path / "epoch.tsv.zst"
    records.write(corpus, [("abc def", "ABC DEF")] * 300)
    changes = '{"both_sides": {"url": 1}, "meant": {}, "languages": ["en", "de"]}'
    command = [warm.python(), "-m", "train.sample", "--corpora", str(corpus), "--augmentation", changes]
    command += ["--output", str(epoch), "--sentencepiece", str(tmp_path / "model.model")]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode and "--probabilities and --sentencepiece need one another" in refused.stderr
    (tmp_path / "empty").mkdir()
    missing = subprocess.run([*command, "--probabilities", tmp_path / "empty"], capture_output=True, text=True)
    assert re.fullmatch(r"error: \S+/empty: has no file forward; .*\n", missing.stderr)
    subprocess.run([*command, "--probabilities", str(tmp_path)], check=True, capture_output=True)
    inside = [pair for pair in records.read(epoch) if re.fullmatch(r"abc http\S+ def", pair[0])]
    assert 80 < len(inside) < 200 and all(re.fullmatch(r"ABC http\S+ DEF", target) for _, target in inside)


def test_few_pairs_are_in_words_at_a_time_and_each_has_its_own_links(monkeypatch):
    monkeypatch.setattr(aligned_words, "BATCH", 2)
    sizes = []

    class Diagonal:
        def align(self, pairs):
            sizes.append(len(pairs))
            return [[*zip(range(len(source)), range(len(target)), strict=False)] for source, target in pairs]

    block = b"".join(records.line((f"{number} a b", f"{number} x y")) for number in range(40))
    settings, counts = Augmentation({"tag": 0.5, "upper_case": 0.5}, {}, ["en", "de"]), Counter()
    align = by(Diagonal(), lambda words: [[word] for word in words])
    (text,) = augmented([block], settings, 1, 1, counts, align)
    assert sum(sizes) == counts["tag"] > 10 and max(sizes) == 2
    assert re.sub(b"</?[a-z]+>", b"", text).lower() == block
