"""Phrase tables, compared with Och and Ney's definition of a phrase pair."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phrase_tables import PIECES, aligned_pairs, counted, map_entries, named

from export import coverage, phrase_table, phrases, sorted_counts
from export.phrase_table import MAX_NGRAM, PhraseTable
from export.phrases import MAX_VOCABULARY, piece_index
from export.vocabulary_map import Knobs, always_on, write
from formats import records
from nmt_frontier.errors import UserError
from nmt_frontier.model.vocabulary_map import VocabularyMap
from nmt_frontier.sentence import split_pieces


def consistent(source, target, links):
    """The definition, piece by piece, without the pairs that have unaligned pieces at an edge."""
    for start in range(len(source)):
        for end in range(start + 1, min(start + MAX_NGRAM, len(source)) + 1):
            inside = [j for i, j in links if start <= i < end]
            if not inside or "outside" in source[start:end]:
                continue
            low, high = min(inside), max(inside)
            if all(start <= i < end for i, j in links if low <= j <= high):
                for piece in set(target[low : high + 1]) - {"outside"}:
                    yield tuple(source[start:end]), piece


@given(st.lists(aligned_pairs(), min_size=1, max_size=6), st.integers(1, 3))
@settings(max_examples=60)
def test_phrase_table_equals_the_definition(tmp_path_factory, pairs, shards):
    expected: Counter = Counter()
    linked: Counter = Counter()
    frequency, unaligned = Counter(), Counter()
    for source, target, alignment in pairs:
        source, target = split_pieces(source), split_pieces(target)
        links = [tuple(map(int, link.split("-"))) for link in alignment.split()]
        expected.update((*ngram, piece) for ngram, piece in consistent(source, target, links))
        linked.update((source[i], target[j]) for i, j in links if "outside" not in (source[i], target[j]))
        frequency.update(target)
        unaligned.update(piece for j, piece in enumerate(target) if all(j != link[1] for link in links))
    table = counted(tmp_path_factory.mktemp("phrases"), pairs, shards)
    assert named(table.phrases) == expected
    assert named(table.links) == linked
    for counts, occurrences in zip(table.targets, (frequency, unaligned), strict=True):
        assert counts.tolist() == [occurrences["outside"], *(occurrences[piece] for piece in PIECES)]


@given(st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=30), max_size=6))
@settings(max_examples=60)
def test_merged_segments_count_every_key(tmp_path_factory, key_lists):
    folder = tmp_path_factory.mktemp("segments")
    writer = sorted_counts.SegmentWriter(folder / "segments")
    for keys in key_lists:
        writer.keys[: len(keys)] = keys
        writer.used = len(keys)
        writer.flush()
    segments = [*(folder / "segments").iterdir()] if key_lists else []
    for block in (1, 3, sorted_counts.BLOCK_KEYS):
        blocks = [*sorted_counts.merge(segments, block)]
        keys, counts = ([int(n) for part in blocks for n in part[k]] for k in (0, 1))
        expected = Counter(itertools.chain(*key_lists))
        assert keys == sorted(expected) and dict(zip(keys, counts, strict=True)) == expected


def test_a_pair_that_does_not_fit_into_the_segment_starts_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr(sorted_counts, "SEGMENT_KEYS", 40)
    phrases = counted(tmp_path, [("a b c", "x y z", "0-0 1-1 2-2"), ("b", "y", "0-0")] * 20).phrases
    assert len(phrases.keys) == len(named(phrases)) and named(phrases)["b", "y"] == 40
    assert len(list((tmp_path / "1" / "phrases").iterdir())) > 1


def test_too_large_a_vocabulary_is_refused():
    with pytest.raises(UserError, match="65,536 pieces"):
        piece_index([str(number) for number in range(65_536)])


@pytest.mark.parametrize("alignment", ["0-2", "1-0", "0", "0-", "-0", "0-0,0-0", "0-0 x-0", "99999999999999999999-0"])
def test_a_link_outside_the_pair_names_the_record(tmp_path, alignment):
    with pytest.raises(UserError, match=r"aligned\.tsv\.zst: record 2 of shard 1/1 is no aligned pair"):
        counted(tmp_path, [("a", "x y", "0-1"), ("a", "x y", alignment)])


def test_links_without_end_are_an_error_and_not_a_loop(tmp_path, monkeypatch):
    monkeypatch.setattr(sorted_counts, "SEGMENT_KEYS", 100)
    with pytest.raises(UserError, match=r"aligned\.tsv\.zst: record 1 of shard 1/1 is no aligned pair"):
        counted(tmp_path, [("a", "x", "0-0 " * 100 + "0-0")])


def test_what_is_no_alignment_or_of_another_vocabulary_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"aligned\.tsv\.zst: not source<TAB>target<TAB>links"):
        counted(tmp_path, [("a", "x")])
    counted(tmp_path, [("a", "x", "0-0")])
    (tmp_path / "other.txt").write_text("a\nx\n")
    with pytest.raises(UserError, match=r"a vocabulary of 8 pieces.*has 2"):
        phrase_table.merge([tmp_path / "1"], tmp_path / "other.txt", None, tmp_path / "table")


@pytest.mark.slow
def test_piece_frequencies_come_from_an_epoch(tmp_path):
    pairs = [("a", "x", "0-0"), ("a", "x", "0-0"), ("b", "y", "0-0")]
    assert always_on(counted(tmp_path, pairs), Knobs(most_frequent=1, unaligned=0)) == [PIECES.index("x") + 1]
    (tmp_path / "epoch").write_text("y y outside\n\ny x \u3000\n")
    phrase_table.merge([tmp_path / "1"], tmp_path / "vocabulary.txt", tmp_path / "epoch", tmp_path / "taught")
    table = PhraseTable.load(tmp_path / "taught")
    assert table.targets.frequency.tolist() == [1, 0, 0, 0, 0, 1, 3, 0, 1]
    assert always_on(table, Knobs(most_frequent=1, unaligned=0)) == [PIECES.index("y") + 1]
    assert map_entries(table) == {("a",): ["x"], ("b",): ["y"]}


def test_pieces_that_are_often_unaligned_are_always_on(tmp_path):
    pairs = [("a", "x z", "0-0"), ("a", "x z", "0-0"), ("b", "y y y", "0-0 0-1 0-2")]
    table = counted(tmp_path, pairs)
    assert always_on(table, Knobs(most_frequent=0, unaligned=1)) == [PIECES.index("z") + 1]
    assert always_on(table, Knobs(most_frequent=1, unaligned=0)) == [PIECES.index("y") + 1]


@pytest.mark.slow
def test_the_highest_numbers_of_pieces_are_counted_and_mapped(tmp_path):
    """65,535 pieces: numbers use all sixteen bits, and the highest key of each length is the last of the table."""
    pieces = [f"p{number}" for number in range(1, MAX_VOCABULARY + 1)]
    a, b, last = "p32768", "p40000", f"p{MAX_VOCABULARY}"
    pairs = [(f"{last} {last} {last}", f"{last} {a} {b}", "0-0 1-1 2-2"), (a, last, "0-0")]
    records.write(tmp_path / "a.tsv.zst", pairs)
    (tmp_path / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    phrases.count(tmp_path / "a.tsv.zst", pieces, tmp_path / "1")
    phrase_table.merge([tmp_path / "1"], tmp_path / "vocabulary.txt", None, tmp_path / "table")
    table = PhraseTable.load(tmp_path / "table")
    keys = table.phrases.keys.tolist()
    assert keys == sorted(keys) and keys[-1] == 2**64 - 1 and len(keys) == 1 + 3 + 3 + 3
    knobs = Knobs(min_frequency=1, meanings=5, unaligned=0, most_frequent=0)
    write(tmp_path / "map", table, knobs)
    entries = VocabularyMap.load(tmp_path / "map").entries
    assert entries == {(): [], (a,): [last], (last,): [a, b, last]}
    small = coverage.restrict(table, [[last, last, last], [a]])
    assert coverage.build_in_memory(small, knobs).entries == entries
