"""The estimate of time and disk: what makes a study longer makes its estimate longer."""

import copy
import re
from pathlib import Path

import pytest

from distill import config
from distill.estimate import TOKENS, estimate, training_seconds

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
