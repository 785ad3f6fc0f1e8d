"""Vocabulary maps, shortlists and their coverage, compared with plain definitions."""

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phrase_tables import PIECES, aligned_pairs, counted, map_entries, named, run

from export import coverage, shortlist
from export.coverage import CoveredSentence
from export.vocabulary_map import BYTES, Knobs, write
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_json
from nmt_frontier.model.vocabulary_map import VocabularyMap, check

SENTENCES = [CoveredSentence([*"ab"], [*"xy"], [*"xz"]), CoveredSentence([*"bcq"], ["y", "y", "outside"], ["z"])]


def test_map_leaves_out_what_shorter_ngrams_bring_and_rare_pieces(tmp_path):
    pairs = [("a b", "x y", "0-0 1-1")] * 3 + [("a b", "z", "0-0 1-0")] * 2 + [("a", "c", "0-0")]
    table = counted(tmp_path, pairs)
    expected = {("a",): ["x"], ("b",): ["y"], ("a", "b"): ["z"]}
    assert map_entries(table, min_frequency=2) == expected
    write(tmp_path / "map", table, Knobs(min_frequency=2, unaligned=0, most_frequent=1))
    assert (tmp_path / "map").read_text() == "\tx\nb\ty\na b\tz\n"
    check(tmp_path / "map", PIECES)
    assert VocabularyMap.load(tmp_path / "map").entries == {(): ["x"], ("b",): ["y"], ("a", "b"): ["z"]}


@given(st.lists(aligned_pairs(), min_size=1, max_size=8), st.integers(1, 3), st.integers(1, 2), st.integers(1, 3))
@settings(max_examples=60)
def test_map_equals_the_definition(tmp_path_factory, pairs, max_ngram, min_frequency, meanings):
    table = counted(tmp_path_factory.mktemp("map"), pairs)
    ranks: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    for (*ngram, target), count in named(table.phrases).items():
        ranks.setdefault(tuple(ngram), []).append((-count, target))  # PIECES are in the order of the alphabet
    expected: dict[tuple[str, ...], list[str]] = {}
    for ngram in sorted(ranks, key=len):
        shorter = (ngram[i:j] for i in range(len(ngram)) for j in range(i + 1, len(ngram) + 1) if j - i < len(ngram))
        repeated = {target for part in shorter for target in expected.get(part, [])}
        best = [target for count, target in sorted(ranks[ngram])[:meanings] if -count >= min_frequency]
        targets = [target for target in best if target not in repeated]
        if targets and len(ngram) <= max_ngram:
            expected[ngram] = targets
    assert map_entries(table, max_ngram=max_ngram, min_frequency=min_frequency, meanings=meanings) == expected


@pytest.mark.parametrize(("max_ngram", "always"), [(1, 0), (3, 2)])
def test_each_byte_of_a_source_brings_all_bytes(tmp_path, max_ngram, always):
    """Also bytes that no pair has; other pieces bring no bytes but themselves, to be copied."""
    dog, wolf = "<0xF0> <0x9F> <0x90> <0x95>", "<0xF0> <0x9F> <0x90> <0xBA>"
    pairs = [(f"a {dog}", f"x {wolf}", "0-0 1-1 2-2 3-3 4-4")] * 3 + [("b", "y", "0-0")] * 9
    table = counted(tmp_path, pairs, vocabulary=["!", *BYTES, *"abxy"])
    knobs = Knobs(max_ngram=max_ngram, min_frequency=1, unaligned=0, most_frequent=always)
    counts = write(tmp_path / "map", table, knobs)
    check(tmp_path / "map", table.pieces)
    found = VocabularyMap.load(tmp_path / "map")
    assert counts["targets"] == sum(map(len, found.entries.values()))
    assert all(found.candidates([["a", byte]]) >= {*BYTES, "x"} for byte in BYTES)
    assert all(len({*targets}) == len(targets) for targets in found.entries.values())
    if not always:
        assert found.entries["<0x95>",][0] == "<0xBA>"  # the most frequent one first
        assert found.entries["b",] == ["y", "b"]  # a piece can be copied, whatever pairs there are
    write(tmp_path / "map", table, knobs._replace(min_frequency=100))  # no pair is so frequent
    assert VocabularyMap.load(tmp_path / "map").candidates([["<0xF0>"]]) >= {*BYTES}


def test_a_symbol_of_a_source_brings_itself(tmp_path):
    pairs = [("a ⟦1⟧ b", "x ⟦1⟧ y", "0-0 1-1 2-2")] * 3
    table = counted(tmp_path, pairs, vocabulary=["!", "⟦1⟧", "⟦2⟧", *"abxy"])
    write(tmp_path / "map", table, Knobs(unaligned=0, most_frequent=0))
    check(tmp_path / "map", table.pieces)
    found = VocabularyMap.load(tmp_path / "map")
    assert found.entries["⟦1⟧",] == ["⟦1⟧"] and found.candidates([["⟦2⟧"]]) >= {"⟦2⟧"}
    assert not found.candidates([["a"]]) & {"⟦1⟧", "⟦2⟧"}


def test_blocks_of_the_table_do_not_change_the_map(tmp_path, monkeypatch):
    generator = np.random.default_rng(1)
    sides = ((" ".join(generator.choice(PIECES, 5)) for _ in range(2)) for _ in range(200))
    pairs = [(source, target, "0-1 1-2 2-0 3-3 4-4") for source, target in sides]
    table = counted(tmp_path, pairs)
    expected = map_entries(table, meanings=2)
    monkeypatch.setattr("export.vocabulary_map.BLOCK_KEYS", len(PIECES))
    assert map_entries(table, meanings=2) == expected and len(expected) > 50


@pytest.mark.slow
def test_the_map_has_the_same_bytes_in_every_process(tmp_path):
    counted(tmp_path, [("a b c", "x y z", "0-0 1-1 2-2"), ("c a", "z x", "0-0 1-1")] * 3)
    options = ["--phrase-table", tmp_path / "table", "--output", output := tmp_path / "map"]
    options += ["--knobs", json.dumps({"min_frequency": 1, "unaligned": 0, "most_frequent": 0})]
    command = [sys.executable, "-m", "export.vocabulary_map", "build", *map(str, options)]
    for seed in ("1", "2"):  # a forked process would keep its parent's seed
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        assert output.read_bytes() == b"\t\na\tx\nb\ty\nc\tz\n"


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"max_ngramm": 2}, "max_ngramm is no knob of a map; there are max_ngram, min_frequency"),
        ({"max_ngram": 0}, "max_ngram 0: give a whole number of at least 1"),
        ({"max_ngram": 4}, "max_ngram 4: the phrase table has n-grams of 1 to 3 pieces"),
        ({"max_ngram": "3"}, "max_ngram '3': give a whole number"),
        ({"meanings": 0}, "meanings 0: give a whole number of at least 1"),
        ({"unaligned": -1}, "unaligned -1: give a whole number of at least 0"),
        ({"counted": "pieces"}, "counted 'pieces': give phrases or links"),
    ],
)
def test_invalid_knobs_are_refused(tmp_path, knobs, message):
    write_json(tmp_path / "dev.json", {"picked": {"max_ngram": 2, "meanings": 7, "own": 99.9, "map": "a name"}})
    read = [Knobs.parse(text) for text in (str(tmp_path / "dev.json"), '{"max_ngram": 2, "meanings": 7}')]
    assert read == [Knobs(2, meanings=7)] * 2
    with pytest.raises(UserError, match=message):
        Knobs.parse(json.dumps(knobs))
    with pytest.raises(UserError, match=message):
        list(Knobs.grid({knob: [value] for knob, value in knobs.items()}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a x\n", "line 1 is not n-gram"),
        ("a\tx\nb\ty\tz\n", "line 2 is not n-gram"),
        ("a\tx\nb\tq\n", "line 2: 'q' is no piece of the model's vocabulary"),
        ("q\tx\n", "line 1: 'q' is no piece"),
        ("a\tx\na\ty\n", "line 2: the n-gram 'a' occurs twice"),
    ],
)
def test_a_broken_map_is_named_with_its_line(tmp_path, text, message):
    (tmp_path / "map").write_text(text)
    with pytest.raises(UserError, match=message):
        check(tmp_path / "map", PIECES)
        VocabularyMap.load(tmp_path / "map")


def test_a_piece_may_have_a_space_that_is_none_of_ascii(tmp_path):
    (tmp_path / "map").write_text("\ta \u3000\n\u3000\t!\xa0 x\n")
    check(tmp_path / "map", PIECES)
    assert VocabularyMap.load(tmp_path / "map").entries == {(): ["a", "\u3000"], ("\u3000",): ["!\xa0", "x"]}


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=3))
@settings(max_examples=40)
def test_a_map_is_loaded_for_some_sentences_only(tmp_path_factory, sources):
    path = tmp_path_factory.mktemp("some") / "map"
    ngrams = [ngram for size in range(5) for ngram in itertools.product("abc", repeat=size)]
    path.write_text("".join(f"{' '.join(ngram)}\t{' '.join(ngram[-1:])} x\n" for ngram in ngrams))
    full, part = VocabularyMap.load(path), VocabularyMap.load(path, sources)
    assert {*part.entries} == {ngram for source in sources for ngram in full.ngrams(source)}
    assert [*map(part.candidates, [[s] for s in sources])] == [*map(full.candidates, [[s] for s in sources])]


def test_shortlist_of_marian_in_both_formats(tmp_path):
    pairs = [("a b", "x y", "0-0 1-1")] * 3 + [("a b", "z y", "0-0 1-1")] + [("a", "c", "0-0"), ("b", "y", "")]
    table = counted(tmp_path, pairs)
    rows = [row.split() for row in shortlist.lines(table, best=2)]
    assert rows == [["x", "a", "0.60000000"], ["c", "a", "0.20000000"], ["y", "b", "1.00000000"]]
    write(tmp_path / "map", table, shortlist.SHORTLIST._replace(meanings=2, most_frequent=1))
    check(tmp_path / "map", PIECES)
    assert VocabularyMap.load(tmp_path / "map").entries == {(): ["y"], ("a",): ["x", "c"]}
    outputs = ["--output", tmp_path / "shortlist.txt", "--map", tmp_path / "shortlist.vmap.txt"]
    run("export.shortlist", "--phrase-table", tmp_path / "table", *outputs)
    listed = {tuple(row.split()[:2]) for row in (tmp_path / "shortlist.txt").read_text().splitlines()}
    entries = VocabularyMap.load(tmp_path / "shortlist.vmap.txt").entries
    check(tmp_path / "shortlist.vmap.txt", PIECES)
    assert {*entries[()]} == {"c", "x", "y", "z"} and listed == {("x", "a"), ("c", "a"), ("z", "a"), ("y", "b")}


def test_coverage_of_a_map_is_counted_sentence_by_sentence():
    vocabulary_map = VocabularyMap({(): ["c"], ("a",): ["x"], ("a", "b"): ["z"], ("b",): ["y"]})
    special = 3  # <unk>, <s>, </s>
    assert coverage.map_coverage(vocabulary_map, SENTENCES) == {
        "own": 100 * 4 / 5,
        "reference": 100 * 2 / 3,
        "candidates": (4 + 2 + 2 * special) / 2,
        "candidates_per_token": (4 + 2 + 2 * special) / 5,
    }


@given(st.lists(aligned_pairs(), min_size=1, max_size=8), st.integers(1, 3))
@settings(max_examples=40)
def test_coverage_needs_only_what_the_sentences_look_up(tmp_path_factory, pairs, max_ngram):
    folder = tmp_path_factory.mktemp("coverage")
    table, knobs = counted(folder, pairs), Knobs(max_ngram, 1, 3, 1, 1)
    counts = write(folder / "map", table, knobs)
    full = VocabularyMap.load(folder / "map")
    small = coverage.restrict(table, [sentence.source for sentence in SENTENCES])
    part = coverage.build_in_memory(small, knobs)
    assert coverage.map_coverage(part, SENTENCES) == coverage.map_coverage(full, SENTENCES)
    assert {*part.entries} <= {*full.entries}
    assert coverage.map_size(table, knobs) == {"ngrams": len(full.entries), "bytes": (folder / "map").stat().st_size}
    assert sum(counts["ngrams"].values()) + 1 == len(full.entries)


def test_the_picked_map_has_the_fewest_candidates_of_those_that_cover_enough():
    figures = [(99, 5, 1), (99.5, 9, 3), (99.9, 9, 2), (100, 20, 1)]
    rows = [{"own": own, "candidates": candidates, "bytes": size} for own, candidates, size in figures]
    assert coverage.pick(rows, 99.5) is rows[2]
    assert coverage.pick([*rows[:1], {"own": 99, "candidates": 4, "bytes": 1}], 99.5)["candidates"] == 4
