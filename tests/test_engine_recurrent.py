"""The benchmark of recurrent, averaging and simple recurrent decoders: the same work for all, ratios run by run."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("nmt_frontier_engine", reason="the native engine is not installed here")
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
benchmark = pytest.importorskip("engine_recurrent")
plot = pytest.importorskip("engine_recurrent_plot")

from measure.interleave import Repeats  # noqa: E402 (below what may skip all of this)
from measure.usage import Usage  # noqa: E402

SHAPE = {"encoder_layers": 1, "decoder_layers": 1, "units": 64, "ffn_units": 128, "heads": 2}
SHAPE |= {"decoder": "ssru", "share_embeddings": True}
LSTM = {"cell": "lstm", "bidirectional": True, "encoder_layers": 1, "decoder_layers": 1, "units": 32}
LSTM |= {"embedding_units": 16}
CORE = min(os.sched_getaffinity(0))
CONDITIONS = {"cpu": "a CPU", "isa": "avx2", "pieces": 24, "runs": 2}


def rows(size):
    usages = {"native": [Usage(cpu_seconds=1.0), Usage(cpu_seconds=2.0)]}
    usages |= {"onnxruntime": [Usage(cpu_seconds=2.0), Usage(cpu_seconds=2.0)], "marian": [Usage(cpu_seconds=20.0)] * 2}
    return [row | CONDITIONS for row in benchmark.records("wnmt2018-rnn-small", size, 600, usages)]


def test_ratios_are_those_of_runs_made_in_turn_and_stand_beside_the_goals():
    native, onnx, marian = rows(32)
    assert native["tokens_per_cpu_second"] == 450 and "native_times_faster" not in native
    assert [onnx[f"native_times_faster{end}"] for end in ("", "_min", "_max")] == [1.5, 1.0, 2.0]
    assert (onnx["goal"], marian["goal"], marian["native_times_faster"]) == (1.5, 10, 15.0)
    assert [row["goal"] for row in rows(1)[1:]] == [None, None]


def test_the_table_and_the_picture_say_what_is_reached():
    text = plot.table([*rows(32), *rows(1)])
    assert text.count("reached") == 2 and "missed" not in text and "15.00 (10.00 to 20.00)" in text
    slow = [row | {"native_times_faster": 1.49} if row["engine"] == "onnxruntime" else row for row in rows(32)]
    assert plot.table(slow).count("missed") == 1
    picture = plot.draw([*rows(32), *rows(1)])
    assert [axes.get_title(loc="left") for axes in picture.axes] == ["32 sentences", "1 sentence"]
    assert all(len(axes.patches) == 3 for axes in picture.axes)


@pytest.fixture
def small(monkeypatch):
    """Models of a few units and pieces in place of the papers'."""
    shapes = {"bergamot-ssru-tiny": SHAPE, "wnmt2018-rnn-small": LSTM}
    monkeypatch.setattr(benchmark, "ENTRIES", 200)
    monkeypatch.setattr(benchmark, "CANDIDATES", 30)
    monkeypatch.setattr(benchmark, "registry", lambda: shapes)


@pytest.mark.slow
def test_every_sentence_gets_as_many_pieces_of_the_candidates(small):
    assert len(benchmark.entries()) == 199 and len(benchmark.words()) == 28
    sentences = benchmark.text(40, 7)
    assert {len(sentence) for sentence in sentences} == {7} and sentences == benchmark.text(40, 7)
    assert {piece for sentence in sentences for piece in sentence} <= {*benchmark.words()}
    found = benchmark.measured("bergamot-ssru-tiny", [], 7, {1: 2, 32: 40}, Repeats(runs=1, noise=1e9), CORE)
    assert [(row["batch"], row["engine"], row["weights"]) for row in found] == [
        (1, "native", "opennmt-tf"),
        (32, "native", "opennmt-tf"),
    ]
    assert all(row["tokens_per_cpu_second"] > 0 for row in found)


@pytest.mark.parametrize(
    ("name", "peer", "module", "weights"),
    [
        ("bergamot-ssru-tiny", "marian", "_pymarian", "marian"),
        ("wnmt2018-rnn-small", "onnxruntime", "onnxruntime", "opennmt-tf"),
    ],
)
@pytest.mark.slow
def test_peers_decode_in_turn(small, name, peer, module, weights):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{peer} is not installed here")
    found = benchmark.measured(name, [peer], 7, {32: 40}, Repeats(runs=1, noise=1e9), CORE)
    assert [(row["engine"], row["weights"]) for row in found] == [("native", weights), (peer, weights)]
    assert found[1]["native_times_faster"] > 0 and found[1]["goal"] == benchmark.GOALS[name][peer]
