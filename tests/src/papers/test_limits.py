"""The work of whole models, and how fast it can be."""

import sys
from pathlib import Path

import pytest

from nmt_frontier.files import read_json
from papers.fastseq2021 import limits
from papers.fastseq2021.random_models import Shape, layers

KEPT = Path(__file__).parents[3] / "results/reference/any-model"


def test_the_kept_limits_follow_from_the_kept_times(tmp_path, monkeypatch):
    call = ["limits", str(KEPT / "speed.json"), "--core", "96.92", "--output", str(tmp_path / "x.json")]
    monkeypatch.setattr(sys, "argv", call)
    limits.main()
    assert read_json(tmp_path / "x.json") == read_json(KEPT / "limits.json")


def test_work_is_counted_layer_by_layer():
    """One sentence of 3 pieces in, 2 out: matrices of 4 x 4, two of 4 x 8, and an output layer of 10 pieces."""
    shape = Shape("bart", layers(1, 1, 4, 2, 8) | {"vocab_size": 10}, 1, (1, 1), output=2, beam=1)
    square, wide = 4 * 4, 2 * 4 * 8
    encoder = 3 * (4 * square + wide + 2 * square)  # the last two are the decoder's keys and values of the source
    decoder = 2 * (4 * square + wide + 2 * square + 4 * 10)
    attention = 2 * 4 * (3 * 3 + 2 * (3 + 1))  # each piece to the source, and to half of the pieces before
    assert limits.work(shape, 3) == pytest.approx((2e-9 * (encoder + decoder), 2e-9 * attention))


@pytest.mark.slow
@pytest.mark.optional("torch")
def test_the_speed_of_a_core_is_that_of_a_product(monkeypatch):
    for name in ("ROWS", "INNER", "OUTER"):
        monkeypatch.setattr(limits, name, 64)
    monkeypatch.setattr(limits, "SECONDS", 0.1)
    assert 0.01 < limits.speed_of_a_core() < 10_000
