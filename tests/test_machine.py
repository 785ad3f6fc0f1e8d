"""What a machine can do: caches, their rates, the settings of a model."""

import json
import sys

import pytest
from native import folders

from measure import machine

LEVELS = [
    machine.Level(name="L1", bytes=32 << 10, rate=100e9),
    machine.Level(name="L2", bytes=1 << 20, rate=50e9),
    machine.Level(name="memory", bytes=None, rate=10e9),
]


@pytest.fixture
def quick(monkeypatch):
    for name, value in {"SECONDS": 0.001, "CALL_BYTES": 1 << 20}.items():
        monkeypatch.setattr(machine, name, value)


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
    assert {*found["peaks"]} == {"float32", "int16", "int8"} and all(speed > 1e8 for speed in found["peaks"].values())
    assert [level["name"] for level in found["levels"]] == ["L1", "L2", "memory"]
    assert all(level["rate"] > 1e8 for level in found["levels"])
    assert found["model"]["batch_tokens"] > 0 and f"measure.tune --model {model}" in shown
