"""The estimate of time and disk: what makes a study longer makes its estimate longer."""

import copy
import re
from pathlib import Path

import pytest

from distill import config
from distill.estimate import LONGEST, TOKENS, estimate, training_resources, training_seconds
from distill.systems import systems

MULTI30K = config.load(Path(__file__).parents[1] / "configs/multi30k.yaml")


def core_minutes(study, stage):
    return float(re.search(rf"{stage}.* ([\d,.]+) core-minutes", estimate(study, 2)).group(1).replace(",", ""))


def edited(change):
    study = copy.deepcopy(MULTI30K)
    change(study)
    return study


def test_epochs_are_as_long_as_the_steps_they_make():
    common = {"batch_tokens": 2000, "batch_sentences": None, "accumulate": 1, "threads": 1}
    steps = common | {"steps": 100, "epochs": None, "then": []}
    epochs = common | {"steps": None, "epochs": 2, "then": []}
    pairs = 100 * 2000 // TOKENS // 2
    assert training_seconds(steps, 3, pairs) == pytest.approx(training_seconds(epochs, 3, pairs))
    sentences = steps | {"batch_tokens": None, "batch_sentences": 2000 // TOKENS}
    assert training_seconds(sentences, 3, pairs) == pytest.approx(training_seconds(steps, 3, pairs))
    both = steps | {"then": [epochs | {"accumulate": 16}]}
    assert training_seconds(both, 3, pairs) == pytest.approx(2 * training_seconds(steps, 3, pairs))


def test_seeds_are_trained_and_not_timed():
    one_seed = edited(lambda study: study["students"]["deep"].update(seeds=[1]))
    assert core_minutes(MULTI30K, "training") > 1.2 * core_minutes(one_seed, "training")
    assert core_minutes(MULTI30K, "decoding") == core_minutes(one_seed, "decoding")


def test_every_teacher_translates():
    one = edited(lambda study: study["teachers"].pop("narrow"))
    assert core_minutes(MULTI30K, "distillation") > 1.2 * core_minutes(one, "distillation")


def test_it_says_which_targets_it_is_not_about():
    assert "what only maps, speed and search make is not counted" in estimate(MULTI30K, 2)
    assert estimate(MULTI30K, 2) == estimate(edited(lambda study: study["speed"].update(systems=[])), 2)


def resources(name, change=lambda study: None):
    study = edited(change)
    return training_resources(study, next(system for system in systems(study) if system.name == name))


def of_training(**keys):
    return lambda study: [entry["training"].update(keys) for entry in study["students"].values()]


def test_a_training_asks_for_the_memory_of_its_size():
    asked = resources("deep-seed1")
    assert asked["gpu"] == 0 and asked["mem_mb"] > 1000
    larger = [
        lambda study: study["vocabulary"].update(pieces=32000),
        lambda study: study["students"]["deep"]["shape"].update(units=1024),
        lambda study: study["distillation"].update(epoch_pairs=5_000_000),
        of_training(batch_tokens=25000),
        of_training(batch_tokens=None, batch_sentences=500),  # the longest ones
    ]
    assert all(resources("deep-seed1", change)["mem_mb"] > asked["mem_mb"] for change in larger)
    longer = resources("deep-seed1", of_training(steps=200_000))
    assert asked["runtime"] < longer["runtime"] <= LONGEST


def test_a_training_on_a_gpu_asks_for_one_and_is_not_estimated():
    change = of_training(device="cuda")
    asked = resources("deep-seed1", change)
    assert asked["gpu"] == 1 and asked["runtime"] == LONGEST
    # The activations of a batch are in the GPU's memory.
    assert asked == resources("deep-seed1", lambda study: (change(study), of_training(batch_tokens=25000)(study)))
    text = estimate(edited(change), 2)
    assert (
        "cores beside what GPUs do, " in text and "not counted, on a GPU: " in text and "training of deep-seed1" in text
    )
    assert core_minutes(edited(change), "training") < core_minutes(MULTI30K, "training")


@pytest.mark.parametrize("name", ["wngt2020", "opennmt-wnmt2018", "marian-wnmt2018"])
def test_the_papers_trainings_ask_for_gpus(name):
    study = config.load(Path(__file__).parents[1] / f"configs/{name}.yaml")
    asked = [training_resources(study, system) for system in systems(study) if system.shape]
    assert asked and all(row["gpu"] == 1 and row["mem_mb"] > 5000 for row in asked)
