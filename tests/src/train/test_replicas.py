"""Trainings on several devices equal those on one that accumulates gradients, killed or not; wrong sums are found."""

import re

import forked
import numpy as np
import pytest
from test_training import (  # noqa: F401 (fixtures)
    STUDY,
    data,
    finish,
    left_by_kills,
    optimised_graphs,
    plain_graphs,
    run,
    same_training,
    training,
    weights,
)
from training_settings import entry

from nmt_frontier.files import read_json

pytestmark = pytest.mark.long

TWO = STUDY | entry(steps=6, gpus=2) | {"checkpoint_steps": 3, "validation_steps": 6, "averages": [1, 9]}
TWO |= {"moving_average": 0.5}  # whose variables are copied, too
ALIKE = TWO | {"dropout": 0, "optimizer": "sgd", "learning_rate": 0.1, "decay": "constant", "checkpoint_steps": 6}


def learned(data, folder, settings):  # noqa: F811
    """The log, the weights and learning.json of a training."""
    done = run(data, folder, None, settings)
    assert done.returncode == 0, done.stderr
    return done.stderr, weights(folder / "averaged"), read_json(folder / "learning.json")


@pytest.mark.usefixtures("optimised_graphs")
def test_two_replicas_train_as_one_device_that_accumulates(data, tmp_path):  # noqa: F811
    _, one, by_one = learned(data, tmp_path / "one", ALIKE | {"gpus": 1, "accumulate": 2})
    log, two, by_two = learned(data, tmp_path / "two", ALIKE)
    assert one.keys() == two.keys() and all(np.allclose(one[key], two[key], rtol=0, atol=1e-6) for key in one)
    assert by_one["phases"] == by_two["phases"] == [{"end": 6, "accumulate": 2}]
    assert by_one["seen"] == by_two["seen"] and by_two["seen"]["passes"] > 1
    assert by_one["training"][-1]["loss"] == pytest.approx(by_two["training"][-1]["loss"], rel=1e-5)
    (differ,) = re.findall(r"3 updates on 2 devices differ from those on one by (\S+) of their size", log)
    assert float(differ) < 1e-5  # a hundredth of what is tolerated


def test_a_killed_training_on_two_devices_ends_as_one_that_was_not(data, tmp_path):  # noqa: F811
    """Same batches, although a pass ends within an update, and same dropout on each device."""
    (left,) = left_by_kills(training(data, tmp_path / "finished", None, TWO), tmp_path / "finished", 3)
    finish(data, left, None, TWO)
    same_training(tmp_path / "finished", left)


def test_wrong_sums_are_found_before_the_training(data, tmp_path):  # noqa: F811
    done = forked.Command("same_batches", *training(data, tmp_path, None, TWO)[1:]).wait()
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "error: training.gpus: 2: 3 updates on 2 devices differ from those on one by" in done.stderr.splitlines()[-1]
    assert not list(tmp_path.glob("run-*/ckpt-*"))
