import subprocess
import sys
import unicodedata
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from distill import clean, gather, identify, rules
from formats import records
from formats.errors import UserError
from formats.files import read_json, write_json

WORDS = st.lists(st.sampled_from(["a", "dog", "Hund", "läuft", "!", "x" * 9]), max_size=6).map(" ".join)
PAIRS = st.lists(st.tuples(WORDS, WORDS), max_size=30)
REASONS = ["empty", "too_long", "length_ratio", "held_out", "duplicate"]


def corpus(path, content, **about):
    _, checksum = records.write(path, content)
    if about:
        write_json(records.info(path), about | {"sha256": checksum})
    return path


def filters(held_out=(), max_tokens=4, max_length_ratio=2.5):
    return clean.registry(max_tokens, max_length_ratio, list(held_out))


def cleaned(folder, lines, held_out=()):
    source = corpus(folder / "x.tsv.zst", lines)
    clean.clean(source, folder / "out" / "x.tsv.zst", "train", filters(held_out))
    return list(records.read(folder / "out" / "x.tsv.zst")), read_json(folder / "out" / "x.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clean")


# Rules


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (("a dog", "ein Hund"), None),
        (("", "ein Hund"), "empty"),
        (("a dog", ""), "empty"),
        (("",), "empty"),
        (("one two three four", "eins"), "length_ratio"),
        (("one two three four five", "eins"), "too_long"),
        (("eins", "one two three four five"), "too_long"),
        (("one two three four", "eins zwei drei vier"), None),
        (("ab", "abcde"), None),
        (("ab", "abcdef"), "length_ratio"),
        (("one two three four",), None),
    ],
)
def test_first_reason_counts(record, reason):
    assert rules.Funnel(filters()).reason(record) == reason


def test_duplicates_are_exact_pairs():
    funnel = rules.Funnel({"duplicate": rules.duplicate()})
    lines = [("a", "b"), ("a", "c"), ("a", "b"), ("b", "a"), ("ab",), ("a", "b")]
    assert list(funnel.passed(lines)) == [("a", "b"), ("a", "c"), ("b", "a"), ("ab",)]
    assert funnel.dropped == {"duplicate": 2}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A dog, running.", "a dog running"),
        ("T - shirt", "T-Shirt"),
        ("Straße", "STRASSE"),
        ("caf\u00e9", "cafe\u0301"),
        ("„Hallo“ \u00a0Welt", '"hallo" welt'),
        ("हिन्दी।", "हिन्दी"),
    ],
)
def test_folded_ignores_case_spaces_and_punctuation(one, other):
    assert rules.folded(one) == rules.folded(other)


def test_folded_keeps_what_differs():
    assert rules.folded("हिन्दी") != rules.folded("हन्द")
    assert rules.folded("2 dogs") != rules.folded("3 dogs")
    assert rules.folded("...") != rules.folded("?")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_folded_does_not_care_how_text_is_written(text):
    text = records.sentence(text)
    assume(any(char.isalnum() for char in text))
    assert rules.folded(f"  {text} !") == rules.folded(text)
    assert rules.folded(unicodedata.normalize("NFD", text)) == rules.folded(text)
    assert rules.folded(rules.folded(text)) == rules.folded(text)


# The whole step


@given(PAIRS, PAIRS)
def test_every_line_is_kept_or_dropped_once(folder, lines, test_set):
    held_out = corpus(folder / "test.tsv.zst", test_set)
    assume(rules.Funnel(filters([held_out])).reason(("zzz", "zzz")) is None)
    kept, counts = cleaned(folder, [*lines, ("zzz", "zzz")], [held_out])
    assert counts["lines_in"] == len(lines) + 1
    assert counts["lines_out"] == len(kept) == len(set(kept))
    assert counts["lines_in"] - counts["lines_out"] == sum(counts["dropped"].values())
    assert list(counts["dropped"]) == REASONS
    assert {reason: min(n, 20) for reason, n in counts["dropped"].items()} == {
        reason: len(samples) for reason, samples in counts["samples"].items()
    }
    assert not Counter(kept) - Counter([*lines, ("zzz", "zzz")])
    known = {rules.folded(side) for record in test_set for side in record}
    assert not any(rules.folded(side) in known for record in kept for side in record)


def test_no_held_out_sentence_is_in_training_data(tmp_path):
    dev = corpus(tmp_path / "dev.tsv.zst", [("A man sleeps.", "Ein Mann schläft.")])
    test = corpus(tmp_path / "test.tsv.zst", [("Two dogs.", "Zwei Hunde.")])
    lines = [("a man  sleeps", "x x x x"), ("One dog.", "Zwei Hunde"), ("Two cats.", "Zwei Katzen.")]
    kept, counts = cleaned(tmp_path, lines, [dev, test])
    assert kept == [("Two cats.", "Zwei Katzen.")]
    assert counts["samples"]["held_out"] == [list(record) for record in lines[:2]]
    kept, counts = cleaned(tmp_path, [("TWO DOGS",), ("Two cats.",)], [dev, test])
    assert (kept, counts["dropped"]["held_out"]) == ([("Two cats.",)], 1)


def test_json_continues_that_of_the_text(tmp_path):
    source = corpus(tmp_path / "x.tsv.zst", [("a", "b"), ("a", "b")], name="x", licence="CC0", origin=["y"], lines=2)
    clean.clean(source, tmp_path / "c" / "x.tsv.zst", "train", filters())
    about = read_json(tmp_path / "c" / "x.json")
    assert about.pop("seconds") >= 0
    assert about.pop("samples")["duplicate"] == [["a", "b"]]
    assert about == {
        "name": "x",
        "licence": "CC0",
        "origin": ["y"],
        "role": "train",
        "lines_in": 2,
        "lines_out": 1,
        "dropped": dict.fromkeys(REASONS, 0) | {"duplicate": 1},
        "sha256": records.write(tmp_path / "y.tsv.zst", [("a", "b")])[1],
    }


def test_samples_are_few():
    funnel = rules.Funnel({"empty": rules.empty})
    assert list(funnel.passed([("", str(number)) for number in range(50)])) == []
    assert funnel.dropped == {"empty": 50}
    assert funnel.samples["empty"] == [("", str(number)) for number in range(20)]


@pytest.mark.parametrize("role", ["dev", "test"])
def test_dev_and_test_sets_are_copied(tmp_path, role):
    lines = [("a", "b" * 99), ("a", "b" * 99), ("one two three four five six", "x")]
    source = corpus(tmp_path / "x.tsv.zst", lines)
    run("clean", "--input", source, "--output", tmp_path / "y.tsv.zst", "--role", role, "--max-tokens", "2")
    assert list(records.read(tmp_path / "y.tsv.zst")) == lines
    about = read_json(tmp_path / "y.json")
    assert (about["lines_in"], about["lines_out"], about["dropped"]) == (3, 3, {})


def refused(tmp_path, content, role="train", **about):
    source = corpus(tmp_path / "x.tsv.zst", content, **about)
    with pytest.raises(UserError) as error:
        clean.clean(source, tmp_path / "y.tsv.zst", role, filters() if role == "train" else {})
    assert not (tmp_path / "y.tsv.zst").exists()
    return str(error.value)


def test_an_empty_side_of_a_test_set_is_an_error(tmp_path):
    assert "x.tsv.zst: line 2 has an empty side" in refused(tmp_path, [("a", "b"), ("a", "")], "test")


def test_nothing_left_is_an_error(tmp_path):
    message = refused(tmp_path, [("", "b"), ("a", "b" * 99), ("", "")])
    assert "x.tsv.zst: no line is left of 3; dropped 2 empty, 1 length_ratio" in message


def test_a_text_that_is_not_that_of_its_json_is_an_error(tmp_path):
    assert "has 1 lines, its JSON says 2" in refused(tmp_path, [("a", "b")], lines=2)


# Language identification and gathering

ENGLISH = "A group of people are standing in front of the large building."
GERMAN = "Eine Gruppe von Menschen steht vor dem großen Gebäude."


@pytest.fixture(scope="module")
def english_german():
    return identify.language(["en", "de"])


@pytest.mark.parametrize(
    ("record", "dropped"),
    [
        ((ENGLISH, GERMAN), False),
        ((GERMAN, GERMAN), True),
        ((ENGLISH, ENGLISH), True),
        ((ENGLISH,), False),
        ((GERMAN,), True),
    ],
)
def test_language(english_german, record, dropped):
    assert english_german(record) is dropped


def test_unknown_language():
    with pytest.raises(UserError, match=r"langid\.py does not know the language 'xx'; it knows"):
        identify.language(["en", "xx"])


def run(module, *arguments):
    command = [sys.executable, "-m", f"distill.{module}", *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True)


def test_whole_chain_tells_every_reason(tmp_path):
    lines = [
        ("", "b"),
        (ENGLISH, GERMAN),
        (ENGLISH, GERMAN),
        (GERMAN, GERMAN),
        ("The dog is here.", "Der Hund ist da."),
    ]
    source = corpus(tmp_path / "x.tsv.zst", lines, name="x", lines=5)
    run("clean", "--input", source, "--output", tmp_path / "rules/x.tsv.zst", "--role", "train")
    shards = [tmp_path / f"shards/{number}.tsv.zst" for number in range(2)]
    run("shard", "--input", tmp_path / "rules/x.tsv.zst", "--outputs", *shards)
    kept = [tmp_path / f"kept/{number}.tsv.zst" for number in range(2)]
    for shard, output in zip(shards, kept, strict=True):
        run("identify", "--input", shard, "--languages", "en", "de", "--output", output)
    final = tmp_path / "clean/x.tsv.zst"
    run("gather", "--inputs", *kept, "--after", tmp_path / "rules/x.json", "--output", final)
    assert list(records.read(final)) == [(ENGLISH, GERMAN), ("The dog is here.", "Der Hund ist da.")]
    about = read_json(records.info(final))
    assert (about["name"], about["lines_in"], about["lines_out"]) == ("x", 5, 2)
    expected = {"empty": 1, "too_long": 0, "length_ratio": 0, "held_out": 0, "duplicate": 1, "language": 1}
    assert about["dropped"] == expected
    assert about["samples"]["language"] == [[GERMAN, GERMAN]]
    assert about["sha256"] == records.write(tmp_path / "y.tsv.zst", records.read(final))[1]


def shard(path, lines, lines_in=None):
    _, checksum = records.write(path, lines)
    dropped = {"empty": (lines_in or len(lines)) - len(lines)}
    counts = {"lines_in": lines_in or len(lines), "lines_out": len(lines), "dropped": dropped, "sha256": checksum}
    write_json(records.info(path), counts)
    return path


@given(st.lists(PAIRS, min_size=1, max_size=5))
def test_gather_puts_shards_in_order(folder, parts):
    assume(any(parts))
    shards = [shard(folder / f"{number}.tsv.zst", lines, len(lines) + 2) for number, lines in enumerate(parts)]
    gather.gather(shards, folder / "all.tsv.zst", None)
    whole = [record for lines in parts for record in lines]
    assert list(records.read(folder / "all.tsv.zst")) == whole
    about = read_json(folder / "all.json")
    assert about["sha256"] == records.write(folder / "y.tsv.zst", whole)[1]
    assert about["lines_out"] == len(whole)
    assert about["lines_in"] == len(whole) + about["dropped"]["empty"]


def test_gather_refuses_a_shard_that_is_not_that_of_its_json(tmp_path):
    good, bad = shard(tmp_path / "0.tsv.zst", [("a", "b")]), shard(tmp_path / "1.tsv.zst", [("c", "d")])
    for wrong in ([("c", "x")], [("c", "d"), ("e", "f")]):
        records.write(bad, wrong)
        with pytest.raises(UserError, match=r"1\.tsv\.zst: its . lines are not those of 1\.json; delete both"):
            gather.gather([good, bad], tmp_path / "all.tsv.zst", None)
        assert not (tmp_path / "all.tsv.zst").exists()


def test_gather_refuses_a_missing_shard(tmp_path):
    before = tmp_path / "before.json"
    write_json(before, {"lines_in": 9, "lines_out": 2, "dropped": {}, "samples": {}, "seconds": 1})
    with pytest.raises(UserError, match="the shards have 1 lines, the stage before kept 2"):
        gather.gather([shard(tmp_path / "0.tsv.zst", [("a", "b")])], tmp_path / "all.tsv.zst", before)


def test_gather_refuses_an_empty_whole(tmp_path):
    with pytest.raises(UserError, match=r"all\.tsv\.zst: no line is left of 3; dropped 3 empty"):
        gather.gather([shard(tmp_path / "0.tsv.zst", [], 3)], tmp_path / "all.tsv.zst", None)
