"""What a configuration takes from the machine: prices, types of numbers, teachers from elsewhere."""

import ctranslate2
import pytest
from configurations import (
    CONFIGS,
    OWN_MACHINE,
    edited,
    machine,  # noqa: F401 (a fixture)
    saved,
    without,
)

from common import cpu
from common.errors import UserError
from formats.prices import prices
from study import config, expansion, precision
from study.identity import config_hash
from study.teachers import absent_teachers


@pytest.mark.parametrize(
    ("section", "expected"),
    [({}, None), ({"machine": "m7i.large"}, prices()["m7i.large"]), ({"machine": OWN_MACHINE}, OWN_MACHINE)],
    ids=["none", "listed", "own"],
)
def test_a_machine_is_its_entry_in_the_list_or_one_like_it(tmp_path, section, expected):
    assert config.load(saved(tmp_path, edited("prices", section)))["prices"] == {"machine": expected}


def test_a_listed_price_says_where_it_is_from(monkeypatch, tmp_path):
    monkeypatch.setattr(expansion, "prices", lambda: {"abacus": without("date")})
    expansion.listed_prices.cache_clear()
    with pytest.raises(UserError, match=r"prices.yaml: abacus.date is missing"):
        config.load(saved(tmp_path, edited("prices", {})))
    expansion.listed_prices.cache_clear()


@pytest.mark.parametrize(
    ("section", "saturates", "chosen"),
    [
        ({}, False, "int8"),
        ({}, True, "float32"),
        ({"compute_type": None}, True, "float32"),
        ({"compute_type": "int8"}, True, "int8"),
        ({"device": "cuda"}, True, "float16"),
        ({"device": "cuda", "compute_type": "int8"}, False, "int8"),
    ],
)
def test_teachers_compute_in_what_is_exact_here(tmp_path, monkeypatch, section, saturates, chosen):
    monkeypatch.setattr(precision, "int8_saturates", lambda: saturates)
    study = config.load(saved(tmp_path, edited("distillation", section)))
    assert study["distillation"]["compute_type"] == chosen
    explicit = config.load(saved(tmp_path, edited("distillation", section | {"compute_type": chosen})))
    assert config_hash(study) == config_hash(explicit)


def test_a_study_goes_on_with_the_type_it_began_with(tmp_path, monkeypatch):
    path = saved(tmp_path, edited("distillation", {}))
    begun = config.load(path)
    precision.note_teachers_type(begun)
    monkeypatch.setattr(precision, "int8_saturates", lambda: True)  # a node of a cluster, or another machine
    assert config.load(path) == begun
    explicit = config.load(saved(tmp_path, edited("distillation", {"compute_type": "float32"})))
    assert explicit["distillation"]["compute_type"] == "float32"


@pytest.mark.parametrize(
    ("compute_type", "warned"), [("int8", True), ("int8_float32", True), ("float32", False), (None, False)]
)
def test_a_type_that_saturates_is_taken_with_a_warning(tmp_path, monkeypatch, compute_type, warned):
    monkeypatch.setattr(precision, "int8_saturates", lambda: True)
    monkeypatch.setattr(precision, "warning", lambda what: f"warning: {what}: x")
    study = config.load(saved(tmp_path, edited("distillation.compute_type", "int8")))
    study["distillation"]["compute_type"] = compute_type or precision.default_type(study)
    assert list(precision.warnings(study)) == (["warning: distillation.compute_type: x"] if warned else [])


def test_a_type_this_cpu_lacks(monkeypatch):
    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", lambda _: {"float32", "int8"})
    monkeypatch.setattr(cpu, "has_onemkl", lambda: True)
    assert "int16" in config.load(CONFIGS / "demo.yaml")["decoding"]["compute_types"]  # outside Intel, too
    monkeypatch.setattr(cpu, "has_onemkl", lambda: False)
    with pytest.raises(
        UserError, match=r"types\.1: 'int16' is not supported on this CPU; supported: float32, int8, float16"
    ):
        config.load(CONFIGS / "demo.yaml")


def test_teachers_from_elsewhere_are_looked_for(tmp_path):
    (tmp_path / "there").mkdir()
    wmt19 = {"from": "fairseq", "options": {"model_path": "m.pt", "source_lang": "en", "vocab_paths": ["a", "b"]}}
    study = edited("teachers.a", {"ctranslate2": str(tmp_path / "there")})
    study["teachers"]["b"] = {"converted": wmt19, "tokenization": {"bpe": "codes"}}
    study["reverse_teacher"] = {
        "converted": {"from": "transformers", "options": {"model": "Helsinki-NLP/opus-mt-de-en"}}
    }
    absent = absent_teachers(config.load(saved(tmp_path, study)))
    assert absent == ["b: no m.pt", "b: no a", "b: no b", "b: no codes"]


def test_the_environment_of_a_converter_is_looked_for(tmp_path):
    converted = {"from": "fairseq", "environment": str(tmp_path / "none")}
    study = edited("teachers.a", {"converted": converted, "tokenization": {"bpe": __file__}})
    (line,) = absent_teachers(config.load(saved(tmp_path, study)))
    assert line.startswith(
        f"a: no {tmp_path}/none; make it: python3.10 -m venv {tmp_path}/none && {tmp_path}/none/bin/pip"
    )
