"""The default study, and edited copies of it on disk."""

import copy
import sys
import types
from pathlib import Path

import ctranslate2
import pytest
import yaml

from study import schema as study_schema
from study.keys import schema

CONFIGS = Path(__file__).parents[1] / "configs"


def with_random_weights(study):
    """Without what ties students to their teacher: a change of either would only show that they do not fit any more.

    The control is a twin of the student then, all learn from the best translations, and all are timed in every engine.
    """
    study["students"].pop("direct", None)
    for student in study["students"].values():
        student |= {"start_from": None, "start_layers": None}
    study["distillation"]["n_best"] = 1
    study["mixtures"]["distilled"] |= {"targets": "best", "weights": None}
    study["decoding"]["in_every_engine"] = None
    if study["students"]["deep"].get("mixtures") is None:
        study["students"]["deep"]["mixtures"] = ["distilled", "original"]
    return study


DEMO = with_random_weights(yaml.safe_load((CONFIGS / "demo.yaml").read_text()))

ALL_TYPES = {"float32", "int16", "int8", "int8_float32"}

DELETED = object()

OWN_MACHINE = {
    "provider": "A cupboard",
    "instance": "home",
    "region": "here",
    "date": "2026-07-20",
    "address": "https://example.org/electricity",
    "usd_per_hour": 0.02,
    "cores": 16,
    "cpus": ["Ryzen 9"],
}


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """These tests are about configurations, not about the machine they run on, nor about what was run there."""
    monkeypatch.setattr(study_schema, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", lambda _: ALL_TYPES)
    grammar = types.SimpleNamespace(LANGUAGES=("de", "fr"), SPLITS=("dev", "test", "test2", "monolingual", "train"))
    monkeypatch.setitem(sys.modules, "corpora.grammar", grammar)


def edited(key, value):
    """The default study with the value at a dotted key replaced."""
    study = copy.deepcopy(DEMO)
    *above, last = key.split(".")
    at = study
    for part in above:
        at = at[part]
    if value is DELETED:
        del at[last]
    else:
        at[last] = value
    return study


def resolved(part):
    """A part of the schema with what its ``$ref`` refers to."""
    return schema()["$defs"][part["$ref"].removeprefix("#/$defs/")] | part if "$ref" in part else part


def without(key):
    return {name: value for name, value in OWN_MACHINE.items() if name != key}


def saved(folder, study, name="x.yaml"):
    path = folder / name
    path.write_text(study if isinstance(study, str) else yaml.safe_dump(study, sort_keys=False))
    return path


ZEROS = "0" * 64

FILES = {"file": "x/{lang}.gz", "sha256": {"en": ZEROS, "de": ZEROS}}
