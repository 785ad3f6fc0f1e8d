"""What a machine can do: caches, their rates, the settings of a model; and the limit that follows from it."""

import importlib
import json
import sys
from pathlib import Path

import native
import pytest
from native import folders

from measure import machine
from nmt_frontier import peaks
from nmt_frontier.model import native_packing, native_weights, safetensors

LEVELS = [
    machine.Level(name="L1", bytes=32 << 10, rate=100e9),
    machine.Level(name="L2", bytes=1 << 20, rate=50e9),
    machine.Level(name="memory", bytes=None, rate=10e9),
]


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(peaks, "SECONDS", 0.001)
    monkeypatch.setattr(machine, "CALL_BYTES", 1 << 20)


def test_caches_are_those_of_the_system(tmp_path, monkeypatch):
    caches = [("Data", 1, "48K"), ("Instruction", 1, "32K"), ("Unified", 2, "2048K"), ("Unified", 3, "260M")]
    for number, values in enumerate(caches):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, value in zip(("type", "level", "size"), values, strict=True):
            (folder / name).write_text(f"{value}\n")
    monkeypatch.setattr(machine, "CACHES", tmp_path)
    assert machine.cache_sizes() == {1: 48 << 10, 2: 2 << 20, 3: 260 << 20}
    monkeypatch.setattr(machine, "CACHES", tmp_path / "none")
    assert machine.cache_sizes() == {}


def test_weights_are_read_at_the_rate_of_the_cache_that_holds_them():
    assert [machine.rate(LEVELS, size) for size in (1000, 32 << 10, 33 << 10, 2 << 20)] == [100e9, 100e9, 50e9, 10e9]


def test_a_command_prints_what_the_machine_can_do(quick, tmp_path, monkeypatch, capsys):
    output = tmp_path / "machine.json"
    model = folders() / "int8"
    monkeypatch.setattr(sys, "argv", ["machine", "--model", str(model), "--output", str(output)])
    monkeypatch.setattr(machine, "cache_sizes", lambda: {1: 32 << 10, 2: 1 << 20})
    machine.main()
    found, shown = json.loads(output.read_text()), capsys.readouterr().out
    assert found["used"] in found["sets"] and f"used: {found['used']}" in shown
    assert [*found["peaks"]] == [*native_weights.TYPES] and all(speed > 1e8 for speed in found["peaks"].values())
    assert [level["name"] for level in found["levels"]] == ["L1", "L2", "memory"]
    assert all(level["rate"] > 1e8 for level in found["levels"])
    assert found["model"]["batch_tokens"] > 0 and f"measure.tune --model {model}" in shown


@pytest.fixture
def script(monkeypatch):
    """A function that imports a script of benchmarks/."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module


def test_the_limit_is_the_larger_of_operations_and_bytes(script):
    work = script("engine").DecodingWork
    computing = work(encoder=4e9, decoder=6e9, encoder_bytes=40_000, step_bytes=20_000, steps=10)
    assert computing.seconds(1e9, LEVELS) == 10
    reading = computing._replace(encoder=1, decoder=1)  # all weights lie in L2, those of the decoder in L1
    assert reading.seconds(1e9, LEVELS) == pytest.approx(40_000 / 50e9 + 10 * 20_000 / 100e9)


@pytest.mark.parametrize("kind", ["int8", "float32"])
def test_the_work_of_a_batch_is_that_of_the_weights_in_the_file(script, kind):
    batch, output, candidates = [["a"] * 3, ["b"] * 2], [["x"] * 4, ["y"]], 10
    found = script("engine").work(folders() / kind, kind, batch, output, candidates)
    tensors = safetensors.read(folders() / kind / "weights.safetensors")
    weights = [tensor for name, tensor in tensors.items() if name.endswith(".weight")]
    size = weights[0].itemsize
    output_layer = 16 * candidates * size
    assert found.encoder_bytes + found.step_bytes - output_layer == sum(tensor.nbytes for tensor in weights)
    assert found.encoder == 2 * 5 * found.encoder_bytes / size and found.decoder == 2 * 7 * found.step_bytes / size
    assert found.steps == 5


@pytest.mark.parametrize("kind", ["int8", "float32"])
def test_the_engine_counts_the_operations_of_its_products(script, kind):
    """Those of the roofline, with the pieces padded to whole panels."""
    every = native.sentences(30)
    best = [hypotheses[0].pieces for hypotheses in native.worker(kind).translate(every, native.engine_options())]
    batch, output = zip(*((a, b) for a, b in zip(every, best, strict=True) if len(b) < 150), strict=True)  # that ended
    one = native.worker(kind)
    one.translate(batch, native.engine_options())
    candidates = native_packing.padded(len(native.vocabulary().target))
    found = script("engine").work(folders() / kind, kind, batch, output, candidates)
    assert len(batch) > 9 and one.operations() == found.encoder + found.decoder


def test_a_record_without_rates_says_what_its_limit_was(script):
    row = {"model": "m", "compute_type": "int8", "beam_size": 1, "batch": "32", "peer": "ctranslate2", "ratio": 2.0}
    row |= {"ratio_min": 1.9, "ratio_max": 2.1, "share_of_limit": 0.5, "components": {"search": 1.0}}
    old, new = (script("plot").engine_table([each]) for each in (row, row | {"levels": LEVELS}))
    assert "not measured then" in old and "[50%]" in old
    assert "not measured then" not in new and "over the rate of the cache" in new
