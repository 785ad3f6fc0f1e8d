"""From aligned pairs to the vocabulary map: against a plain reading of the definitions."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export.alignment import align, read_pairs, train
from export.phrase_table import PhraseTable
from export.vocabulary_map import build, lines
from formats.errors import UserError

PIECES = ["a", "b", "c", "x", "y", "z"]


@st.composite
def aligned_pairs(draw):
    source = draw(st.lists(st.sampled_from([*PIECES, "outside"]), min_size=1, max_size=6))
    target = draw(st.lists(st.sampled_from([*PIECES, "outside"]), min_size=1, max_size=6))
    link = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    links = sorted(draw(st.sets(link, max_size=8)))
    return " ".join(source), " ".join(target), " ".join(f"{i}-{j}" for i, j in links)


def phrases(source, target, links, max_ngram):
    """Och and Ney's definition, word by word."""
    for start in range(len(source)):
        for end in range(start + 1, min(start + max_ngram, len(source)) + 1):
            inside = [j for i, j in links if start <= i < end]
            if not inside or "outside" in source[start:end]:
                continue
            low, high = min(inside), max(inside)
            if all(start <= i < end for i, j in links if low <= j <= high):
                for word in set(target[low : high + 1]) - {"outside"}:
                    yield tuple(source[start:end]), word


@given(st.lists(aligned_pairs(), max_size=6), st.integers(1, 3))
@settings(deadline=None)  # the first example compiles
def test_phrase_table_equals_the_definition(pairs, max_ngram):
    expected: Counter = Counter()
    for source, target, alignment in pairs:
        links = [tuple(map(int, link.split("-"))) for link in alignment.split()]
        expected.update(phrases(source.split(), target.split(), links, max_ngram))
    table = PhraseTable(PIECES)
    table.add(pairs, max_ngram)
    found = {
        (tuple(PIECES[n - 1] for n in ngram), PIECES[word - 1]): count
        for ngram, words, counts in table.ngrams()
        for word, count in zip(words, counts, strict=True)
        if word
    }
    assert found == expected


def test_table_survives_saving_and_counts_unaligned_words(tmp_path):
    table = PhraseTable(PIECES)
    table.add([("a b", "x y x", "0-0 1-1")], 3)
    table.save(tmp_path / "table.npz")
    loaded = PhraseTable.load(tmp_path / "table.npz")
    assert loaded.pieces == PIECES and np.array_equal(loaded.keys, table.keys)
    assert loaded.frequency[PIECES.index("x") + 1] == 2
    assert loaded.unaligned.tolist() == [0, 0, 0, 0, 1, 0, 0]


def test_too_large_a_vocabulary_is_said_plainly():
    with pytest.raises(UserError, match="65,536 pieces"):
        PhraseTable([str(number) for number in range(65_536)])


def test_map_leaves_out_what_shorter_ngrams_bring_and_rare_words():
    table = PhraseTable(PIECES)
    table.add([("a b", "x y", "0-0 1-1")] * 3 + [("a b", "z", "0-0 1-0")] * 2 + [("a", "c", "0-0")], 3)
    entries = build(table, max_ngram=3, min_frequency=2, meanings=5, unaligned=0, most_frequent=0)
    a, b, x, y, z = (PIECES.index(piece) + 1 for piece in "abxyz")
    assert entries == {(): [], (a,): [x], (b,): [y], (a, b): [z]}
    assert list(lines(entries, PIECES)) == ["\t\n", "a\tx\n", "a b\tz\n", "b\ty\n"]
    always_on = build(table, max_ngram=3, min_frequency=2, meanings=5, unaligned=0, most_frequent=1)
    assert always_on[()] == [x] and (a,) not in always_on


def test_fast_align_finds_a_word_by_word_translation(tmp_path):
    generator = np.random.default_rng(1)
    words = [[str(word) for word in generator.integers(0, 30, generator.integers(4, 9))] for _ in range(400)]
    pairs = [(sentence, [f"t{word}" for word in sentence]) for sentence in words]
    aligned = list(align(iter(pairs), train(iter(pairs), tmp_path)))
    links = [link.split("-") for record in aligned for link in record[2].split()]
    assert len(links) > 2000 and sum(i == j for i, j in links) / len(links) > 0.95


def test_sides_of_different_length_are_an_error(tmp_path):
    (tmp_path / "source").write_text("a\nb\n")
    (tmp_path / "target").write_text("x\n")
    with pytest.raises(UserError, match="before line 2"):
        list(read_pairs(tmp_path / "source", tmp_path / "target"))


def test_the_map_has_the_same_bytes_in_every_process(tmp_path):
    table = PhraseTable(PIECES)
    table.add([("a b c", "x y z", "0-0 1-1 2-2"), ("c a", "z x", "0-0 1-1")] * 3, 3)
    table.save(tmp_path / "table.npz")
    written = []
    for seed in ("1", "2"):
        output = tmp_path / f"{seed}.txt"
        command = [sys.executable, "-m", "export.vocabulary_map", "--phrase-table", tmp_path / "table.npz"]
        none_always_on = ["--unaligned", "0", "--most-frequent", "0", "--min-frequency", "1"]
        subprocess.run([*command, *none_always_on, "--output", output], check=True, env={"PYTHONHASHSEED": seed})
        written.append(output.read_bytes())
    assert written[0] == written[1] == b"\t\na\tx\nb\ty\nc\tz\n"
