"""Benchmarks: honest loads, rivals that do the same work, ratios of runs made in turn."""

import importlib
import math
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from langid import langid
from measured import measured

from common import cpu
from common.errors import UserError
from common.files import read_json, write_json
from decode.engines import ENGINES
from export import phrase_table, phrases
from formats import records
from formats.shape import shape
from study import config

FOLDER = Path(__file__).parents[1] / "benchmarks"
CORE = min(os.sched_getaffinity(0))
PAIRS = [
    (f"The man in the red shirt has {n} dogs.".encode(), f"Der Mann im roten Hemd hat {n} Hunde.".encode())
    for n in range(300)
]


@pytest.fixture(scope="module")
def cleaning_load():
    sys.path.insert(0, str(FOLDER))
    module = importlib.import_module("cleaning_load")
    module.BLOCK = 100  # duplicates come from blocks before
    return module


def test_the_load_of_lines_is_the_same_every_time_and_as_long_as_asked_for(cleaning_load, tmp_path):
    stream = importlib.import_module("stream")
    words = [stream.load(["a b", "c", "d e f"], 8, tmp_path / name) for name in "xy"]
    first, second = ((tmp_path / name).read_text() for name in "xy")
    lines = first.splitlines()
    assert first == second and len(lines) == 8 and words[0] == len(first.split())
    assert sorted(lines[:3]) == sorted(lines[3:6]) == ["a b", "c", "d e f"]


@pytest.fixture(scope="module")
def vmap(cleaning_load):
    return importlib.import_module("vmap")


def test_the_load_is_the_same_every_time_and_as_large_as_asked_for(cleaning_load):
    first, second = (b"".join(cleaning_load.load(PAIRS, 1000)) for _ in range(2))
    assert first == second
    lines = first.decode().split("\n")[:-1]
    assert len(lines) == 1000 and all(line.count("\t") == 1 for line in lines)
    assert 900 < len(set(lines)) < 1000


@pytest.mark.slow
def test_our_rules_keep_what_the_plain_loop_keeps(cleaning_load, tmp_path):
    rivals = importlib.import_module("cleaning_rivals")
    records.write_blocks(tmp_path / "x.tsv.zst", cleaning_load.load(PAIRS, 1000))
    pairs = list(records.read(tmp_path / "x.tsv.zst"))
    kept = rivals.plain_loop(pairs, langid.LanguageIdentifier.from_modelstring(langid.model))
    assert rivals.ours_in_process(tmp_path / "x.tsv.zst")() == kept
    assert 800 < kept < 960


def test_rivals_take_turns_as_often_as_each_wants(cleaning_load):
    cleaning = importlib.import_module("cleaning_rivals")
    calls = []
    rivals = {
        "slow": cleaning.Rival(lambda: calls.append("slow") or 7, 100, 1),
        "fast": cleaning.Rival(lambda: calls.append("fast") or 9, 100, 2),
    }
    rows = cleaning.raced(rivals, [CORE], 1.0)
    assert calls == ["slow", "fast", "fast"]
    assert [(row["kept"], row["runs"], row["others"]) for row in rows.values()] == [(7, 1, None), (9, 2, None)]
    assert all(0 < row["min"] <= row["pairs_per_second"] <= row["max"] for row in rows.values())
    commands = cleaning.raced(rivals, [CORE], math.inf)
    assert not any("others" in row for row in commands.values())  # nobody knows it of processes that have ended


@pytest.mark.slow
def test_langid_is_raced_on_the_same_lines(cleaning_load):
    language = importlib.import_module("language")
    theirs = langid.LanguageIdentifier.from_modelstring(langid.model)
    lines = ["The man has a dog.", "Der Mann hat einen Hund."]
    found = language.race(language.Identifier(), theirs, lines, [*lines, "Le chien dort."], CORE)
    assert found["runs"] == len(found["ratios_of_runs"]) == 5 and found["ratio"] > 1
    assert found["corpora.language"]["lines"] == 100 * found["langid.py"]["lines"] == 200
    assert found["corpora.language, all lines"]["lines"] == 3


ALIGNED = [
    (["a", "man", "sees", "a", "dog", "."], ["ein", "Mann", "sieht", "einen", "Hund", "."], "0-0 1-1 2-2 3-3 4-4 5-5"),
    (["the", "dog", "sees", "him"], ["ihn", "sieht", "der", "Hund"], "0-2 1-3 2-1 3-0"),
    (["no"], ["nein", "nein"], "0-0 0-1"),
]


def test_the_load_of_aligned_pairs_is_the_same_every_time_and_grows(vmap):
    pieces = sorted({piece for source, target, _ in ALIGNED for piece in (*source, *target)})
    first, second = (b"".join(vmap.load(ALIGNED, pieces, 2000)) for _ in range(2))
    assert first == second
    lines = first.decode().split("\n")[:-1]
    assert len(lines) == 2000 and len(set(lines)) > 200
    assert [line.count("\t") for line in lines] == [2] * 2000


@pytest.mark.slow
def test_the_plain_extractor_counts_the_same_phrases(vmap, tmp_path):
    pieces = sorted({piece for source, target, _ in ALIGNED for piece in (*source, *target)})
    records.write_blocks(tmp_path / "aligned.tsv.zst", vmap.load(ALIGNED, pieces, 300))
    pairs = [
        (source.split(), target.split(), links) for source, target, links in records.read(tmp_path / "aligned.tsv.zst")
    ]
    phrases.count(tmp_path / "aligned.tsv.zst", pieces, tmp_path / "1")
    (tmp_path / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    phrase_table.merge([tmp_path / "1"], tmp_path / "vocabulary.txt", None, tmp_path / "table")
    table = phrase_table.PhraseTable.load(tmp_path / "table")
    plain = vmap.plain(pairs)
    assert len(plain) == len(table.phrases.keys) and sum(plain.values()) == table.phrases.counts.sum()


@pytest.fixture(scope="module")
def training(cleaning_load):
    return importlib.import_module("training")


def test_architectures_whose_trainings_are_compared_are_of_one_size(training):
    shapes = training.ARCHITECTURES.values()
    parameters = [shape(values).parameters(4000) for values in shapes]
    assert max(parameters) < 1.08 * min(parameters)
    assert {values.get("embedding_units", values["units"]) for values in shapes} == {128}
    assert len({str(values) for values in shapes}) == len(shapes) == 10


def test_architectures_are_trained_as_the_first_student(training):
    study = config.load(FOLDER.parent / "configs/demo.yaml")
    _, settings = training.trained(study, "deep", False)
    assert training.trained(study, "gru", True) == (training.ARCHITECTURES["gru"], settings)
    with pytest.raises(UserError, match="--systems gru: is none of teacher, "):
        training.trained(study, "gru", False)


DESCRIBED = {"format": 1, "quantization": "int8", "vocabulary_map": True}


@pytest.fixture(scope="module")
def marian(cleaning_load):
    return importlib.import_module("marian")


@pytest.fixture
def exported(tmp_path):
    """Folders as of export.marian, and one of OpenNMT-tf, with nothing but their descriptions."""
    for name, engine in (("int8", "ctranslate2"), ("marian-int8", "marian"), ("toolkit", "opennmt-tf")):
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "model.json", DESCRIBED | {"engine": engine, "shape": "1:1"})
    for path in ("int8/vmap.txt", "marian-int8/shortlist.bin"):
        (tmp_path / path).touch()
    return tmp_path


@pytest.mark.slow
def test_all_three_engines_are_measured_in_one_run(marian, exported, monkeypatch):
    monkeypatch.setattr("decode.tuned.isa", lambda *_: "AVX512")
    found = marian.configurations(exported, exported / "toolkit", (0, 1))
    assert [(c.model.name, c.beam_size, c.baseline) for c in found[:2]] == [("toolkit", 4, True), ("toolkit", 1, True)]
    assert [c.model.name for c in found[2:]] == ["marian-int8", "int8"] * 2
    assert {c.model.name: c.environment.get(cpu.ISA) for c in found} == {
        "toolkit": None,
        "marian-int8": None,
        "int8": "AVX512",
    }
    assert [c.vocabulary_map for c in found[2:]] == [False] * 2 + [True] * 2
    assert {c.cores for c in found} == {(0, 1)} and {c.workers for c in found[2:]} == {2}
    marian.check(exported, exported / "toolkit")
    marian.protocol.check(found)  # both have their candidates, each in a file of its own


def test_what_cannot_be_compared_with_marian(marian, exported, tmp_path):
    with pytest.raises(UserError, match="no model folders in it"):
        marian.check(tmp_path / "toolkit", exported / "toolkit")
    with pytest.raises(UserError, match="int8: is for ctranslate2; --baseline is a model folder of opennmt-tf"):
        marian.check(exported, exported / "int8")
    write_json(exported / "toolkit" / "model.json", DESCRIBED | {"engine": "opennmt-tf", "shape": "6:6"})
    with pytest.raises(UserError, match=r"toolkit: its shape is 6:6, that of .*int8 1:1"):
        marian.check(exported, exported / "toolkit")


def peer(engine, seconds, beam=1, **more):
    """A record of two runs."""
    rate = {"source_words_per_second": 60 / seconds[0], "source_words_per_second_min": 60 / max(seconds)}
    rate |= {"source_words_per_second_max": 60 / min(seconds), "text_seconds_runs": seconds, "runs": 2}
    where = {"test_set": "t", "sentences": 6, "cpu": "a CPU", "isa": "avx2", "shape": "1:1", "cores": [0]}
    how = {"engine": engine, "engine_label": ENGINES[engine].label, "compute_type": "int8", "beam_size": beam}
    how |= {"vocabulary_map": engine != "opennmt-tf"}
    return measured(**rate | where | how | {"others": 0.0, "noise": 0.1, "bleu": 30.0} | more)


def test_ratios_of_the_engines_are_those_of_runs_made_in_turn(marian):
    toolkit = [peer("opennmt-tf", [40.0, 80.0], 4), peer("opennmt-tf", [20.0, 20.0])]
    theirs, ours = peer("marian", [2.0, 8.0]), peer("ctranslate2", [1.0, 2.0])
    wide, both = replace(ours, forced_isa="AVX512", others=0.5), replace(ours, cores=(0, 1))
    timed = [*toolkit, theirs, ours, wide, both, replace(ours, test_set="untimed")]
    rows = marian.ratios(timed)
    names = ["CTranslate2, int8, map", "CTranslate2, int8, map, AVX512"]
    assert [row["way"] for row in rows[2:5]] == ["Marian, int8, shortlist", *names] and len(rows) == 6
    assert rows[3]["times_faster"]["Marian"] == {"middle": 3.0, "low": 2.0, "high": 4.0, "mark": ""}
    assert rows[3]["times_faster"]["OpenNMT-tf, beam 4"]["middle"] == 40.0
    assert rows[5]["times_faster"] == {} and "Marian" not in rows[2]["times_faster"]  # nothing else on two cores
    assert marian.cells(rows[3])["× Marian"] == "3.00 (2.00 to 4.00)"
    assert marian.cells(rows[4])["× Marian"] == "3.00 (2.00 to 4.00)~"

    picture = importlib.import_module("marian_plot").draw(
        {"ratios": rows[:5], "records": [record.as_json() for record in timed]}
    )
    (axes,) = picture.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [row["way"] for row in rows[:5]]
    assert [text.get_text() for text in axes.texts][3:] == ["60   ×40.0", "60~   ×40.0~"]
    below = " ".join(picture.get_supxlabel().split())
    assert "others, of the same shape (1:1)" in below and "~: other processes used the cores" in below


@pytest.mark.slow
def test_the_stages_are_those_of_the_kept_benchmark(cleaning_load, tmp_path, monkeypatch):
    """Which plans of large studies read."""
    stages = importlib.import_module("stages")
    monkeypatch.setattr(stages, "SHARDS", 2)
    monkeypatch.setattr(stages, "TIMES", 1)
    made = stages.measured(PAIRS, 3000, tmp_path)
    kept = read_json(FOLDER.parent / "results/reference/benchmarks/stages.json")
    rules = [[name.rstrip("0123456789") for name in result["stages"]] for result in (made, kept)]
    assert rules[0] == rules[1] and made["per_pair"].keys() == kept["per_pair"].keys()
    assert all(stage["cpu_seconds"] > 0 and stage["peak_rss_bytes"] > 10**7 for stage in made["stages"].values())
