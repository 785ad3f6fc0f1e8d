"""From pairs to the vocabulary map: against a plain reading of the definitions."""

import importlib.util
import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from export import agreement, coverage, phrase_table, phrases, runs, shortlist
from export.aligners import ALIGNERS, FastAlign, symmetrised
from export.alignment import aligned, encoded
from export.coverage import Sentence
from export.phrase_table import PhraseTable
from export.phrases import LONGEST, MAX_NGRAM, MAX_PIECES
from export.vocabulary_map import Knobs, always, build, grid, knobs_of, lines, write
from formats import records
from formats.errors import UserError
from formats.files import write_json
from formats.vocabulary_map import VocabularyMap, check

PIECES = ["a", "b", "c", "x", "y", "z"]


def counted(folder: Path, pairs, shards: int = 1) -> PhraseTable:
    """The phrase table of some aligned pairs."""
    records.write(folder / "aligned.tsv.zst", pairs)
    (folder / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in PIECES))
    folders = [folder / f"{k}" for k in range(1, shards + 1)]
    for k, output in enumerate(folders, 1):
        phrases.count(folder / "aligned.tsv.zst", PIECES, output, (k, shards))
    phrase_table.merge(folders, folder / "vocabulary.txt", None, folder / "table")
    return PhraseTable.load(folder / "table")


def entries(table: PhraseTable, **knobs: int) -> dict[tuple[str, ...], list[str]]:
    """The map's entries but the 0-grams."""
    given = {"max_ngram": 3, "min_frequency": 1, "meanings": 5, "unaligned": 0, "most_frequent": 0, **knobs}
    rows = itertools.chain.from_iterable(lines(block, table.pieces) for _, block in build(table, Knobs(**given)))
    sides = (row.rstrip("\n").split("\t") for row in rows)
    return {tuple(ngram.split()): words.split() for ngram, words in sides}


@st.composite
def aligned_pairs(draw):
    source = draw(st.lists(st.sampled_from([*PIECES, "outside"]), min_size=1, max_size=6))
    target = draw(st.lists(st.sampled_from([*PIECES, "outside"]), min_size=1, max_size=6))
    link = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    links = sorted(draw(st.sets(link, max_size=8)))
    return " ".join(source), " ".join(target), " ".join(f"{i}-{j}" for i, j in links)


def consistent(source, target, links):
    """Och and Ney's definition, word by word, without the pairs that have unaligned words at an edge."""
    for start in range(len(source)):
        for end in range(start + 1, min(start + MAX_NGRAM, len(source)) + 1):
            inside = [j for i, j in links if start <= i < end]
            if not inside or "outside" in source[start:end]:
                continue
            low, high = min(inside), max(inside)
            if all(start <= i < end for i, j in links if low <= j <= high):
                for word in set(target[low : high + 1]) - {"outside"}:
                    yield tuple(source[start:end]), word


def named(counts: runs.Counts) -> dict[tuple[str, ...], int]:
    """Counts by the pieces of their keys."""
    numbers = (
        (*(int(key) >> shift & 0xFFFF for shift in (48, 32, 16, 0)), count) for key, count in zip(*counts, strict=True)
    )
    return {tuple(PIECES[n - 1] for n in key if n): int(count) for *key, count in numbers}


@given(st.lists(aligned_pairs(), min_size=1, max_size=6), st.integers(1, 3))
@settings(max_examples=60)
def test_phrase_table_equals_the_definition(tmp_path_factory, pairs, shards):
    expected: Counter = Counter()
    linked: Counter = Counter()
    frequency, unaligned = Counter(), Counter()
    for source, target, alignment in pairs:
        source, target = source.split(), target.split()
        links = [tuple(map(int, link.split("-"))) for link in alignment.split()]
        expected.update((*ngram, word) for ngram, word in consistent(source, target, links))
        linked.update((source[i], target[j]) for i, j in links if "outside" not in (source[i], target[j]))
        frequency.update(target)
        unaligned.update(word for j, word in enumerate(target) if all(j != link[1] for link in links))
    table = counted(tmp_path_factory.mktemp("phrases"), pairs, shards)
    assert named(table.phrases) == expected
    assert named(table.links) == linked
    for counts, words in zip(table.words, (frequency, unaligned), strict=True):
        assert counts.tolist() == [words["outside"], *(words[piece] for piece in PIECES)]


@given(st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=30), max_size=6))
@settings(max_examples=60)
def test_merged_runs_count_every_key(tmp_path_factory, key_lists):
    folder = tmp_path_factory.mktemp("runs")
    written = runs.Runs(folder / "runs")
    for keys in key_lists:
        written.keys[: len(keys)] = keys
        written.used = len(keys)
        written.flush()
    found = [*(folder / "runs").iterdir()] if key_lists else []
    for block in (1, 3, runs.BLOCK):
        merged = [*runs.merge(found, block)]
        keys, counts = ([int(n) for part in merged for n in part[k]] for k in (0, 1))
        expected = Counter(itertools.chain(*key_lists))
        assert keys == sorted(expected) and dict(zip(keys, counts, strict=True)) == expected


def test_a_pair_that_does_not_fit_into_the_run_starts_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "RUN", 40)
    pairs = [("a b c", "x y z", "0-0 1-1 2-2"), ("b", "y", "0-0")] * 20
    assert len([*(counted(tmp_path, pairs).phrases.keys)]) == len(named(PhraseTable.load(tmp_path / "table").phrases))
    assert len(list((tmp_path / "1" / "phrases").iterdir())) > 1
    assert named(PhraseTable.load(tmp_path / "table").phrases)["b", "y"] == 40


def test_too_large_a_vocabulary_is_said_plainly():
    with pytest.raises(UserError, match="65,536 pieces"):
        phrases.index([str(number) for number in range(65_536)])


@pytest.mark.parametrize("alignment", ["0-2", "1-0", "0", "0-", "-0", "0-0,0-0", "0-0 x-0", "99999999999999999999-0"])
def test_a_link_outside_the_pair_names_the_record(tmp_path, alignment):
    with pytest.raises(UserError, match=r"aligned\.tsv\.zst: record 2 of shard 1/1 is no aligned pair"):
        counted(tmp_path, [("a", "x y", "0-1"), ("a", "x y", alignment)])


def test_shards_of_another_vocabulary_are_refused(tmp_path):
    counted(tmp_path, [("a", "x", "0-0")])
    (tmp_path / "other.txt").write_text("a\nx\n")
    with pytest.raises(UserError, match=r"a vocabulary of 6 pieces.*has 2"):
        phrase_table.merge([tmp_path / "1"], tmp_path / "other.txt", None, tmp_path / "table")


def test_an_epoch_says_what_is_always_on(tmp_path):
    pairs = [("a", "x", "0-0"), ("a", "x", "0-0"), ("b", "y", "0-0")]
    assert always(counted(tmp_path, pairs), Knobs(most_frequent=1, unaligned=0)) == [PIECES.index("x") + 1]
    (tmp_path / "epoch").write_text("y y outside\n\ny x\n")
    phrase_table.merge([tmp_path / "1"], tmp_path / "vocabulary.txt", tmp_path / "epoch", tmp_path / "taught")
    table = PhraseTable.load(tmp_path / "taught")
    assert table.words.frequency.tolist() == [1, 0, 0, 0, 1, 3, 0]
    assert always(table, Knobs(most_frequent=1, unaligned=0)) == [PIECES.index("y") + 1]
    assert entries(table) == {("a",): ["x"], ("b",): ["y"]}


def test_map_leaves_out_what_shorter_ngrams_bring_and_rare_words(tmp_path):
    pairs = [("a b", "x y", "0-0 1-1")] * 3 + [("a b", "z", "0-0 1-0")] * 2 + [("a", "c", "0-0")]
    table = counted(tmp_path, pairs)
    expected = {("a",): ["x"], ("b",): ["y"], ("a", "b"): ["z"]}
    assert entries(table, min_frequency=2) == expected
    write(tmp_path / "map", table, Knobs(min_frequency=2, unaligned=0, most_frequent=1))
    assert (tmp_path / "map").read_text() == "\tx\nb\ty\na b\tz\n"
    check(tmp_path / "map", PIECES)
    assert VocabularyMap.load(tmp_path / "map").entries == {(): ["x"], ("b",): ["y"], ("a", "b"): ["z"]}


@given(st.lists(aligned_pairs(), min_size=1, max_size=8), st.integers(1, 3), st.integers(1, 2), st.integers(1, 3))
@settings(max_examples=60)
def test_map_equals_the_definition(tmp_path_factory, pairs, max_ngram, min_frequency, meanings):
    table = counted(tmp_path_factory.mktemp("map"), pairs)
    words: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    for (*ngram, word), count in named(table.phrases).items():
        words.setdefault(tuple(ngram), []).append((-count, word))  # PIECES are in the order of the alphabet
    expected: dict[tuple[str, ...], list[str]] = {}
    for ngram in sorted(words, key=len):
        shorter = (ngram[i:j] for i in range(len(ngram)) for j in range(i + 1, len(ngram) + 1) if j - i < len(ngram))
        known = {word for part in shorter for word in expected.get(part, [])}
        chosen = [
            word for count, word in sorted(words[ngram])[:meanings] if -count >= min_frequency and word not in known
        ]
        if chosen and len(ngram) <= max_ngram:
            expected[ngram] = chosen
    assert entries(table, max_ngram=max_ngram, min_frequency=min_frequency, meanings=meanings) == expected


def test_blocks_of_the_table_do_not_change_the_map(tmp_path, monkeypatch):
    generator = np.random.default_rng(1)
    sides = ((" ".join(generator.choice(PIECES, 5)) for _ in range(2)) for _ in range(200))
    pairs = [(source, target, "0-1 1-2 2-0 3-3 4-4") for source, target in sides]
    table = counted(tmp_path, pairs)
    one = entries(table, meanings=2)
    monkeypatch.setattr("export.vocabulary_map.BLOCK", 7)
    assert entries(table, meanings=2) == one and len(one) > 50


def test_the_map_has_the_same_bytes_in_every_process(tmp_path):
    counted(tmp_path, [("a b c", "x y z", "0-0 1-1 2-2"), ("c a", "z x", "0-0 1-1")] * 3)
    written = []
    for seed in ("1", "2"):
        output = tmp_path / f"{seed}.txt"
        command = [sys.executable, "-m", "export.vocabulary_map", "build", "--phrase-table", tmp_path / "table"]
        none_always_on = ["--knobs", json.dumps({"min_frequency": 1, "unaligned": 0, "most_frequent": 0})]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([*command, *none_always_on, "--output", output], check=True, env=environment)
        written.append(output.read_bytes())
    assert written[0] == written[1] == b"\t\na\tx\nb\ty\nc\tz\n"


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"max_ngramm": 2}, "max_ngramm is no knob of a map; there are max_ngram, min_frequency"),
        ({"max_ngram": 0}, "max_ngram 0: the phrase table has n-grams of 1 to 3 pieces"),
        ({"max_ngram": 4}, "max_ngram 4: "),
        ({"max_ngram": "3"}, "max_ngram 3: "),
    ],
)
def test_knobs_that_are_none_are_refused(tmp_path, knobs, message):
    picked = {"max_ngram": 2, "meanings": 7, "own": 99.9, "map": "2-1-7-100-50-phrases"}
    write_json(tmp_path / "dev.json", {"picked": picked})
    assert knobs_of(str(tmp_path / "dev.json")) == knobs_of('{"max_ngram": 2, "meanings": 7}') == Knobs(2, meanings=7)
    with pytest.raises(UserError, match=message):
        knobs_of(json.dumps(knobs))
    with pytest.raises(UserError, match=message):
        list(grid({knob: [value] for knob, value in knobs.items()}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a x\n", "line 1 is not n-gram"),
        ("a\tx\nb\ty\tz\n", "line 2 is not n-gram"),
        ("a\tx\nb\tq\n", "line 2: 'q' is no piece of the model's vocabulary"),
        ("q\tx\n", "line 1: 'q' is no piece"),
        ("a\tx\na\ty\n", "line 2: the n-gram 'a' stands there twice"),
    ],
)
def test_a_broken_map_is_named_with_its_line(tmp_path, text, message):
    (tmp_path / "map").write_text(text)
    with pytest.raises(UserError, match=message):
        check(tmp_path / "map", PIECES)
        VocabularyMap.load(tmp_path / "map")


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=3))
@settings(max_examples=40)
def test_a_map_is_loaded_for_some_sentences_only(tmp_path_factory, sources):
    path = tmp_path_factory.mktemp("some") / "map"
    ngrams = [ngram for size in range(5) for ngram in itertools.product("abc", repeat=size)]
    path.write_text("".join(f"{' '.join(ngram)}\t{' '.join(ngram[-1:])} x\n" for ngram in ngrams))
    whole, some = VocabularyMap.load(path), VocabularyMap.load(path, sources)
    assert {*some.entries} == {ngram for source in sources for ngram in whole.ngrams(source)}
    assert [*map(some.candidates, [[s] for s in sources])] == [*map(whole.candidates, [[s] for s in sources])]


@pytest.mark.parametrize("name", ALIGNERS)
def test_an_aligner_finds_a_word_by_word_translation(tmp_path, name):
    if name == "eflomal" and not importlib.util.find_spec("eflomal"):
        pytest.skip("eflomal is not installed: it is no dependency, as it needs a C compiler")
    generator = np.random.default_rng(1)
    words = [[str(word) for word in generator.integers(0, 30, generator.integers(4, 9))] for _ in range(400)]
    pairs = [(sentence, [f"t{word}" for word in sentence]) for sentence in words]
    ALIGNERS[name].train(iter(pairs), tmp_path)
    found = aligned(iter(pairs), ALIGNERS[name](tmp_path))
    links = [link.split("-") for record in found for link in record[2].split()]
    assert len(links) > 2000 and sum(i == j for i, j in links) / len(links) > 0.95


def test_fast_align_learns_the_same_every_time(tmp_path):
    code = f"""
import numpy as np
from pathlib import Path
from export.aligners import FastAlign
generator = np.random.default_rng(1)
pairs = [tuple([f"{{side}}{{word}}" for word in generator.integers(0, 200, 8)] for side in "st") for _ in range(1000)]
for number in range(5):
    (folder := Path({str(tmp_path)!r}) / str(number)).mkdir()
    FastAlign.train(iter(pairs), folder)
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "OMP_NUM_THREADS": "2"})
    learned = {tuple((tmp_path / str(k) / way).read_bytes() for way in ("forward", "backward")) for k in range(5)}
    assert len(learned) == 1


def test_eflomal_is_asked_for_if_it_is_missing(tmp_path):
    if importlib.util.find_spec("eflomal"):
        pytest.skip("eflomal is installed")
    with pytest.raises(UserError, match="pip install eflomal"):
        ALIGNERS["eflomal"].train(iter([(["a"], ["b"])]), tmp_path)


def test_symmetrised_grows_from_the_intersection():
    # Both ways have 0-0; 1-1 is its neighbour and one way has it; 3-3 stands alone and is added last; 0-3 adds nothing.
    assert symmetrised(4, 4, {(0, 0), (1, 1), (3, 3)}, {(0, 0), (0, 3)}) == [(0, 0), (1, 1), (3, 3)]


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
    found = VocabularyMap.load(tmp_path / "shortlist.vmap.txt")
    check(tmp_path / "shortlist.vmap.txt", PIECES)
    assert {*found.entries[()]} == {"c", "x", "y", "z"} and listed == {("x", "a"), ("c", "a"), ("z", "a"), ("y", "b")}


SENTENCES = [
    Sentence(["a", "b"], ["x", "y"], ["x", "z"]),
    Sentence(["b", "c", "q"], ["y", "y", "outside"], ["z"]),
]


def test_coverage_of_a_map_is_counted_sentence_by_sentence():
    found = coverage.covered(VocabularyMap({(): ["c"], ("a",): ["x"], ("a", "b"): ["z"], ("b",): ["y"]}), SENTENCES)
    special = 3  # <unk>, <s>, </s>
    assert found == {
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
    whole = VocabularyMap.load(folder / "map")
    needed = coverage.only(table, [sentence.source for sentence in SENTENCES])
    part = coverage.in_memory(needed, knobs)
    assert coverage.covered(part, SENTENCES) == coverage.covered(whole, SENTENCES)
    assert {*part.entries} <= {*whole.entries}
    assert coverage.size(table, knobs) == {"ngrams": len(whole.entries), "bytes": (folder / "map").stat().st_size}
    assert sum(counts["ngrams"].values()) + 1 == len(whole.entries)


def test_the_picked_map_has_the_fewest_candidates_of_those_that_cover_enough():
    rows = [
        {"own": own, "candidates": c, "bytes": b}
        for own, c, b in [(99, 5, 1), (99.5, 9, 3), (99.9, 9, 2), (100, 20, 1)]
    ]
    assert coverage.pick(rows, 99.5) is rows[2]
    assert coverage.pick([*rows[:1], {"own": 99, "candidates": 4, "bytes": 1}], 99.5)["candidates"] == 4


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus of pairs, word by word, and a SentencePiece model of it."""
    folder = tmp_path_factory.mktemp("corpus")
    generator = np.random.default_rng(1)
    words = ["".join(generator.choice([*"abcdefgh"], generator.integers(2, 6))) for _ in range(60)]
    drawn = [generator.choice(words, generator.integers(3, 9)).tolist() for _ in range(3000)]
    pairs = [(" ".join(sentence), " ".join(word.upper() for word in sentence)) for sentence in drawn]
    records.write(folder / "c.tsv.zst", [*pairs, ("", "EMPTY")])
    text = iter(side for pair in pairs for side in pair)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=text, model_prefix=str(folder / "sp"), vocab_size=130, minloglevel=2
    )
    return folder


def run(*arguments) -> None:
    subprocess.run([sys.executable, "-m", *map(str, arguments)], check=True)


def test_shards_are_aligned_with_what_a_sample_taught(corpus, tmp_path):
    shared = ["--corpus", corpus / "c.tsv.zst", "--sentencepiece", corpus / "sp.model"]
    run("export.alignment", "train", *shared, "--pairs", 1500, "--output", tmp_path / "probabilities")
    apply = ["export.alignment", "apply", *shared, "--probabilities", tmp_path / "probabilities"]
    run(*apply, "--output", tmp_path / "all.tsv.zst")
    shards = [tmp_path / f"{k}.tsv.zst" for k in (1, 2)]
    for k, shard in enumerate(shards, 1):
        run(*apply, "--shard", f"{k}/2", "--output", shard)
    whole = list(records.read(tmp_path / "all.tsv.zst"))
    assert whole == [record for shard in shards for record in records.read(shard)]
    assert len(whole) == 3000  # the pair with an empty side has nothing to align
    right = total = 0
    for source, target, alignment in whole:
        words = [np.cumsum([piece.startswith("▁") for piece in side.split()]) for side in (source, target)]
        for i, j in (map(int, link.split("-")) for link in alignment.split()):
            total += 1
            right += words[0][i] == words[1][j]
    assert right / total > 0.9


def test_aligners_are_compared(corpus, tmp_path, monkeypatch):
    """The second aligner is the first one again, but for every fifth pair, which it leaves without links."""

    class Lazy(FastAlign):
        def align(self, pairs):
            for number, links in enumerate(super().align(pairs)):
                yield links if number % 5 else []

    monkeypatch.setattr(agreement, "ALIGNERS", {"fast_align": FastAlign, "lazy": Lazy})
    pairs = list(itertools.islice(encoded(corpus / "c.tsv.zst", corpus / "sp.model"), 1000))
    found = agreement.compare(pairs)
    (both,) = found["agreement"]
    assert both["of_the_second"] == 1 and 0.75 < both["of_the_first"] < 0.85 and both["the_same_pairs"] == 0.8
    single = found["aligners"]
    assert single["lazy"]["unlinked_target"] > single["fast_align"]["unlinked_target"] + 0.1
    assert "| fast_align, lazy" in agreement.markdown(found)
    with pytest.raises(UserError, match="no pairs"):
        agreement.compare([])


def test_a_pair_with_an_endless_side_is_left_out_and_counted(corpus, tmp_path, capsys):
    records.write(
        tmp_path / "c.tsv.zst", [("abc", "ABC"), ("abc", "x " * (LONGEST + 1)), ("abc " * 3, "ABC"), ("", "A")]
    )
    assert len(list(encoded(tmp_path / "c.tsv.zst", corpus / "sp.model"))) == 2
    assert "2 pairs left out: a side is empty or has more than 1,024 pieces" in capsys.readouterr().err
    assert [len(list(encoded(tmp_path / "c.tsv.zst", corpus / "sp.model", most=most))) for most in (1, 2)] == [1, 2]
    assert [line[0] for line in capsys.readouterr().err.splitlines()] == ["0", "1"]


def test_training_says_what_it_left_out(corpus, tmp_path):
    records.write(tmp_path / "c.tsv.zst", [("abc", "ABC"), ("", "A"), *[("abc", "ABC")] * 20])
    command = ["train", "--corpus", tmp_path / "c.tsv.zst", "--sentencepiece", corpus / "sp.model", "--pairs", 10]
    command = [sys.executable, "-m", "export.alignment", *map(str, command), "--output", str(tmp_path / "learned")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "1 pairs left out: " in done.stderr


def test_the_highest_numbers_of_pieces_are_counted_and_mapped(tmp_path):
    """65,535 pieces: numbers use all sixteen bits, and the highest key of each length is the last of the table."""
    pieces = [f"p{number}" for number in range(1, MAX_PIECES + 1)]
    a, b, last = "p32768", "p40000", f"p{MAX_PIECES}"
    records.write(
        tmp_path / "a.tsv.zst", [(f"{last} {last} {last}", f"{last} {a} {b}", "0-0 1-1 2-2"), (a, last, "0-0")]
    )
    (tmp_path / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    phrases.count(tmp_path / "a.tsv.zst", pieces, tmp_path / "1")
    phrase_table.merge([tmp_path / "1"], tmp_path / "vocabulary.txt", None, tmp_path / "table")
    table = PhraseTable.load(tmp_path / "table")
    keys = table.phrases.keys.tolist()
    assert keys == sorted(keys) and keys[-1] == 2**64 - 1 and len(keys) == 1 + 3 + 3 + 3
    knobs = Knobs(min_frequency=1, meanings=5, unaligned=0, most_frequent=0)
    write(tmp_path / "map", table, knobs)
    found = VocabularyMap.load(tmp_path / "map").entries
    assert found == {(): [], (a,): [last], (last,): [a, b, last]}
    needed = coverage.only(table, [[last, last, last], [a]])
    assert coverage.in_memory(needed, knobs).entries == found
