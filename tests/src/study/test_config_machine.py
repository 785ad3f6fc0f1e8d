"""What a configuration says of machines, and what a run lacks on this one: engines, types of numbers, models."""

import ctranslate2
import pytest
from configurations import CONFIGS, DEMO, OWN_MACHINE, edited, machine, saved, without  # noqa: F401 (a fixture)

from findings.cost import prices
from formats import ctranslate2_products
from nmt_frontier.errors import UserError
from nmt_frontier.search.native import Native
from study import config, expansion, machine_checks, precision, system_checks
from study.configuration import typed
from study.plan import StudyPlan
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
    """A function that installs the native engine, or removes it; it is installed at first."""

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
    ("section", "expected"),
    [
        ({}, ("native", "int8")),
        (NATIVE | {"compute_type": "int16"}, ("native", "int16")),
        (CTRANSLATE2, ("ctranslate2", "float32")),
        (CTRANSLATE2 | {"compute_type": None}, ("ctranslate2", "float32")),
        (CTRANSLATE2 | {"compute_type": "int8"}, ("ctranslate2", "int8")),
        ({"compute_type": "int8_float16"}, ("ctranslate2", "int8_float16")),
        ({"device": "cuda"}, ("ctranslate2", "float16")),
        ({"device": "cuda", "compute_type": "int8"}, ("ctranslate2", "int8")),
    ],
)
def test_teachers_compute_in_what_is_exact_everywhere(tmp_path, section, expected):
    study = distilling(tmp_path, section)
    assert chosen(study) == expected and list(precision.warnings(typed(study))) == []
    explicit = dict(zip(("engine", "compute_type"), expected, strict=True))
    assert config_hash(typed(study)) == config_hash(typed(distilling(tmp_path, section | explicit)))


def test_the_engine_is_part_of_the_hash(tmp_path):
    studies = [distilling(tmp_path, engine | {"compute_type": "int8"}) for engine in (NATIVE, CTRANSLATE2)]
    assert len({config_hash(typed(study)) for study in studies}) == 2


NARROW = {"encoder_layers": 1, "decoder_layers": 1, "units": 24, "ffn_units": 64, "heads": 2}


def of_shape(shape):
    """A teacher of this shape that is trained here, beside the study's own."""
    return {"own": edited("study", "x")["teachers"]["teacher"] | {"shape": shape}}


def test_the_native_engine_is_the_default_where_it_is_sure_to_decode_all_teachers(tmp_path):
    assert chosen(distilling(tmp_path, {}))[0] == "native"
    assert chosen(distilling(tmp_path, {}, given=ELSEWHERE))[0] == "ctranslate2"
    assert chosen(distilling(tmp_path, {}, **of_shape(NARROW)))[0] == "ctranslate2"


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ({"device": "cuda"}, "does not run on cuda"),
        ({"compute_type": "int8_float16"}, "does not compute in int8_float16, only in float32, int16, int8, int4"),
        ({}, "needs units in multiples of 16, not 24 (teachers.own)"),
    ],
)
def test_an_engine_that_cannot_translate_is_reported_in_one_line(tmp_path, section, reason):
    study = distilling(tmp_path, NATIVE | section, **(of_shape(NARROW) if "own" in reason else {}))
    (line,) = precision.warnings(typed(study))
    assert line == f"distillation.engine: native {reason}; CTranslate2 translates in its place"
    assert StudyPlan(typed(study)).teachers.engine == "ctranslate2"


OF_NATIVE = {"ssru": {"like": "marian-small", "decoder": "ssru"}, "recurrent": "wnmt2018-rnn-tiny"}


@pytest.mark.parametrize("shape", OF_NATIVE.values(), ids=OF_NATIVE)
def test_teachers_that_ctranslate2_lacks_translate_with_the_native_engine(tmp_path, shape):
    study = distilling(tmp_path, {}, **of_shape(shape))
    plan = StudyPlan(typed(study))
    assert chosen(study) == ("native", "int8")
    assert plan.teachers.model("own") == plan.paths.converted_native("own", "int8")
    assert plan.models.native_source("own") == plan.paths.averaged("own")
    with_another = distilling(tmp_path, NATIVE, given=ELSEWHERE, **of_shape(shape))
    assert StudyPlan(typed(with_another)).teachers.model("given").endswith("native-int8")


@pytest.mark.parametrize(
    ("section", "teachers", "reason"),
    [
        (CTRANSLATE2, of_shape(OF_NATIVE["ssru"]),
         "CTranslate2 has no ssru decoder; native decodes it: distillation: {engine: native}"),
        ({}, of_shape(OF_NATIVE["ssru"]) | {"given": ELSEWHERE}, ": distillation: {engine: native}"),
        ({"device": "cuda"}, of_shape(OF_NATIVE["recurrent"]),
         "CTranslate2 has no recurrent model; native decodes it, but native does not run on cuda"),
        ({}, of_shape(NARROW | {"decoder": "averaging"}),
         "CTranslate2 has no averaging decoder, but native needs units in multiples of 16, not 24 (teachers.own)"),
    ],
)  # fmt: skip
def test_a_teacher_without_an_engine_is_refused_with_what_helps(tmp_path, section, teachers, reason):
    with pytest.raises(UserError) as refused:
        distilling(tmp_path, section, **teachers)
    (line,) = str(refused.value).splitlines()
    assert ": teachers.own.shape: " in line and line.endswith(reason)


def test_a_teacher_from_elsewhere_is_decoded_natively_where_that_is_named(tmp_path):
    study = distilling(tmp_path, NATIVE, given=ELSEWHERE)
    assert list(precision.warnings(typed(study))) == [] and StudyPlan(typed(study)).teachers.engine == "native"


def lacking(study):
    return [*machine_checks.problems(StudyPlan(typed(study)))], [*machine_checks.warnings(StudyPlan(typed(study)))]


def test_the_native_engine_is_not_asked_for_by_studies_without_it(tmp_path, installed):
    installed(False)
    study = distilling(tmp_path, CTRANSLATE2)
    study["decoding"]["engines"] = []
    assert lacking(study) == ([], [])


def test_ctranslate2_decodes_and_translates_where_the_native_engine_is_not_installed(tmp_path, installed):
    study = distilling(tmp_path, {})
    assert lacking(study) == ([], [])
    installed(False)
    assert distilling(tmp_path, {}) == study
    problems, (decoding, translating) = lacking(study)
    assert problems == []
    assert decoding.startswith("decoding.engines: native is not installed here; CTranslate2 decodes in its place, ")
    assert translating.startswith("distillation.engine: native is not installed here; CTranslate2 translates in its ")


@pytest.mark.parametrize(
    ("teachers", "begins", "remedy"),
    [
        (of_shape(OF_NATIVE["ssru"]), "teachers.own: ", "; no other engine translates with it"),
        ({"given": ELSEWHERE}, "teachers.given: ", ", or set distillation: {engine: ctranslate2}"),
        (of_shape(OF_NATIVE["recurrent"]), "own: ", ", or set decoding: {engines: []} to measure OpenNMT-tf alone"),
    ],
)
def test_what_only_the_native_engine_decodes_does_not_start_without_it(tmp_path, installed, teachers, begins, remedy):
    study = distilling(tmp_path, NATIVE, **teachers)
    assert lacking(study)[0] == []
    installed(False)
    found = [line for line in lacking(study)[0] if line.startswith(begins)]
    assert found == [f"{begins}{machine_checks.NOT_BUILT}{remedy}"]


def test_words_are_taught_by_the_native_engine_alone(tmp_path, installed):
    study = distilling(tmp_path, NATIVE)
    study["students"]["tiny"]["words"] = {"teacher": None, "k": 8, "weight": 0.5}
    installed(False)
    line = f"students.tiny.words: {machine_checks.NOT_BUILT}; no other engine tells the most probable pieces"
    assert line in lacking(study)[0]


@pytest.mark.parametrize(
    ("compute_type", "warned"), [("int8", True), ("int8_float16", True), ("float32", False), (None, False)]
)
def test_a_type_that_saturates_is_taken_with_a_warning(tmp_path, monkeypatch, installed, compute_type, warned):
    monkeypatch.setattr(ctranslate2_products, "warning", lambda what: f"warning: {what}: x")
    study = distilling(tmp_path, CTRANSLATE2 | {"compute_type": compute_type})
    assert lacking(study) == ([], ["warning: distillation.compute_type: x"] if warned else [])
    study["distillation"] |= NATIVE | {"compute_type": "int8"}
    assert lacking(study) == ([], [])  # exact there


def test_absent_cores_and_checkpoints_are_warned_of(tmp_path, monkeypatch, installed):
    monkeypatch.setattr(machine_checks.machine, "cores", lambda: (2, 3))
    study = config.load(saved(tmp_path, edited("decoding.cores", [3, 7])))
    assert lacking(study)[1] == ["decoding.cores: 7 cannot be used here; this process may use 2, 3"]

    def warned(study):
        return list(system_checks.warnings(typed(config.load(saved(tmp_path, study)))))

    path, steps = "teachers.teacher.training", DEMO["teachers"]["teacher"]["training"]["steps"]
    study = edited(f"{path}.average_last", 100)
    assert warned(study) == [f"{path}.average_last: in {steps:,} steps there are fewer than 100 checkpoints"]
    study = edited(f"{path}.warmup_steps", steps)
    training = study["teachers"]["teacher"]["training"]
    training["then"] = [{"steps": 20}]
    assert warned(study) == [f"{path}.average_last: in 20 steps there are fewer than 5 checkpoints"]
    del training["then"]
    assert warned(study) == [f"{path}.warmup_steps: the rate still rises at the end, after {steps:,} steps"]


def test_types_this_machine_lacks(tmp_path, monkeypatch, installed):
    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", lambda _: {"float32", "int8"})
    monkeypatch.setattr(ctranslate2_products, "has_onemkl", lambda: True)
    study = distilling(tmp_path, CTRANSLATE2 | {"compute_type": "int16"})
    study["decoding"]["compute_types"] = ["float32", "int16"]
    assert lacking(study)[0] == []  # outside Intel, too
    monkeypatch.setattr(ctranslate2_products, "has_onemkl", lambda: False)
    message = "'int16' is not supported on this CPU; supported: float32, int8, float16, bfloat16, int8_float16,"
    decoding, translating = lacking(study)[0]
    assert decoding.startswith(f"decoding.compute_types.1: {message}")
    assert translating.startswith(f"distillation.compute_type: {message}")
    monkeypatch.setattr(machine_checks.importlib.util, "find_spec", lambda name: None)
    study["decoding"]["compute_types"] = ["bfloat16"]
    needed = "decoding.compute_types.0: 'bfloat16' needs PyTorch, which is no dependency: pip install torch"
    assert lacking(study)[0][0] == needed


def test_teachers_from_elsewhere_are_looked_for(tmp_path):
    (tmp_path / "there").mkdir()
    wmt19 = {"from": "fairseq", "options": {"model_path": "m.pt", "source_lang": "en", "vocab_paths": ["a", "b"]}}
    study = edited("teachers.a", {"ctranslate2": str(tmp_path / "there")})
    study["teachers"]["b"] = {"converted": wmt19, "tokenization": {"bpe": "codes"}}
    download = {"model": "Helsinki-NLP/opus-mt-en-de"}  # a name, no file
    study["teachers"]["c"] = {"converted": {"from": "transformers", "options": download}}
    study["students"]["tiny"] |= {"start_from": "weights/tiny"}
    absent = absent_models(typed(config.load(saved(tmp_path, study))))
    assert absent == ["b: no m.pt", "b: no a", "b: no b", "b: no codes", "tiny: no weights/tiny"]


def test_the_environment_of_a_converter_is_looked_for(tmp_path):
    converted = {"from": "fairseq", "environment": str(tmp_path / "none")}
    study = edited("teachers.a", {"converted": converted, "tokenization": {"bpe": __file__}})
    (line,) = absent_models(typed(config.load(saved(tmp_path, study))))
    none = f"{tmp_path}/none"
    assert line.startswith(f"a: no {none}; make it: python3.10 -m venv {none} && {none}/bin/pip")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [("robustness", {}, ("types", ["int8"])), ("metrics", {"comet": "x.ckpt"}, ("comet_score", "comet-score"))],
)
def test_a_section_without_which_nothing_is_measured_changes_the_hash(tmp_path, key, value, expected):
    plain, measured = (config.read(saved(tmp_path, edited(key, each))) for each in (None, value))
    assert getattr(plain, key) is None and expected in measured.document[key].items()
    assert config_hash(measured) != config_hash(plain)
