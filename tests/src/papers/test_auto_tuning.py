"""The products of a model in float32 and in 16 bits, timed for a moment, and the kept result of a larger one."""

import sys
from pathlib import Path

import pytest
from native import folders

from measure import tune
from nmt_frontier import machine
from nmt_frontier.files import read_json
from papers.marian2018 import auto_tuning

KEPT = Path(__file__).parents[3] / "results/reference/marian2018/auto_tuning.json"


@pytest.mark.slow
def test_every_product_is_timed_in_both_types_for_one_row_and_for_16(tmp_path, monkeypatch):
    for name, value in {"SECONDS": 1e-4, "ROUNDS": 1}.items():
        monkeypatch.setattr(tune, name, value)
    monkeypatch.setattr(machine, "pin", lambda cores: None)
    call = ["auto_tuning", "--model", folders() / "float32", "--output", output := tmp_path / "x.json"]
    monkeypatch.setattr(sys, "argv", [*map(str, call)])
    auto_tuning.main()
    found = read_json(output)
    assert {*found} == {*read_json(KEPT)} and found["model"] == folders().name
    shapes = sorted({*tune.of_model(folders() / "float32")})
    rows = [(row["inputs"], row["outputs"], row["rows"]) for row in found["products"]]
    assert rows == [(*shape, count) for shape in shapes for count in (1, 16)] and len(shapes) > 3
    for row in found["products"]:
        float32, int16 = (row["gflops"][kind] for kind in ("float32", "int16"))
        assert row["int16_times_faster"] == round(int16 / float32, 2) > 0


def test_row_5_decodes_as_row_4():
    """16 bits won for all products of the paper's model, as values.json says."""
    assert min(row["int16_times_faster"] for row in read_json(KEPT)["products"]) == 1.95
