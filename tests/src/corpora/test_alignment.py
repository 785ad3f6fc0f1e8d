"""Word aligners, and corpora aligned with them."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
import sentencepiece
from phrase_tables import run

from corpora import alignment as aligners
from corpora.alignment import (
    ALIGNERS,
    COPIED,
    MAX_LENGTH,
    FastAlign,
    _words,
    aligned,
    encoded,
    grow_diag_final_and,
    in_lines,
    linked,
    train,
    with_copies,
)
from export import phrases
from formats import records
from nmt_frontier.errors import UserError

EFLOMAL = importlib.util.find_spec("eflomal")


@pytest.mark.parametrize("name", ALIGNERS)
def test_an_aligner_finds_a_word_by_word_translation(tmp_path, name):
    if name == "eflomal" and not EFLOMAL:
        pytest.skip("eflomal is not installed: it is no dependency, as it needs a C compiler")
    generator = np.random.default_rng(1)
    sentences = [[str(word) for word in generator.integers(0, 30, generator.integers(4, 9))] for _ in range(400)]
    pairs = [(sentence, [f"t{word}" for word in sentence]) for sentence in sentences]
    ALIGNERS[name].train(iter(pairs), tmp_path)
    alignments = [record[2] for record in aligned(iter(pairs), ALIGNERS[name](tmp_path))]
    links = [link.split("-") for alignment in alignments for link in alignment.split()]
    assert len(links) > 2000 and sum(i == j for i, j in links) / len(links) > 0.95


def test_the_links_of_what_is_trained_on_stay_beside_their_pairs(tmp_path):
    """In shards, too; a pair that cannot be aligned has an empty line."""
    sides = {"source": ["a b", "", *["c \u3000 b"] * 3, "c"], "target": ["x y", "y", *["z \u3000 y"] * 3, "z " * 5000]}
    for name, lines in sides.items():
        (tmp_path / name).write_text("".join(f"{line.strip(' ')}\n" for line in lines))
    FastAlign.train(iter([(["a", "b"], ["x", "y"]), (["c", "\u3000", "b"], ["z", "\u3000", "y"])] * 50), tmp_path)

    def lines(shard=None):
        return [*linked(in_lines(tmp_path / "source", tmp_path / "target", shard), FastAlign(tmp_path))]

    whole = lines()
    assert whole == ["0-0 1-1", "", *["0-0 1-1 2-2"] * 3, ""]
    assert [line for part in (1, 2, 3, 4) for line in lines((part, 4))] == whole


def test_a_copy_is_linked_piece_by_piece():
    """Equal letters of a URL would be linked to one another, and what surrounds it to some of its pieces."""
    url = ["▁http", "s", "://", "aba", ".", "aba"]
    links = with_copies([*"ab", *url, "c"], ["x", *url, *"yz"], [(0, 0), (1, 1), (5, 6), (7, 4), (8, 6), (8, 8)])
    assert links == [(0, 0), *((piece + 2, piece + 1) for piece in range(len(url))), (8, 8)]
    assert with_copies([*"abc"], [*"abd"], [(0, 1)]) == [(0, 1)]  # two words may be equal by chance


def test_all_copies_are_linked_in_any_order_the_longest_first():
    number, other = ["▁", "7", "4"], ["▁", "7", "4", "7", "4"]
    links = with_copies([*number, "▁and", *other], [*other, "▁und", *number], [(0, 0), (3, 5), (6, 7), (8, 5)])
    assert links == [(0, 6), (1, 7), (2, 8), (3, 5), *((piece + 4, piece) for piece in range(5))]


def test_what_a_longer_copy_leaves_of_another_is_linked_too():
    links = with_copies([*"1234567890"], [*"1234567", "▁und", *"567890"], [(8, 5)])
    assert links == [*((piece, piece) for piece in range(7)), (7, 11), (8, 12), (9, 13)]


def test_a_thousand_equal_pieces_are_few_copies():
    """Not one for each two places, of which there are a million."""
    assert len([*aligners._equal(["-"] * 1000, ["-"] * 1000)]) == 2 * (1000 - COPIED) + 1


@pytest.mark.slow
def test_fast_align_learns_the_same_every_time(tmp_path):
    code = f"""
import numpy as np
from pathlib import Path
from corpora.alignment import FastAlign
generator = np.random.default_rng(1)
pairs = [tuple([f"{{side}}{{word}}" for word in generator.integers(0, 200, 8)] for side in "st") for _ in range(1000)]
for number in range(5):
    (folder := Path({str(tmp_path)!r}) / str(number)).mkdir()
    FastAlign.train(iter(pairs), folder)
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "OMP_NUM_THREADS": "2"})
    files = {tuple((tmp_path / str(k) / way).read_bytes() for way in ("forward", "backward")) for k in range(5)}
    assert len(files) == 1


def test_fast_align_announces_how_long_it_is_silent(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(aligners, "LINKS_A_MINUTE", 100)
    FastAlign.train(iter([(["a", "b"], ["x", "y", "z"])] * 50), tmp_path)
    assert "fast_align: learning, silently, some 3 minutes" in capsys.readouterr().err


def test_a_corpus_of_empty_sides_is_an_error(corpus, tmp_path):
    records.write(tmp_path / "empty.tsv.zst", [("", "X"), ("a", "")])
    with pytest.raises(UserError, match="the corpus has no pair that can be aligned"):
        train(FastAlign, encoded(tmp_path / "empty.tsv.zst", corpus / "sp.model"), tmp_path / "probabilities")
    assert not (tmp_path / "probabilities").exists()


def test_spaces_inside_a_piece_do_not_shift_what_eflomal_reads():
    assert _words(["国", "\u3000", "!\xa0"]).split() == ["国", "␣", "!␣"]


@pytest.mark.skipif(EFLOMAL is not None, reason="eflomal is installed")
def test_a_missing_eflomal_is_named(tmp_path):
    with pytest.raises(UserError, match="pip install eflomal"):
        ALIGNERS["eflomal"].train(iter([(["a"], ["b"])]), tmp_path)


def test_symmetrised_links_grow_from_the_intersection():
    # Both ways have 0-0; 1-1 is its neighbour and one way has it; 3-3 is isolated and is added last; 0-3 adds nothing.
    assert grow_diag_final_and({(0, 0), (1, 1), (3, 3)}, {(0, 0), (0, 3)}) == [(0, 0), (1, 1), (3, 3)]
    # 1-0 is beside 0-0, and 1 has no link yet; 2-1 is beside 1-0 by a corner; 5-0 is no neighbour, and 0 is linked.
    assert grow_diag_final_and({(0, 0), (1, 0), (2, 1)}, {(0, 0), (5, 0)}) == [(0, 0), (1, 0), (2, 1)]
    assert grow_diag_final_and({(0, 0), (1, 0)}, {(0, 0), (1, 1), (1, 0)}) == [(0, 0), (1, 0), (1, 1)]
    assert grow_diag_final_and({(0, 0), (1, 5), (1, 1)}, {(0, 0), (1, 5)}) == [(0, 0), (1, 1), (1, 5)]  # by a corner


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus of pairs, word by word, and a SentencePiece model of it."""
    folder = tmp_path_factory.mktemp("corpus")
    generator = np.random.default_rng(1)
    words = ["".join(generator.choice([*"abcdefgh"], generator.integers(2, 6))) for _ in range(60)]
    sentences = [generator.choice(words, generator.integers(3, 9)).tolist() for _ in range(3000)]
    pairs = [(" ".join(sentence), " ".join(word.upper() for word in sentence)) for sentence in sentences]
    records.write(folder / "c.tsv.zst", [*pairs, ("", "EMPTY")])
    text = iter(side for pair in pairs for side in pair)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=text, model_prefix=str(folder / "sp"), vocab_size=130, minloglevel=2
    )
    return folder


@pytest.mark.slow
def test_shards_are_aligned_with_what_a_sample_taught(corpus, tmp_path):
    shared = ["--corpus", corpus / "c.tsv.zst", "--sentencepiece", corpus / "sp.model"]
    run("corpora.alignment", "train", *shared, "--pairs", 1500, "--output", tmp_path / "probabilities")
    apply = ["corpora.alignment", "apply", *shared, "--probabilities", tmp_path / "probabilities"]
    run(*apply, "--output", tmp_path / "all.tsv.zst")
    shards = [tmp_path / f"{k}.tsv.zst" for k in (1, 2)]
    for k, shard in enumerate(shards, 1):
        run(*apply, "--shard", f"{k}/2", "--output", shard)
    alignments = list(records.read(tmp_path / "all.tsv.zst"))
    assert alignments == [record for shard in shards for record in records.read(shard)]
    assert len(alignments) == 3000  # the pair with an empty side has nothing to align
    right = total = 0
    for source, target, links in alignments:
        words = [np.cumsum([piece.startswith("▁") for piece in side.split()]) for side in (source, target)]
        for i, j in (map(int, link.split("-")) for link in links.split()):
            total += 1
            right += words[0][i] == words[1][j]
    assert right / total > 0.9


def test_a_pair_with_an_endless_side_is_left_out_and_counted(corpus, tmp_path, capsys):
    assert phrases.MAX_LENGTH == MAX_LENGTH
    pairs = [("abc", "ABC"), ("abc", "x " * (MAX_LENGTH + 1)), ("abc " * 3, "ABC"), ("", "A")]
    records.write(tmp_path / "c.tsv.zst", pairs)
    assert len(list(encoded(tmp_path / "c.tsv.zst", corpus / "sp.model"))) == 2
    assert "2 pairs left out: a side is empty or has more than 1,024 pieces" in capsys.readouterr().err
    assert [len(list(encoded(tmp_path / "c.tsv.zst", corpus / "sp.model", most=most))) for most in (1, 2)] == [1, 2]
    assert [line[0] for line in capsys.readouterr().err.splitlines()] == ["0", "1"]


@pytest.mark.slow
def test_training_counts_what_it_leaves_out(corpus, tmp_path, capfd):
    records.write(tmp_path / "c.tsv.zst", [("abc", "ABC"), ("", "A"), *[("abc", "ABC")] * 20])
    options = ["--corpus", tmp_path / "c.tsv.zst", "--sentencepiece", corpus / "sp.model", "--pairs", 10]
    run("corpora.alignment", "train", *options, "--output", tmp_path / "learned")
    assert "1 pairs left out: " in capfd.readouterr().err
