"""Further benchmarks of the native engine, each run whole on tiny models and a few sentences."""

import importlib
import os
import sys
from pathlib import Path

import pytest
from models import folders as exported
from models import sentences
from native import folders

from findings.loops import looping
from formats import records
from nmt_frontier import bindings, machine
from nmt_frontier.files import read_json

pytestmark = pytest.mark.slow
LINES = sentences(12, seed=5)
CORE = min(os.sched_getaffinity(0))


@pytest.fixture
def run(monkeypatch, tmp_path):
    """A function that runs a script of benchmarks/ on a test set and returns its JSON."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    monkeypatch.setattr(machine, "pin", lambda cores: None)
    records.write(tmp_path / "x.tsv.zst", [(line, line) for line in LINES])

    def ran(name, *options):
        call = [name, *options, "--test-set", tmp_path / "x.tsv.zst", "--output", tmp_path / "x.json"]
        monkeypatch.setattr(sys, "argv", [*map(str, call)])
        importlib.import_module(name).main()
        return read_json(tmp_path / "x.json")

    return ran


def test_a_model_and_itself_translate_as_it_alone(run):
    one, two = run("engine_ensemble", "--models", *[folders() / "float32"] * 2, "--beam-sizes", 2, "--runs", 1)
    assert (one["models"], two["models"], one["times"]) == (1, 2, 1.0)
    assert two["bleu"] == pytest.approx(one["bleu"]) and two["bleu_alone"] == [one["bleu"]] * 2
    assert two["over_mean"] == pytest.approx(0) and len(two["p_alone"]) == 2 and two["times"] > 0


def test_lists_rescored_by_their_own_model_begin_with_its_best(run):
    (row,) = run("engine_rescoring", "--models", *[folders() / "float32"] * 2, "--beam-size", 3, "--n-best", 2)
    assert len(row["models"]) == 2 and (row["beam_size"], row["n_best"]) == (3, 2)
    assert row["difference"] == pytest.approx(row["bleu_together"] - row["bleu_rescored"]) == pytest.approx(0)


def test_words_of_two_models_are_compared(run):
    """All four pieces of a position, and all the mass that one piece has."""
    rows = run("engine_words", "--models", folders() / "float32", folders() / "int8", "--k", 1, 4)["rows"]
    assert [(Path(row["model"]).name, row["k"]) for row in rows] == [
        (m, k) for m in ("float32", "int8") for k in (1, 4)
    ]
    assert rows[0]["other_best"] == rows[0]["difference"] == rows[1]["difference"] == 0 < rows[2]["difference"] < 0.1
    assert all(row["bytes_per_position"] > 1 and row["positions_per_second"] > 0 for row in rows)
    assert (
        rows[0]["mass"] < rows[1]["mass"] < 1 and 1 == rows[0]["kept_per_position"] < rows[1]["kept_per_position"] <= 4
    )


def test_loops_are_counted_with_and_without_ending_them(run):
    (row,) = run("engine_loops", "--models", folders() / "int8", "--beam-sizes", 1, "--lines", 70, "--runs", 1)["rows"]
    assert row["lines"] == 70 and row["clean_lines"] == len(LINES) and row["clean_ratio"] > 0
    assert row["loops"] <= row["loops_kept"] and row["ended"] >= row["loops_kept"] - row["loops"]
    assert all(map(looping, row["left"])) and len(row["examples"]) <= row["changed"]
    loops = importlib.import_module("engine_loops")
    assert loops.noise(["a", "b"], 70, 1) == loops.noise(["a", "b"], 70, 1) != loops.noise(["a", "b"], 70, 2)
    assert len({*loops.noise(["a", "b"], 70, 1)}) > 60


def test_pythons_part_is_what_the_calls_leave(run):
    options = ["--models", folders() / "int8", "--runs", 1, "--noise", 1e9, "--core", CORE]
    (row,) = run("engine_python", *options)
    assert row["lines"] == len(LINES) and row["compute_type"] == "int8"
    assert row["python"] == pytest.approx(row["text"] - row["calls"]) and row["calls"] > 0


def test_translations_are_compared_with_those_in_float32(run, tmp_path):
    system = tmp_path / "system"
    system.mkdir()
    for kind in ("float32", "int8"):
        (system / kind).symlink_to(exported()[kind])
        (system / f"native-{kind}").symlink_to(folders() / kind)
    isa = bindings.available_sets()[0]
    found = run("engine_fidelity", "--models", system, "--beam-sizes", 1, "--sets", isa)["rows"]
    ways = [("native", isa), ("ctranslate2", None)]
    expected = [(*way, kind) for way in ways for kind in ("float32", "int8")]
    assert [(row["engine"], row["isa"], row["compute_type"]) for row in found] == expected
    assert [row["equal_to_float32"] for row in found][::2] == [len(LINES)] * 2
    assert found[1]["equal_to_float32"] > len(LINES) / 2
