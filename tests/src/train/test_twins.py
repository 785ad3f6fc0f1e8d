"""How two trainings differ: counted in what they read, and in words."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from formats import records
from formats.learning import Learned
from measure import training_differences
from measure.training_differences import difference, same_sentences
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_json
from study import config
from study.configuration import typed
from study.systems import composition
from train import sample
from train.training_record import Drawn, Epoch, read_epochs, sentences
from train.training_record.__main__ import main

ORIGINAL = {"targets": "original", "teachers": [], "drop_worst": 0}
ORIGINAL |= {"shares": {"pairs": 1.0}, "sentences": {"pairs": 90}}
BEST = ORIGINAL | {"targets": "best", "teachers": ["big"]}
INTERPOLATED = BEST | {"targets": "interpolated"}
MBR, ALL = BEST | {"targets": "mbr"}, BEST | {"targets": "all"}
MORE = {"shares": {"pairs": 0.7, "text": 0.3}, "sentences": {"pairs": 90, "text": 1200}}
OTHER = {"shares": {"news": 1.0}, "sentences": {"news": 91}}
STARTED = {"started": True}
WORDS = {"words": 0.5}
CHANGED = {"augmentation": {"url": 0.1}}
TOGETHER = {"teachers": ["big", "small"], "ensemble": "token_by_token"}
FEWER = {"drop_worst": 5, "sentences": {"pairs": 89}}


def learned(values):
    return Learned("system", **values)


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (BEST, ORIGINAL, "distillation"),
        (INTERPOLATED, ORIGINAL, "distillation with interpolated targets"),
        (INTERPOLATED, BEST, "interpolated against best targets"),
        (MBR, ORIGINAL, "distillation with MBR targets"),
        (ALL, ORIGINAL, "distillation with n-best targets"),
        (BEST, MBR, "best against MBR targets"),
        (ALL, INTERPOLATED, "n-best against interpolated targets"),
        (ALL | MORE, BEST, "n-best against best targets and other sentences"),
        (BEST, BEST | {"teachers": ["one", "two"]}, "translations by big against one, two"),
        (BEST | STARTED, ORIGINAL, "distillation and weights of another model to begin with"),
        (BEST, BEST | STARTED, "random weights to begin with"),
        (BEST, BEST, "chance"),
        (BEST | MORE, ORIGINAL, "distillation and 1,200 more sentences"),
        (BEST | MORE, BEST, "1,200 more sentences"),
        (BEST, BEST | MORE, "1,200 fewer sentences"),
        (BEST | OTHER, ORIGINAL, "distillation, 91 more sentences and 90 fewer sentences"),
        (BEST | {"sentences": {"pairs": 60}}, ORIGINAL, "distillation and 30 fewer sentences"),
        (BEST | FEWER, ORIGINAL, "distillation and 1 fewer sentence"),
        (BEST | FEWER, INTERPOLATED | FEWER, "best against interpolated targets and other sentences"),
        (BEST | MORE, BEST | MORE | {"shares": {"pairs": 0.5, "text": 0.5}}, "other weights"),
        (BEST | TOGETHER, BEST, "translations by big, small token by token against big"),
        (
            BEST | TOGETHER | {"ensemble": "rescoring"},
            BEST | TOGETHER,
            "translations by big, small against big, small token by token",
        ),
        (BEST | CHANGED, BEST, "augmentation"),
        (BEST, BEST | CHANGED, "no augmentation"),
        (BEST | WORDS, ORIGINAL, "distillation and word-level distillation"),
        (ORIGINAL, ORIGINAL | WORDS, "no word-level distillation"),
        (BEST | WORDS, BEST | {"words": 1}, "words with a weight of 0.5 against 1"),
        (BEST | CHANGED | MORE, ORIGINAL, "distillation, augmentation and 1,200 more sentences"),
        (BEST | CHANGED, BEST | {"augmentation": {"url": 0.2}}, "other augmentation"),
        (BEST | CHANGED, MBR | CHANGED, "best against MBR targets"),
    ],
)
def test_words(one, other, words):
    one, other = learned(one), learned(other)
    assert difference(one, other) == words
    twins = not re.search("sentence|augmentation|to begin with", words) and words != "other weights"
    assert same_sentences(one, other) == twins


MIXTURES = st.fixed_dictionaries(
    {
        "targets": st.sampled_from(["best", "interpolated", "mbr", "all"]),
        "teachers": st.sampled_from([[], ["big"]]),
        "shares": st.sampled_from([{"a": 1.0}, {"a": 0.5, "b": 0.5}, {"a": 0.9, "b": 0.1}]),
        "drop_worst": st.sampled_from([0, 5]),
        "sentences": st.dictionaries(st.sampled_from("ab"), st.integers(1, 9), min_size=1),
    }
).map(learned)


@given(MIXTURES, MIXTURES)
def test_only_twins_differ_in_distillation_alone(one, other):
    words = difference(one, other)
    assert same_sentences(one, other) == same_sentences(other, one)
    if words == "chance" or re.fullmatch(r"distillation( with [-\w]+ targets)?", words):
        assert same_sentences(one, other)
    assert words.count("more") == difference(other, one).count("fewer")


CORPORA = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 5)), min_size=1, max_size=3)


@given(CORPORA, st.integers(1, 40), st.integers(1, 4), st.integers(1, 6))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sentences_are_those_in_the_epochs_that_were_read(tmp_path_factory, corpora, pairs, epochs, passes):
    folder = tmp_path_factory.mktemp("epochs")
    paths = [folder / f"c{number}.tsv.zst" for number in range(len(corpora))]
    for path, (size, _) in zip(paths, corpora, strict=True):
        records.write(path, [(f"{path.stem} {line}", "x") for line in range(size)])
    drawn = [folder / f"mix.{epoch}.tsv.zst" for epoch in range(1, epochs + 1)]
    for epoch, path in enumerate(drawn, 1):
        sample.draw(paths, [weight for _, weight in corpora], pairs, 1, epoch, path)
    found = sentences(read_epochs(map(records.info, drawn)), passes)
    read = {record[0] for path in drawn[:passes] for record in records.read(path)}
    counts = Counter(f"{text.split('.')[0]}" for text in read)
    assert {name: count for name, count in found.items() if count} == counts


def test_half_an_epoch_counts_half():
    epoch = Epoch(100, [Drawn("pairs", lines=100, drawn=60), Drawn("text", lines=10, drawn=40)])
    assert sentences([epoch, epoch], 0.5) == {"pairs": 30, "text": 10}
    assert sentences([epoch, epoch], 1.5) == {"pairs": 90, "text": 10}


def test_mixtures_of_a_study():
    study = config.load(Path(__file__).parents[2] / "studies/several-teachers.yaml")
    made = {name: composition(typed(study), name) for name in study["mixtures"]}
    of = {name: learned(mixture | {"sentences": {"multi30k": 28989}}) for name, mixture in made.items()}
    assert same_sentences(of["bilingual"], of["original"]) and same_sentences(of["distilled"], of["interpolated"])
    assert not same_sentences(of["distilled"], of["original"])
    assert of["distilled"].shares == {"captions": round(2 / 7, 6), "multi30k": round(5 / 7, 6)}
    assert of["bilingual"].teachers == ["narrow"] and of["original"].teachers == []


def test_the_file_of_a_system(tmp_path, monkeypatch):
    kept = Path(__file__).parents[3] / "results/reference/architectures/systems/small/learning.json"
    write_json(tmp_path / "learning.json", read_json(kept) | {"system": "deep", "seen": {"pairs": 50, "passes": 0.5}})
    write_json(tmp_path / "mix.1.json", {"lines": 60, "corpora": [{"name": "pairs", "lines": 100, "drawn": 60}]})
    mixture = {"targets": "best", "teachers": ["big"], "shares": {"pairs": 1.0}, "drop_worst": 0}
    call = ["learned", "--mixture", json.dumps(mixture), "--learning", f"{tmp_path}/learning.json"]
    call += ["--epochs", f"{tmp_path}/mix.1.json", "--output", f"{tmp_path}/learned.json"]
    monkeypatch.setattr(sys, "argv", call)
    main()
    expected = {"system": "deep", **mixture, "sentences": {"pairs": 30}}
    assert (tmp_path / "learned.json").read_text() == json.dumps(expected, indent=2) + "\n"
    assert training_differences.read([tmp_path / "learned.json"]) == {"deep": Learned(**expected)}
    with pytest.raises(UserError, match=r"learning\.json: not made by train\.training_record"):
        training_differences.read([tmp_path / "learning.json"])
