"""What people write: perturbed test sets, what survives, loops, and the report."""

import collections
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import folders, sentences
from reports import run

from findings.loops import looping, said_twice
from findings.survival import survive, survives
from formats import records
from measure import perturb, robustness
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from nmt_frontier.text.items import KINDS
from report import robustness as page

PAIRS = [
    ("A dog runs through the snow.", "Ein Hund läuft durch den Schnee."),
    ("Don't sleep!", "Schlaf nicht!"),
    ("Two men", "Zwei Männer"),
    ("雪の中の犬。", "Ein Hund im Schnee."),
]
TEXT = (
    st.text(st.characters(exclude_categories=("C", "Z")) | st.just(" "), min_size=1).map(records.sentence).filter(bool)
)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5), st.integers(0, 9))
def test_versions_are_aligned_and_depend_on_seed_and_line_alone(pairs, seed):
    for name in perturb.PERTURBATIONS:
        rows = perturb.perturbed(name, pairs, seed)
        assert len(rows) == len(pairs) and rows == perturb.perturbed(name, pairs, seed)
        assert perturb.perturbed(name, pairs[:1], seed) == rows[:1]
        for source, reference, kind, kept in rows:
            assert "\t" not in source + reference and (kind == name) == bool(kept) == (name in KINDS)
            assert all(item in source and item in reference for item in kept.split())


def test_each_version_changes_what_it_says():
    versions = {name: perturb.perturbed(name, PAIRS, 1) for name in perturb.PERTURBATIONS}
    assert len(versions) == 12
    assert [row[0] for row in versions["upper_case"]][:2] == ["A DOG RUNS THROUGH THE SNOW.", "DON'T SLEEP!"]
    assert [row[0] for row in versions["title_case"]][:2] == ["A Dog Runs Through The Snow.", "Don't Sleep!"]
    assert versions["lower_case"][0][0] == "a dog runs through the snow."
    assert [row[:2] for row in versions["no_final_punctuation"]] == [
        tuple(side.rstrip(".!。") for side in pair) for pair in PAIRS
    ]
    assert versions["doubled_punctuation"][1][:2] == ("Don't sleep!!", "Schlaf nicht!!")
    assert versions["doubled_punctuation"][2][:2] == PAIRS[2]
    assert re.fullmatch(r"<(\w+)>A</\1> dog runs through the snow\.", versions["tag"][0][0])
    for name in ("url", "email", "number", "emoji", "placeholder"):
        for (source, reference, _, item), pair in zip(versions[name], PAIRS, strict=True):
            assert (source, reference) in [
                (f"{item} {pair[0]}", f"{item} {pair[1]}"),
                (f"{pair[0]} {item}", f"{pair[1]} {item}"),
            ]
    others = perturb.perturbed("url", PAIRS * 5, 2)
    assert others != perturb.perturbed("url", PAIRS * 5, 1) and len({row[3] for row in others}) > 5


def test_a_tenth_of_the_words_have_a_typo():
    source = "a dog runs through the snow while two men are watching it from a bench"
    rows = perturb.perturbed("typos", [(source, "x")] * 400, 1)
    changed = collections.Counter(
        word for row in rows for word, typo in zip(source.split(), row[0].split(), strict=True) if word != typo
    )
    letters = [word for word in source.split() if len(word) > 1]
    assert 0.08 < sum(changed.values()) / (400 * len(letters)) < 0.12
    assert set(changed) == set(letters)


def test_joined_sentences_and_single_words():
    lines = perturb.joined(PAIRS, ("en", "de"))
    assert len(lines) == 2 and lines[0][:2] == tuple(" ".join(pair[side] for pair in PAIRS[:3]) for side in (0, 1))
    assert perturb.joined(PAIRS[3:] * 2, ("ja", "de"))[0][0] == PAIRS[3][0] * 2
    words = [row[0] for row in perturb.words(PAIRS, "en", 1)]
    assert set(words) == {"dog", "runs", "through", "the", "Two", "men"} and perturb.words(PAIRS, "ja", 1) == []


def test_the_suite_has_what_must_survive_of_every_kind_in_five_languages():
    found = {language: perturb.suite(language) for language in ("en", "de", "fr", "cs", "ja")}
    assert sum(map(len, found.values())) == 400 and perturb.suite("nl") == []
    for rows in found.values():
        assert collections.Counter(row[2] for row in rows) == dict.fromkeys(KINDS, 10) | {"alone": 20}
        assert len({row[0] for row in rows}) == len(rows)
        for text, _, _, kept in rows:
            assert text == records.sentence(text) and survive(kept.split(), text)


@pytest.mark.parametrize(
    ("item", "translation", "whole"),
    [
        ("https://example.org/a?b=1", "Siehe https://example.org/a?b=1.", True),
        ("https://example.org/a?b=1", "Siehe https://example.org/a?b=12.", False),
        ("user@example.com", "user@example.com, user@example.com", False),  # twice
        ("user@example.com", "auser@example.com", False),
        ("€18.10", "Es kostet €18.10.", True),
        ("€18.10", "Es kostet 18,10 €.", False),
        ("42", "42人", True),
        ("42", "142", False),
        ("{name}", "x{name}y", True),
        ("🎉", "gewonnen🎉", True),
        ("🎉", "", False),
    ],
)
def test_an_item_survives_unchanged_and_once(item, translation, whole):
    assert survives(item, translation) == whole
    assert survive(["<b>", "</b>"], "<b>Ein</b> Hund") and not survive(["<b>", "</b>"], "<b>Ein Hund")


LOOPS = ["ein ein ein ein Hund", "der Hund , der Hund , der Hund , der Hund ,", "a b c d a b c d A B c d a b c d"]
LOOPS += [
    "wauwauwauwau",
    "schwarz-" + "0" * 24,
    "9399." + ".93" * 9,
    "nnnnnnnnnnnn",
    "ところところところところところところ",
    "x, x, x, x,",
    ". . . .",
]
NO_LOOPS = [
    "",
    "ein ein ein Hund",
    "Schifffahrt",
    "www.example.org",
    "1000000000000",
    "1" + "0" * 23,
    "1" + ",000" * 5,
    "----------------",
    "hahahaha",
]
NO_LOOPS += ["der Hund und der Hund und die Katze und der Hund", "a b c d e a b c d e a b c d e a b c d e"]


@pytest.mark.parametrize("text", LOOPS + NO_LOOPS)
def test_a_loop_is_the_same_four_times_in_a_row(text):
    assert looping(text) == (text in LOOPS)


def test_said_twice():
    assert said_twice("Guten Morgen. guten Morgen!") and said_twice("Hund Hund")
    assert not any(map(said_twice, ("", "Hund", "Hund Hund Hund", "der Hund", "...")))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The folder of a measurement of random weights, and its JSON."""
    folder = tmp_path_factory.mktemp("robustness")
    pairs = [(line, line) for line in sentences(12)]
    records.write(folder / "t.tsv.zst", pairs)
    languages = ("--languages", "en", "de")
    done = run("measure.perturb", "--test-set", folder / "t.tsv.zst", *languages, "--output", folder / "inputs")
    assert done.returncode == 0, done.stderr
    options = ["--models", folders()["int8"], "--inputs", folder / "inputs", "--test-set", "t", *languages]
    options += ["--translations", folder / "out", "--output", folder / "robustness.json"]
    done = run("measure.robustness", *options)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_list_is_translated_scored_and_counted(measured):
    data = page.read(measured / "robustness.json")
    (row,) = data["rows"]
    assert list(row["lists"]) == ["clean", *perturb.PERTURBATIONS, "joined", "words", "suite"][: len(row["lists"])]
    for name, part in row["lists"].items():
        lines = [*records.read(measured / f"inputs/{name}.tsv.zst")]
        (output,) = (measured / "out").glob(f"*.beam1.{name}.txt")
        outputs = output.read_text().split("\n")[:-1]
        assert part["sentences"] == len(lines) == len(outputs)
        assert ("bleu_lowercased" in part) == (name in ("clean", *perturb.CASE))
        assert ("bleu" in part) == (name not in (*perturb.CASE, "words", "suite"))
        assert part["survived"] == robustness.survived(lines, outputs)
    assert [row["lists"][kind]["survived"][kind][1] for kind in KINDS] == [12] * len(KINDS)
    recased = row["recased"]
    assert list(recased) == ["clean", "upper_case", "title_case"] and recased["clean"] == row["lists"]["clean"]
    (upper,) = (measured / "out").glob("*.beam1.recased.upper_case.txt")
    assert upper.read_text().isupper() and recased["upper_case"] != row["lists"]["upper_case"]
    assert row["lists"]["suite"]["survived"]["url"][1] == 10


def made(system="s", **lists):
    part = {"sentences": 10, "survived": {}, "loops": 0, "empty": 0, "long": 0, "twice": 0}
    found = {"clean": part | {"bleu": 40.0, "chrf": 60.0, "bleu_lowercased": 42.0, "chrf_lowercased": 62.0}}
    found["upper_case"] = part | {"bleu_lowercased": 2.0, "chrf_lowercased": 12.0, "loops": 5}
    found |= {kind: part | {"bleu": 30.0, "chrf": 50.0, "survived": {kind: [9, 10]}} for kind in KINDS}
    found["suite"] = part | {"survived": {"alone": [1, 20]}, "twice": 3}
    about = {"system": system, "role": "student", "engine": "native", "compute_type": "int8", "beam_size": 1}
    recased = {"upper_case": part | {"bleu_lowercased": 41.0, "chrf_lowercased": 61.5}}
    return about | {"vocabulary_map": True, "lists": found | lists, "recased": recased}


def test_a_protected_row_has_its_own_name():
    assert page.label(made() | {"protected": True}) == f"{page.label(made())} protected"


def document(*rows):
    about = {"config_hash": "abc", "test_set": "t", "sha256": "0" * 64, "languages": ["en", "de"], "seed": 1}
    return about | {"signatures": {"bleu": "tok:13a"}, "rows": [*rows]}


def test_the_report_of_a_tiny_record(tmp_path):
    write_json(tmp_path / "robustness.json", document(made(), made("t")))
    data = page.read(tmp_path / "robustness.json")
    text = page.table(data)
    cells = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in text.splitlines() if "|" in line[:1]}
    expected = {
        "as it is": "60.0",
        "upper case": "-50.0",
        "upper case, recased": "-0.5",
        "emoji": "90.0 %",
        "suite: alone": "5.0 %",
    }
    expected |= {"loops": "5.6 %", "said twice": "30.0 %", "failed": "s int8 greedy map"}
    assert {name: cells[name] for name in expected} == expected
    assert [*page.bleu(data)][1] == {"input": "upper case", "s int8 greedy map": "-40.0", "t int8 greedy map": "-40.0"}
    assert page.section(data).keys() == {"input", "survived", "failed"}
    left, right = page.draw(data).axes
    assert (
        list(left.lines[0].get_xdata()) == [-40, *[-10] * len(KINDS), -1]
        and list(right.lines[0].get_xdata()) == [90] * 6
    )


def test_another_file_is_no_record(tmp_path):
    write_json(tmp_path / "x.json", {"rows": 1})
    with pytest.raises(UserError, match=r"x\.json.*not made by measure\.robustness"):
        page.read(tmp_path / "x.json")
    write_json(tmp_path / "x.json", document())
    with pytest.raises(UserError, match="no system was translated"):
        page.read(tmp_path / "x.json")
    assert read_json(tmp_path / "x.json")["rows"] == []
