"""The benchmark of recurrent, averaging and simple recurrent decoders: equal work, ratios run by run."""

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("nmt_frontier.bindings", reason="the native engine is not installed here")
sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
benchmark, plot = pytest.importorskip("engine_recurrent"), pytest.importorskip("plot")

from measure.timing_loop import Repeats, Usage  # noqa: E402 (below what may skip all of this)

SHAPE = {"encoder_layers": 1, "decoder_layers": 1, "units": 64, "ffn_units": 128, "heads": 2}
SHAPE |= {"decoder": "ssru", "share_embeddings": True}
CORE = min(os.sched_getaffinity(0))


def rows(size, *seconds):
    usages = {"native": [1.0, 2.0], "marian": seconds}
    usages = {name: [Usage(cpu_seconds=value) for value in values] for name, values in usages.items()}
    found = benchmark.records("wnmt2018-rnn-small", size, 600, usages)
    return [row | {"cpu": "a CPU", "isa": "avx2", "pieces": 24, "runs": 2} for row in found]


def test_ratios_are_taken_run_by_run():
    native, marian = rows(32, 20.0, 20.0)
    assert native["tokens_per_cpu_second"] == 450 and "native_times_faster" not in native
    assert [marian[f"native_times_faster{end}"] for end in ("", "_min", "_max")] == [15.0, 10.0, 20.0]


def test_the_table_shows_the_ratio_of_peers_with_its_spread():
    text = plot.recurrent_table(rows(32, 20.0, 20.0))
    assert text.count("15.00 (10.00 to 20.00)") == 1


@pytest.mark.parametrize("peers", [(), pytest.param(("marian",), marks=pytest.mark.optional("pymarian"))])
@pytest.mark.slow
def test_every_sentence_gets_as_many_pieces_of_the_candidates(monkeypatch, peers):
    """With a model of a few units and pieces instead of the paper's."""
    for name, value in {"ENTRIES": 200, "CANDIDATES": 30, "registry": lambda: {"bergamot-ssru-tiny": SHAPE}}.items():
        monkeypatch.setattr(benchmark, name, value)
    assert len(benchmark.entries()) == 199 and len(benchmark.words()) == 28
    sentences = benchmark.text(40, 7)
    assert {len(sentence) for sentence in sentences} == {7} and sentences == benchmark.text(40, 7)
    assert {piece for sentence in sentences for piece in sentence} <= {*benchmark.words()}
    sizes = {32: 40} if peers else {1: 2, 32: 40}
    found = benchmark.measured("bergamot-ssru-tiny", peers, 7, sizes, Repeats(runs=1, noise=1e9), CORE)
    engines, weights = (["native", "marian"], "marian") if peers else (["native"], "opennmt-tf")
    expected = [(size, engine, weights) for size in sizes for engine in engines]
    assert [(row["batch"], row["engine"], row["weights"]) for row in found] == expected
    assert all(row["tokens_per_cpu_second"] > 0 for row in found)
    assert not peers or found[1]["native_times_faster"] > 0
