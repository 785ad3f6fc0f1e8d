"""What a configuration takes from the machine: prices, types of numbers, teachers from elsewhere."""

import ctranslate2
import pytest
from configurations import CONFIGS, OWN_MACHINE, edited, machine, saved, without  # noqa: F401 (a fixture)

from common import cpu
from common.errors import UserError
from decode.engines.native import Native
from formats.cost import prices
from study import checks, config, expansion, precision
from study.plan import Study
from study.schema import config_hash
from study.systems import absent_models

MACHINES = {"none": ({}, None), "listed": ({"machine": "m7i.large"}, prices()["m7i.large"])}
MACHINES["own"] = ({"machine": OWN_MACHINE}, OWN_MACHINE | {"gpus": 0})


@pytest.mark.parametrize(("section", "expected"), MACHINES.values(), ids=MACHINES)
def test_a_machine_is_its_entry_in_the_list_or_one_like_it(tmp_path, section, expected):
    assert config.load(saved(tmp_path, edited("prices", section)))["prices"] == {"machine": expected}


def test_a_listed_price_has_its_source(monkeypatch, tmp_path):
    monkeypatch.setattr(expansion, "prices", lambda: {"abacus": without("date")})
    expansion.listed_prices.cache_clear()
    with pytest.raises(UserError, match=r"prices.yaml: abacus.date is missing"):
        config.load(saved(tmp_path, edited("prices", {})))
    expansion.listed_prices.cache_clear()


NATIVE, CTRANSLATE2 = {"engine": "native"}, {"engine": "ctranslate2"}
ELSEWHERE = {"ctranslate2": "folder"}


@pytest.fixture
def installed(monkeypatch):
    """A function that installs the native engine, or removes it; it is installed at first. int8 is exact."""
    monkeypatch.setattr(precision, "warning", lambda _: None)

    def say(there):
        monkeypatch.setattr(Native, "supported", classmethod(lambda cls: [*cls.types] if there else []))

    say(True)
    return say


def distilling(folder, section, **teachers):
    """The effective configuration of the default study with this section and these teachers beside its own."""
    study = edited("distillation", section)
    study["teachers"] |= teachers
    return config.load(saved(folder, study))


def chosen(study):
    return study["distillation"]["engine"], study["distillation"]["compute_type"]


@pytest.mark.parametrize(
    ("section", "saturates", "expected"),
    [
        ({}, True, ("native", "int8")),  # exact everywhere
        (NATIVE | {"compute_type": "int16"}, True, ("native", "int16")),
        (CTRANSLATE2, False, ("ctranslate2", "int8")),
        (CTRANSLATE2, True, ("ctranslate2", "float32")),
        (CTRANSLATE2 | {"compute_type": None}, True, ("ctranslate2", "float32")),
        (CTRANSLATE2 | {"compute_type": "int8"}, True, ("ctranslate2", "int8")),
        ({"compute_type": "int8_float16"}, False, ("ctranslate2", "int8_float16")),
        ({"device": "cuda"}, True, ("ctranslate2", "float16")),
        ({"device": "cuda", "compute_type": "int8"}, False, ("ctranslate2", "int8")),
    ],
)
def test_teachers_compute_in_what_is_exact_here(tmp_path, monkeypatch, installed, section, saturates, expected):
    monkeypatch.setattr(precision, "int8_saturates", lambda: saturates)
    study = distilling(tmp_path, section)
    assert chosen(study) == expected and list(precision.warnings(study)) == []
    explicit = dict(zip(("engine", "compute_type"), expected, strict=True))
    assert config_hash(study) == config_hash(distilling(tmp_path, section | explicit))


def test_the_engine_is_part_of_the_hash(tmp_path, installed):
    studies = [distilling(tmp_path, engine | {"compute_type": "int8"}) for engine in (NATIVE, CTRANSLATE2)]
    assert len({*map(config_hash, studies)}) == 2


NARROW = {"encoder_layers": 1, "decoder_layers": 1, "units": 24, "ffn_units": 64, "heads": 2}


def of_shape(shape):
    """A teacher of this shape that is trained here, beside the study's own."""
    return {"own": edited("study", "x")["teachers"]["teacher"] | {"shape": shape}}


def test_the_native_engine_is_the_default_where_it_is_sure_to_decode_all_teachers(tmp_path, installed):
    assert chosen(distilling(tmp_path, {}))[0] == "native"
    assert chosen(distilling(tmp_path, {}, given=ELSEWHERE))[0] == "ctranslate2"
    assert chosen(distilling(tmp_path, {}, **of_shape(NARROW)))[0] == "ctranslate2"
    installed(False)
    assert chosen(distilling(tmp_path, {})) == ("ctranslate2", "int8")


@pytest.mark.parametrize(
    ("section", "there", "reason"),
    [
        ({}, False, "is not installed"),
        ({"device": "cuda"}, True, "does not run on cuda"),
        ({"compute_type": "int8_float16"}, True, "does not compute in int8_float16, only in float32, int16, int8"),
        ({}, True, "needs units in multiples of 16, not 24 (teachers.own)"),
    ],
)
def test_an_engine_that_is_not_available_is_reported_in_one_line(tmp_path, installed, section, there, reason):
    installed(there)
    study = distilling(tmp_path, NATIVE | section, **(of_shape(NARROW) if "own" in reason else {}))
    (line,) = precision.warnings(study)
    assert line == f"distillation.engine: native {reason}; CTranslate2 translates in its place"
    assert Study(study).teacher_engine == "ctranslate2"


OF_NATIVE = {"ssru": {"like": "marian-small", "decoder": "ssru"}, "recurrent": "wnmt2018-rnn-tiny"}


@pytest.mark.parametrize("shape", OF_NATIVE.values(), ids=OF_NATIVE)
def test_teachers_that_ctranslate2_lacks_translate_with_the_native_engine(tmp_path, installed, shape):
    study = distilling(tmp_path, {}, **of_shape(shape))
    plan = Study(study)
    assert chosen(study) == ("native", "int8") and plan.teacher_model("own") == plan.converted_native("own", "int8")
    assert plan.native_source("own") == plan.averaged("own")
    with_another = distilling(tmp_path, NATIVE, given=ELSEWHERE, **of_shape(shape))
    assert Study(with_another).teacher_model("given").endswith("native-int8")


@pytest.mark.parametrize(
    ("section", "there", "teachers", "reason"),
    [
        (CTRANSLATE2, True, of_shape(OF_NATIVE["ssru"]),
         "CTranslate2 has no ssru decoder; native decodes it: distillation: {engine: native}"),
        ({}, True, of_shape(OF_NATIVE["ssru"]) | {"given": ELSEWHERE}, ": distillation: {engine: native}"),
        ({}, False, of_shape(OF_NATIVE["ssru"]), "; native decodes it, but native is not installed"),
        ({"device": "cuda"}, True, of_shape(OF_NATIVE["recurrent"]),
         "CTranslate2 has no recurrent model; native decodes it, but native does not run on cuda"),
        ({}, True, of_shape(NARROW | {"decoder": "averaging"}),
         "CTranslate2 has no averaging decoder, but native needs units in multiples of 16, not 24 (teachers.own)"),
    ],
)  # fmt: skip
def test_a_teacher_without_an_engine_is_refused_with_what_helps(tmp_path, installed, section, there, teachers, reason):
    installed(there)
    with pytest.raises(UserError) as refused:
        distilling(tmp_path, section, **teachers)
    (line,) = str(refused.value).splitlines()
    assert ": teachers.own.shape: " in line and line.endswith(reason)


def test_a_teacher_from_elsewhere_is_decoded_natively_where_that_is_named(tmp_path, installed):
    study = distilling(tmp_path, NATIVE, given=ELSEWHERE)
    assert list(precision.warnings(study)) == [] and Study(study).teacher_engine == "native"


def test_a_study_goes_on_with_what_it_began_with(tmp_path, monkeypatch, installed):
    monkeypatch.setattr(precision, "int8_saturates", lambda: True)
    installed(False)
    begun = distilling(tmp_path, {})
    assert chosen(begun) == ("ctranslate2", "float32")
    precision.note_teachers(begun)
    installed(True)  # a node of a cluster, or another machine
    monkeypatch.setattr(precision, "int8_saturates", lambda: False)
    assert distilling(tmp_path, {}) == begun
    assert chosen(distilling(tmp_path, {"compute_type": "int8"})) == ("ctranslate2", "int8")
    assert chosen(distilling(tmp_path, NATIVE)) == ("native", "int8")  # the type was the other engine's


def test_a_study_that_began_natively_goes_on_where_it_can(tmp_path, monkeypatch, installed):
    begun = distilling(tmp_path, {"compute_type": "float32"})
    precision.note_teachers(begun)
    assert distilling(tmp_path, {}) == begun and chosen(begun) == ("native", "float32")
    installed(False)
    assert chosen(distilling(tmp_path, {})) == ("ctranslate2", "int8")


def test_a_study_that_began_before_there_was_a_choice_goes_on_in_ctranslate2(tmp_path, installed):
    precision.note_teachers(distilling(tmp_path, {}))
    (note,) = (tmp_path / "results").rglob("distillation.json")
    note.write_text('{"compute_type": "float32"}')
    assert chosen(distilling(tmp_path, {})) == ("ctranslate2", "float32")


@pytest.mark.parametrize(
    ("compute_type", "warned"), [("int8", True), ("int8_float16", True), ("float32", False), (None, False)]
)
def test_a_type_that_saturates_is_taken_with_a_warning(tmp_path, monkeypatch, installed, compute_type, warned):
    monkeypatch.setattr(precision, "int8_saturates", lambda: True)
    monkeypatch.setattr(precision, "warning", lambda what: f"warning: {what}: x")
    study = distilling(tmp_path, CTRANSLATE2 | {"compute_type": compute_type})
    assert list(precision.warnings(study)) == (["warning: distillation.compute_type: x"] if warned else [])
    study["distillation"] |= NATIVE | {"compute_type": "int8"}
    assert list(precision.warnings(study)) == []  # exact there


def test_absent_cores_and_checkpoints_are_warned_of(tmp_path, monkeypatch):
    def warned(study):
        return list(checks.warnings(config.load(saved(tmp_path, study))))

    monkeypatch.setattr(checks.machine, "cores", lambda: (2, 3))
    study = edited("decoding.cores", [3, 7])
    study["teachers"]["teacher"]["training"]["average_last"] = 100
    assert warned(study) == [
        "decoding.cores: 7 cannot be used here; this process may use 2, 3",
        "teachers.teacher.training.average_last: in 700 steps there are fewer than 100 checkpoints",
    ]
    study = edited("teachers.teacher.training.warmup_steps", 700)
    training, path = study["teachers"]["teacher"]["training"], "teachers.teacher.training"
    training["then"] = [{"steps": 20}]
    monkeypatch.setattr(checks.machine, "cores", lambda: (0,))
    assert warned(study) == [f"{path}.average_last: in 20 steps there are fewer than 5 checkpoints"]
    del training["then"]
    assert warned(study) == [f"{path}.warmup_steps: the rate still rises at the end, after 700 steps"]


def test_a_type_this_cpu_lacks(monkeypatch):
    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", lambda _: {"float32", "int8"})
    monkeypatch.setattr(cpu, "has_onemkl", lambda: True)
    assert "int16" in config.load(CONFIGS / "demo.yaml")["decoding"]["compute_types"]  # outside Intel, too
    monkeypatch.setattr(cpu, "has_onemkl", lambda: False)
    message = r"types\.1: 'int16' is not supported on this CPU; supported: float32, int8, float16"
    with pytest.raises(UserError, match=message):
        config.load(CONFIGS / "demo.yaml")


def test_teachers_from_elsewhere_are_looked_for(tmp_path):
    (tmp_path / "there").mkdir()
    wmt19 = {"from": "fairseq", "options": {"model_path": "m.pt", "source_lang": "en", "vocab_paths": ["a", "b"]}}
    study = edited("teachers.a", {"ctranslate2": str(tmp_path / "there")})
    study["teachers"]["b"] = {"converted": wmt19, "tokenization": {"bpe": "codes"}}
    download = {"model": "Helsinki-NLP/opus-mt-en-de"}  # a name, no file
    study["teachers"]["c"] = {"converted": {"from": "transformers", "options": download}}
    study["students"]["tiny"] |= {"start_from": "weights/tiny"}
    absent = absent_models(config.load(saved(tmp_path, study)))
    assert absent == ["b: no m.pt", "b: no a", "b: no b", "b: no codes", "tiny: no weights/tiny"]


def test_the_environment_of_a_converter_is_looked_for(tmp_path):
    converted = {"from": "fairseq", "environment": str(tmp_path / "none")}
    study = edited("teachers.a", {"converted": converted, "tokenization": {"bpe": __file__}})
    (line,) = absent_models(config.load(saved(tmp_path, study)))
    none = f"{tmp_path}/none"
    assert line.startswith(f"a: no {none}; make it: python3.10 -m venv {none} && {none}/bin/pip")


def test_a_study_without_metrics_keeps_its_hash_and_one_with_them_has_another(tmp_path):
    plain = config.load(saved(tmp_path, edited("prices", {})))
    assert plain["metrics"] is None
    assert config_hash(plain) == config_hash({key: value for key, value in plain.items() if key != "metrics"})
    scored = config.load(saved(tmp_path, edited("metrics", {"comet": "x/checkpoints/model.ckpt"})))
    assert scored["metrics"] == {"comet": "x/checkpoints/model.ckpt", "comet_score": "comet-score"}
    assert config_hash(scored) != config_hash(plain)
