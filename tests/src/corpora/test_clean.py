"""Cleaning: every line is kept or dropped for one reason; nothing is lost between shards and their whole."""

import json
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import warm
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora import clean, copy, duplicates, funnel, gather, rules
from corpora.funnel import KEPT, Funnel
from corpora.repairs import Repairs
from corpora.settings import Cleaning
from corpora.text_features import Measured, characters
from formats import records
from formats.batches import batches
from formats.counts import dropped_by_half
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json

WORDS = st.lists(st.sampled_from(["a", "dog", "Hund", "läuft", "!", "x" * 9]), max_size=6).map(" ".join)
PAIRS = st.lists(st.tuples(WORDS, WORDS), max_size=30)
OFF = {key: False for key in Cleaning.__struct_fields__} | {"langid": [], "langid_languages": None}
SETTINGS = {"max_tokens": 4, "max_length_ratio": 2.5, "control_characters": True}
REASONS = ["empty", "control_characters", "too_long", "length_ratio", "held_out", "duplicate"]
ENGLISH = "A group of people are standing in front of the large building."
GERMAN = "Eine Gruppe von Menschen steht vor dem großen Gebäude."
SPANISH = "El perro corre por el parque con una pelota roja."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clean")


def corpus(path, content, **about):
    _, checksum = records.write(path, content)
    if about:
        write_json(records.info(path), about | {"sha256": checksum})
    return path


def reasons(lines, languages=("en", "de"), held=(), **asked):
    """The reason for which each record is dropped."""
    languages = list(languages)[: len(lines[0])]
    tables = characters(languages)
    funnel = Funnel(rules.chosen(Cleaning(**OFF | asked), languages, held, tables))
    with tempfile.TemporaryDirectory() as name:
        path = corpus(Path(name, "x.tsv.zst"), lines)
        found = [funnel.sort_out(Measured(batch, tables)) for batch in batches(path)]
    return [None if verdict == KEPT else funnel.reasons[verdict] for verdict in np.concatenate(found)]


def shard(path, lines=None, part=None, rejected=None, held_out=(), source=None, settings=None):
    """A cleaned shard of ``lines``, or of the corpus ``source``."""
    source = source or corpus(path.with_name(f"raw-{path.name}"), lines)
    tables, columns = characters(["en", "de"]), len(next(records.read(source)))
    cleaning = Cleaning(**OFF | (settings or {}))
    chosen = rules.chosen(cleaning, ["en", "de"][:columns], held_out, tables)
    repairs = Repairs(cleaning, ["en", "de"][:columns])
    clean.clean(source, part, path, repairs, Funnel(chosen), tables, rejected)
    return path


def cleaned(folder, lines, held_out=(), shards=2, near=False, settings=SETTINGS):
    """The whole chain in this process, with rejected records."""
    source = corpus(folder / "x.tsv.zst", lines, name="x", lines=len(lines))
    refused = [folder / "shards" / f"{k}.rejected.tsv.zst" for k in range(1, shards + 1)]
    outputs = [
        shard(folder / f"shards/{k}-of-{shards}.tsv.zst", None, (k, shards), rejected, held_out, source, settings)
        for k, rejected in enumerate(refused, 1)
    ]
    final = folder / "out" / "x.tsv.zst"
    gather.gather(outputs, final, read_json(records.info(source)), ["duplicate", "near_duplicate"][: 1 + near], refused)
    return list(records.read(final)), read_json(records.info(final)), list(records.read(funnel.rejected_file(final)))


# Rules


@pytest.mark.parametrize(
    ("record", "dropped"),
    [
        (("a dog", "ein Hund"), None), (("", "ein Hund"), "empty"), (("a dog", ""), "empty"),
        (("a dog", "\u00a0"), "empty"), (("",), "empty"), (("one two three four", "eins"), "length_ratio"),
        (("one two three four five", "eins"), "too_long"), (("eins", "one two three four five"), "too_long"),
        (("one two three four", "eins zwei drei vier"), None), (("ab", "abcde"), None),
        (("ab", "abcdef"), "length_ratio"), (("one two three four",), None),
        (("a\x00dog", "ein Hund"), "control_characters"), (("a dog", "ein H\ufffdnd"), "control_characters"),
        (("soft\u00adhyphen", "weicher Strich"), None),
    ],
)  # fmt: skip
def test_first_reason_counts(record, dropped):
    assert reasons([record], **SETTINGS) == [dropped]


@pytest.mark.parametrize(
    ("asked", "good", "bad", "name"),
    [
        ({"identical": True}, ("one", "eins"), ("same", "same"), "identical"),
        ({"min_script_share": 0.5}, ("one, два", "eins"), ("два", "eins"), "wrong_script"),
        ({"max_digit_mismatch": 0.5}, ("in 1999", "1999"), ("in 1999", "2"), "digit_mismatch"),
        ({"max_digit_mismatch": 0}, ("in 1999", "1999"), ("1 2", "1"), "digit_mismatch"),
        ({"max_repeats": 2}, ("ha ha", "ha ha"), ("ha ha ha", "ha"), "repeated_ngram"),
        ({"terminal_punctuation": True}, ("He left.", "„Er ging!“"), ("He left.", "Er"), "terminal_punctuation"),
        ({"langid": ["source"]}, (ENGLISH, ENGLISH), (GERMAN, GERMAN), "language"),
        ({"langid": ["target"]}, (GERMAN, GERMAN), (ENGLISH, ENGLISH), "language"),
        ({"langid": ["source", "target"]}, (ENGLISH, GERMAN), (ENGLISH, ENGLISH), "language"),
        ({"langid": ["source"]}, (ENGLISH,), (GERMAN,), "language"),
    ],
)
def test_rules_that_are_asked_for(asked, good, bad, name):
    assert reasons([good, bad], **asked) == [None, name]
    assert reasons([bad]) == [None]  # not asked for


@pytest.mark.parametrize(
    ("record", "languages", "asked", "dropped"),
    [
        (("Hi there", "えーーー、サーバーエラー"), ("en", "ja"), {"min_script_share": 0.9}, None),
        (("Hi there", "Dobar dan, kako ste?"), ("en", "sr"), {"min_script_share": 0.9}, None),
        (("Hi there", "Добар дан"), ("en", "sr"), {"min_script_share": 0.9}, None),
        (("Hi there", "ســــلام"), ("en", "ar"), {"min_script_share": 0.9}, None),
        (("1999",), ("en",), {"identical": True, "max_digit_mismatch": 0.1, "max_length_ratio": 1.1}, None),
        (("One",), ("en",), {"terminal_punctuation": True}, None),
        ((SPANISH,), ("es",), {"langid": ["source"]}, None),
        ((SPANISH,), ("en",), {"langid": ["source"], "langid_languages": ["en", "es"]}, "language"),
    ],
    ids=[
        "kana",
        "latin",
        "cyrillic",
        "arabic",
        "rules of pairs for one side",
        "another one",
        "langid",
        "candidates of langid",
    ],
)
def test_languages_of_a_record(record, languages, asked, dropped):
    assert reasons([record], languages, **asked) == [dropped]


@pytest.mark.parametrize(
    ("source", "target", "language"),
    [
        ("Children under the age of twelve do not have to pay for a ticket.", "十二岁以下儿童免票。", "zh"),
        ("Representatives of several organisations participated.", "多個組織的代表參加了。", "zh"),
        ("The train to the airport leaves every fifteen minutes.", "空港行きの列車は15分ごとに出ます。", "ja"),
        ("Please select the items that are to be deleted.", "삭제할 항목을 선택하세요.", "ko"),
        ("The library has more than two million books.", "पुस्तकालय में बीस लाख से अधिक पुस्तकें हैं।", "hi"),
        ("The museum is closed on Mondays.", "พิพิธภัณฑ์ปิดทุกวันจันทร์", "th"),
        ("The museum is closed on Mondays.", "மியூசியம் திங்கட்கிழமைகளில் மூடப்பட்டிருக்கும்.", "ta"),
        ("The museum is closed on Mondays.", "ორშაბათობით მუზეუმი დაკეტილია.", "ka"),
    ],
)
def test_lengths_of_different_scripts(source, target, language):
    asked = {"max_length_ratio": 2}
    assert reasons([(source, target), (target, source)], ("en", language), **asked) == [None, None]
    assert reasons([(source, target * 5), (source * 5, target)], ("en", language), **asked) == ["length_ratio"] * 2


def test_lengths_of_two_dense_scripts():
    pair = ("十二岁以下儿童免票。", "十二歳未満のお子様のチケットは無料です。")
    assert reasons([pair, (pair[0], pair[1] * 2)], ("zh", "ja"), max_length_ratio=2) == [None, "length_ratio"]


def test_no_sentence_of_a_test_set_is_in_training_data(tmp_path):
    dev = corpus(tmp_path / "dev.tsv.zst", [("A man sleeps.", "Ein Mann schläft.")])
    test = corpus(tmp_path / "test.tsv.zst", [("Two dogs.", "Zwei Hunde.")])
    lines = [("a man  sleeps", "x x x x"), ("One dog.", "Zwei Hunde"), ("Two cats.", "Zwei Katzen.")]
    assert reasons(lines, held=[dev, test]) == ["held_out", "held_out", None]
    assert reasons([("TWO DOGS",), ("Two cats.",)], held=[dev, test]) == ["held_out", None]


# Duplicates


@given(st.lists(st.integers(0, 20), max_size=80), st.integers(1, 9), st.integers(1, 30))
def test_repeated_keys_are_found_with_any_memory(folder, values, piece, bucket):
    keys = np.array(values, np.uint64)
    pieces = [keys[start : start + piece] for start in range(0, len(keys), piece)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "BUCKET_KEYS", bucket)
        marks = duplicates.repeated(pieces, len(keys), folder)
    expected = [value in values[:place] for place, value in enumerate(values)]
    assert duplicates.marked(marks, 0, len(keys)).tolist() == expected
    for first in range(len(keys)):
        assert duplicates.marked(marks, first, 5)[: len(keys) - first].tolist() == expected[first : first + 5]


def test_duplicates_and_near_duplicates_are_dropped_across_shards(folder, monkeypatch):
    lines = [(f"sentence number {n}x" + "a" * (n % 7), f"Satz {n}y" + "b" * (n % 5)) for n in range(7)]
    lines = [*lines, lines[0], ("Sentence NUMBER 0x!", "Satz - 0y"), ("x", "y"), lines[3]]
    monkeypatch.setattr(records, "FRAME_BYTES", 50)
    kept, counts, rejected = cleaned(folder, lines, near=True, settings={})
    assert kept == [*lines[:7], ("x", "y")]
    assert (counts["dropped"]["duplicate"], counts["dropped"]["near_duplicate"]) == (2, 1)
    assert ("near_duplicate", *lines[8]) in rejected and ("duplicate", *lines[0]) in rejected


# The whole chain


@settings(max_examples=40)
@given(PAIRS, PAIRS, st.integers(1, 4), st.booleans())
@pytest.mark.slow
def test_every_line_is_kept_or_dropped_once(folder, lines, test_set, shards, near):
    held_out = corpus(folder / "test.tsv.zst", test_set)
    lines = [*lines, ("zzz", "zzz")]
    kept, counts, rejected = cleaned(folder, lines, [held_out], shards, near)
    assert Counter(kept) + Counter(record[1:] for record in rejected) == Counter(lines)
    assert Counter(record[0] for record in rejected) == Counter({r: n for r, n in counts["dropped"].items() if n})
    assert (counts["lines_in"], counts["lines_out"]) == (len(lines), len(kept))
    assert len(kept) == len(set(kept))
    assert list(counts["dropped"])[:6] == REASONS
    distinct = Counter(reason for reason, *_ in set(map(tuple, rejected)))
    assert all(len(samples) == min(distinct[reason], 20) for reason, samples in counts["samples"].items())
    assert sum(counts["lengths"]["source"]["in"]) == len(lines)
    assert sum(counts["lengths"]["target"]["out"]) == len(kept)


@settings(max_examples=20)
@given(PAIRS)
@pytest.mark.slow
def test_the_number_of_shards_changes_nothing(folder, lines):
    lines = [*lines, ("zzz", "zzz")] * 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "FRAME_BYTES", 64)
        one, three = (cleaned(folder, lines, shards=shards)[:2] for shards in (1, 3))
    assert one[1].pop("seconds") >= 0 and three[1].pop("seconds") >= 0
    assert one == three


def test_json_continues_that_of_the_text(tmp_path):
    kept, about, _ = cleaned(tmp_path, [("a", "b"), ("a", "b")])
    assert kept == [("a", "b")] and about["samples"]["duplicate"] == [["a", "b"]]
    assert (about["name"], about["lines"], about["lines_in"], about["lines_out"]) == ("x", 2, 2, 1)
    assert about["sha256"] == records.write(tmp_path / "y.tsv.zst", [("a", "b")])[1]


def test_repairs_are_counted_and_made_before_the_rules(tmp_path):
    lines = [("R&amp;D", "F&amp;E"), ("R&D", "F&E"), ("&nbsp;", "x"), ("a", "b")]
    kept, counts, rejected = cleaned(tmp_path, lines, settings={"repair_entities": True, "repair_quotes": True})
    assert kept == [("R&D", "F&E"), ("a", "b")] and counts["repaired"] == {"entities": 2, "quotes": 0}
    assert sorted(rejected) == [("duplicate", "R&D", "F&E"), ("empty", "", "x")]


def test_a_reason_that_drops_more_than_half_is_told(tmp_path, capsys):
    lines = [*(("x" * 9, f"a{number}") for number in range(4)), ("", ""), ("a", "b"), ("c", "d")]
    cleaned(tmp_path, lines)
    told = [line for line in capsys.readouterr().err.splitlines() if "half" in line]
    assert told == ["x: length_ratio dropped 4 of 7 lines, more than half; is the rule right for it?"]
    assert not [*dropped_by_half("x", 7, {"empty": 3, "duplicate": 3})]
    told = [*dropped_by_half("x", 107, {"not_sampled": 100, "missing_side": 4})]
    assert [line.split(" lines")[0] for line in told] == ["x: missing_side dropped 4 of 7"]


def test_what_reading_dropped_is_counted_too():
    about, counts = {"dropped": {"invalid_utf8": 2}}, {"lines_in": 5, "lines_out": 4, "dropped": {"empty": 1}}
    expected = {"lines_in": 7, "lines_out": 4, "dropped": {"invalid_utf8": 2, "empty": 1}, "samples": {}}
    assert funnel.with_reading(about, counts) == expected
    about, counts = (
        about | {"samples": {"invalid_utf8": [["x: line 3", "?"]]}},
        counts | {"samples": {"empty": [(7, ["", ""])]}},
    )
    shown = {"invalid_utf8": [["x: line 3", "?"]], "empty": [["", ""]]}
    assert funnel.with_reading(about, counts) == expected | {"samples": shown}


def test_samples_are_distinct(folder):
    several = [(f"a{number}", "") for number in range(5)]
    _, about, _ = cleaned(folder / "distinct", [("x", "")] * 30 + several + [("Hi", "Hallo")])
    assert sorted(about["samples"]["empty"]) == sorted(map(list, [("x", ""), *several]))


def test_samples_are_few_and_random(tmp_path):
    _, about, _ = cleaned(tmp_path, [("a", "b"), *(("", f"b{number}") for number in range(2000))])
    samples = [int(target[1:]) for _, target in about["samples"]["empty"]]
    assert len(samples) == 20 and max(samples) > 1000


def test_lengths_are_counted_in_words(tmp_path):
    lines = [("a", " ".join("b" * 4)), ("long", " ".join(["words"] * 5)), (" ".join("c" * 300), " ".join("d" * 299))]
    _, about, _ = cleaned(tmp_path, lines, settings={"max_tokens": 100})
    source, target = (about["lengths"][side] for side in ("source", "target"))
    assert source["in"] == [2, *[0] * 39, 1] and source["out"] == [2, *[0] * 40]
    assert target["in"] == [1, 1, *[0] * 38, 1] and target["out"] == [1, 1, *[0] * 39]


def test_a_corpus_without_a_line_left_is_an_error(tmp_path):
    with pytest.raises(UserError, match=r"no line is left of 3; dropped 2 empty, 1 length_ratio"):
        cleaned(tmp_path, [("", "b"), ("a", "b" * 99), ("", "")])
    assert not (tmp_path / "out" / "x.tsv.zst").exists()


def run(module, *arguments):
    command = [warm.python(), "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_text_of_the_target_side_is_cleaned_as_such(tmp_path):
    """Rules of the source are not for it, and its histogram has its name."""
    source = corpus(tmp_path / "x.tsv.zst", [(GERMAN,), (ENGLISH,), (GERMAN,)], name="x", lines=3)
    shard, final = tmp_path / "shards/1-of-1.tsv.zst", tmp_path / "clean/x.tsv.zst"
    for langid, dropped in (("source", {}), ("target", {"language": 1})):
        how = ("--languages", "de", "--sides", "target", "--rules", json.dumps(OFF | {"langid": [langid]}))
        run("corpora.clean", "--input", source, "--output", shard, *how)
        run("corpora.gather", "--inputs", shard, "--about", tmp_path / "x.json", "--output", final)
        about = read_json(records.info(final))
        assert about["dropped"] == {"empty": 0, "held_out": 0} | dropped
        assert {side: sum(counts["out"]) for side, counts in about["lengths"].items()} == {"target": about["lines_out"]}


@pytest.mark.slow
def test_the_commands(tmp_path):
    last = ("The dog is here.", "Der Hund ist da.")
    lines = [("", "b"), (ENGLISH, GERMAN), (ENGLISH, GERMAN), (GERMAN, GERMAN), last]
    source = corpus(tmp_path / "x.tsv.zst", lines, name="x", lines=5)
    shards = [tmp_path / f"shards/{k}-of-2.tsv.zst" for k in (1, 2)]
    for k, shard in enumerate(shards, 1):
        how = ("--languages", "en", "de", "--rules", json.dumps(OFF | {"langid": ["source", "target"]}))
        run("corpora.clean", "--input", source, "--shard", f"{k}/2", "--output", shard, *how)
    final = tmp_path / "clean/x.tsv.zst"
    about = ["--about", tmp_path / "x.json", "--duplicates"]
    run("corpora.gather", "--inputs", *shards, *about, "--output", final)
    assert list(records.read(final)) == [(ENGLISH, GERMAN), last]
    about = read_json(records.info(final))
    assert about["dropped"] == {"empty": 1, "held_out": 0, "language": 1, "duplicate": 1}
    assert about["samples"]["language"] == [[GERMAN, GERMAN]]


# Dev and test sets


@pytest.mark.parametrize(
    ("role", "lines", "dropped"),
    [
        ("dev", [("a", "b" * 99), ("a", "b" * 99), ("one two three four five six", "x")], {}),
        ("test", [("a", "b" * 99), ("a", "b" * 99), ("one two three four five six", "x")], {}),
        ("test", [("a", "b")], {"invalid_utf8": 2}),
    ],
    ids=["dev", "test", "dropped by reading"],
)
def test_dev_and_test_sets_are_copied(tmp_path, role, lines, dropped):
    source = corpus(tmp_path / "x.tsv.zst", lines)
    if dropped:
        write_json(records.info(source), {"name": "x", "dropped": dropped})
    for reverse in (True, False):
        copy.copy(source, tmp_path / "y.tsv.zst", role, characters(["en", "de"]), reverse)
        assert list(records.read(tmp_path / "y.tsv.zst")) == [line[:: -1 if reverse else 1] for line in lines]
    about = read_json(tmp_path / "y.json")
    lines_in = len(lines) + sum(dropped.values())
    assert (about["lines_in"], about["lines_out"], about["dropped"]) == (lines_in, len(lines), dropped)


def test_an_empty_side_of_a_test_set_is_an_error(tmp_path):
    source = corpus(tmp_path / "x.tsv.zst", [("a", "b"), ("a", "")])
    with pytest.raises(UserError, match=r"x\.tsv\.zst: record 2 has an empty side"):
        copy.copy(source, tmp_path / "y.tsv.zst", "test", characters(["en", "de"]))
    assert not (tmp_path / "y.tsv.zst").exists()


# Gathering


@pytest.mark.parametrize("wrong", [[("c", "x")], [("c", "d"), ("e", "f")]], ids=["other", "more"])
def test_gather_refuses_a_shard_that_differs_from_its_json(tmp_path, wrong):
    good, bad = shard(tmp_path / "0.tsv.zst", [("a", "b")]), shard(tmp_path / "1.tsv.zst", [("c", "d")])
    records.write(bad, wrong)
    with pytest.raises(UserError, match=r"1\.tsv\.zst: its . lines are not those of 1\.json; delete both"):
        gather.gather([good, bad], tmp_path / "all.tsv.zst", {}, [], [])
    assert not (tmp_path / "all.tsv.zst").exists()


def test_gather_refuses_a_missing_shard(tmp_path):
    with pytest.raises(UserError, match="the shards were made of 1 lines, the corpus has 2"):
        gather.gather([shard(tmp_path / "0.tsv.zst", [("a", "b")])], tmp_path / "all.tsv.zst", {"lines": 2}, [], [])


def test_the_output_is_read_again(tmp_path):
    path = corpus(tmp_path / "x.tsv.zst", [("a", "b")])
    with pytest.raises(UserError, match=r"x\.tsv\.zst: was not written as it was meant to be"):
        funnel.verify_written(path, 1, "another checksum")
    assert not path.exists()
