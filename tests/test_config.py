import copy
import datetime
import subprocess
import sys
import types
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langid import langid

from distill import config
from distill.systems import absent_teachers, learned_from, systems
from formats.errors import UserError
from formats.prices import prices
from formats.shape import shape

CONFIGS = Path(__file__).parents[1] / "configs"
DEMO = yaml.safe_load((CONFIGS / "demo.yaml").read_text())
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
    monkeypatch.setattr(config, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(config, "int8_saturates", lambda: False)
    monkeypatch.setattr(config.ctranslate2, "get_supported_compute_types", lambda _: ALL_TYPES)
    grammar = types.SimpleNamespace(LANGUAGES=("de", "fr"))
    monkeypatch.setitem(sys.modules, "distill.grammar", grammar)


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


def without(key):
    return {name: value for name, value in OWN_MACHINE.items() if name != key}


def saved(folder, study, name="x.yaml"):
    path = folder / name
    path.write_text(study if isinstance(study, str) else yaml.safe_dump(study, sort_keys=False))
    return path


# What is right


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_effective_config_is_complete_and_stable(path, tmp_path):
    effective = config.load(path)
    assert effective["study"] == path.stem
    again = config.load(saved(tmp_path, effective))
    assert again == effective
    assert config.config_hash(again) == config.config_hash(effective)


def test_defaults_are_filled_in_at_every_depth():
    effective = config.load(CONFIGS / "demo.yaml")
    assert effective["mirror"] is None
    assert effective["vocabulary"]["sentences"] == 2_000_000
    assert effective["corpora"]["val"]["cleaning"]["langid"] == []
    assert effective["students"]["tiny"]["shape"]["share_embeddings"] is False
    assert effective["student_training"]["label_smoothing"] == 0.1
    assert effective["distillation"]["epoch_pairs"] is None


def test_a_section_may_be_left_out_or_empty(tmp_path):
    for value in (DELETED, None, {}):
        assert config.load(saved(tmp_path, edited("decoding", value)))["decoding"]["runs"] == 3


def test_french_differs_from_the_default_in_names_only():
    german, french = config.load(CONFIGS / "demo.yaml"), config.load(CONFIGS / "demo-fr.yaml")
    assert {key for key in german if german[key] != french[key]} == {"study", "target"}


def test_a_student_may_have_batches_of_another_unit(tmp_path):
    training = {"batch_sentences": 64, "epochs": 2}
    found = config.load(saved(tmp_path, edited("students.tiny.training", training)))["students"]["tiny"]["training"]
    assert [found[key] for key in ("batch_tokens", "batch_sentences", "steps", "epochs")] == [None, 64, None, 2]


def test_a_student_starts_from_a_teacher_of_its_shape(tmp_path):
    study = edited("students.twin", {"shape": DEMO["teachers"]["teacher"]["shape"], "start_from": "teacher"})
    found = {system.name: system.start_from for system in systems(config.load(saved(tmp_path, study)))}
    assert found == {"teacher": None, "deep": None, "deep-original": None, "tiny": None, "twin": "teacher"}


def test_trainings_of_2018_are_as_the_papers_print_them():
    """Senellart et al., sections 2 and 4 and table 1; Junczys-Dowmunt et al., sections 2.1 to 3.1 and table 3."""
    study = config.load(CONFIGS / "opennmt-wnmt2018.yaml")
    trained = {system.name: system.training for system in systems(study)}
    for name in ("teacher", "base-original"):
        training = trained[name]
        assert (training["warmup_steps"], training["average_last"], training["max_length"]) == (8000, 8, 100)
        assert training["learning_rate"] == pytest.approx(2 / (512 * 8000) ** 0.5, rel=1e-3)
    rnns = {name: (t["optimizer"], t["learning_rate"]) for name, t in trained.items() if "rnn" in name}
    sgd, adam = ("sgd", 1.0), ("adam", 0.0002)
    assert rnns == {"large-rnn-original": sgd, "small-rnn": sgd, "small-rnn-original": sgd, "tiny-rnn": adam}
    fixed = {"epochs": 10, "batch_sentences": 64, "max_length": 100, "average_last": 1, "label_smoothing": 0}
    assert all({key: trained[name][key] for key in fixed} == fixed for name in rnns)
    assert study["vocabulary"]["type"] == "bpe" and study["distillation"]["compute_type"] == "float16"
    grid = study["vocabulary_map"]["grid"]
    rows = [(1, 1, 50), (2, 1, 50), (2, 1, 100), (2, 1, 150), (2, 2, 50), (2, 2, 100), (2, 2, 150), (3, 1, 50)]
    assert all(n in grid["max_ngram"] and f in grid["min_frequency"] and m in grid["meanings"] for n, f, m in rows)

    study = config.load(CONFIGS / "marian-wnmt2018.yaml")
    found = systems(study)
    assert all(system.training["patience"] == 20 and system.training["average_last"] == 1 for system in found)
    learned = {system.name: system.mixture for system in found if system.role == "student"}
    assert learned == dict.fromkeys(["base", "big", "small", "tiny-256", "tiny-192"], "distilled")
    assert study["mixtures"]["distilled"]["targets"] == "interpolated" and study["distillation"]["n_best"] == 8
    assert [(system.name, system.start_from) for system in found if system.start_from] == [("big", "big-1")]
    sizes = {system.student: shape(system.shape).parameters(36000) * 4 >> 20 for system in found}
    assert {name: sizes[name] for name in ("big-1", "big", "base", "small")} == {
        "big-1": 813, "big": 813, "base": 238, "small": 101
    }  # fmt: skip
    assert set(study["decoding"]["beam_sizes"]) == {1, 2, 4, 8}


def test_offline_needs_no_file():
    assert all(corpus["builtin"] for corpus in config.load(CONFIGS / "offline.yaml")["corpora"].values())


def test_extends_merges_chains_and_deletes(tmp_path):
    saved(tmp_path, DEMO, "base.yaml")
    saved(tmp_path, {"extends": "base.yaml", "seed": 7, "vocabulary": {"sentences": 9}}, "middle.yaml")
    top = {"extends": "middle.yaml", "corpora": {"captions": None}, "decoding": {"beam_sizes": [2]}}
    effective = config.load(saved(tmp_path, top, "top.yaml"))
    assert effective["seed"] == 7
    assert (effective["vocabulary"]["pieces"], effective["vocabulary"]["sentences"]) == (4000, 9)
    assert "captions" not in effective["corpora"]
    assert effective["decoding"]["beam_sizes"] == [2]
    assert list(effective["corpora"]) == ["multi30k", "val", "test_2016_flickr"]


def test_hash_is_of_the_content_not_of_the_order(tmp_path):
    effective = config.load(CONFIGS / "demo.yaml")
    mirrored = dict(reversed(effective.items()))
    assert config.config_hash(mirrored) == config.config_hash(effective)
    assert config.config_hash(effective | {"seed": 2}) != config.config_hash(effective)
    assert len(config.config_hash(effective)) == 12


# The schema itself


def described(schema, path="") -> list[tuple[str, dict, bool]]:
    """All keys of the schema: path, schema, and whether it may be left out."""
    keys = []
    for key, entry in schema.get("properties", {}).items():
        sub = config._resolved(entry)
        keys.append((f"{path}{key}", sub, key not in schema.get("required", [])))
        keys += described(sub, f"{path}{key}.")
    if isinstance(others := schema.get("additionalProperties"), dict):
        keys += described(config._resolved(others), f"{path}*.")
    return keys


def test_every_key_has_a_description_and_a_valid_default():
    schema = config._schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    keys = described(schema)
    assert len(keys) > 70
    for path, entry, optional in keys:
        assert entry.get("description", "").endswith("."), path
        assert ("default" in entry) == optional, path
        if optional and not ("$ref" in entry and entry["default"] is None):  # absent, there is no such part
            jsonschema.validate(entry["default"], entry | {"$defs": schema["$defs"]}, jsonschema.Draft202012Validator)


def test_every_mapping_is_closed():
    for path, entry, _ in described(config._schema()):
        if "object" in str(entry.get("type")):
            assert "additionalProperties" in entry, path


def test_languages_are_those_of_langid():
    identifier = langid.LanguageIdentifier.from_modelstring(langid.model)
    assert config._schema()["$defs"]["language"]["enum"] == sorted(identifier.nb_classes)


# What is wrong

ZEROS = "0" * 64
FILES = {"file": "x/{lang}.gz", "sha256": {"en": ZEROS, "de": ZEROS}}
WHEEL = {"name": "a", "version": "1", "sha256": ZEROS, "member": "a.db"}
SHAPE = {"encoder_layers": 1, "decoder_layers": 1, "units": 10, "ffn_units": 8, "heads": 4}

SPEED = {"systems": ["deep", "dep"], "untrained": ["wngt2020-base", "wngt2020-bse", "wnmt2018-rnn-tiny"]}

WRONG = [
    ("speed", SPEED, "speed.systems.1: 'dep' is not one of the systems teacher, deep, deep-original, tiny"),
    ("speed", SPEED, "speed.untrained.1: unknown shape 'wngt2020-bse'; did you mean wngt2020-base?"),
    ("speed", SPEED, "speed.untrained.2: wnmt2018-rnn-tiny is recurrent, and CTranslate2 has no such models"),
    ("decoding.beam_sizes", "four", "decoding.beam_sizes: 'four' is not of type 'array'"),
    ("decoding.beam_sizes", [1, "four"], "decoding.beam_sizes.1: 'four' is not of type 'integer'"),
    ("decoding.beam_sizes", [0], "decoding.beam_sizes.0: 0 is less than the minimum of 1"),
    ("decoding.beam", [1], "unknown key decoding.beam; did you mean decoding.beam_sizes?"),
    ("studdents", {}, "unknown key studdents; did you mean students?"),
    ("qqq", 1, "unknown key qqq"),
    ("seed", True, "seed: True is not of type 'integer'; put quotes around it if it is a word"),
    ("teachers.teacher.training.steps", 1600.0, "1600.0 is not of type 'integer'"),
    ("teachers.teacher.training.learning_rate", "1e-3", "'1e-3' is not of type 'number'; write 0.001 without quotes"),
    ("teachers.teacher.shape.units", DELETED, "teachers.teacher.shape: units missing; a Transformer needs"),
    ("target", DELETED, "target is missing"),
    ("target", "dee", "target: unknown language 'dee'; did you mean de"),
    ("target", "deu", "target: unknown language 'deu'; did you mean de?"),
    ("target", "de-AT", "target: unknown language 'de-AT'; did you mean de?"),
    ("target", "qqq", "target: unknown language 'qqq'; known: af am an"),
    ("target", False, "target: unknown language False"),
    ("target", "en", "target: 'en' is the source language too"),
    ("study", "a/b", "study: 'a/b' does not have the form"),
    ("study", "..", "study: '..' does not have the form"),
    ("study", "reference", "study: 'reference' is taken"),
    ("corpora.val.role", "train", "corpora: none has the role dev"),
    ("corpora.multi30k.role", "monolingual", "corpora: none has the role train"),
    ("corpora.val.cleaning", {"max_tokens": 5}, "corpora.val.cleaning: dev sets are never filtered"),
    (
        "corpora.val.url",
        DELETED,
        "corpora.val: needs exactly one source of file, url, package, mtdata, sacrebleu, builtin",
    ),
    ("corpora.val.url", DELETED, "builtin; it has none"),
    (
        "corpora.val.builtin",
        {"split": "a", "sentences": 1},
        "; it has url and builtin",
    ),
    ("corpora.val.url", ["http://h/x.gz"], "corpora.val.url.0: http://h/x.gz has no {lang} in it"),
    ("corpora.val.url", [["http://h/{lang}", "http://h/x.gz"]], "corpora.val.url.0: http://h/x.gz has no {lang} in it"),
    ("corpora.val.url", ["ftp://{lang}"], "corpora.val.url.0: 'ftp://{lang}' does not"),
    ("corpora.val.url", [["http://h/{lang}", "h"]], "corpora.val.url.0.1: 'h' does not"),
    ("corpora.val.url", [], "corpora.val.url: [] should be non-empty"),
    ("corpora.val.url", "http://h/{lang}", "corpora.val.url: 'http://h/{lang}' is not of type 'array', 'null'"),
    ("corpora.val.sha256", {"en": "1"}, "corpora.val.sha256.en: '1' does not have the form"),
    ("corpora.val.sha256", "1", "corpora.val.sha256: '1' does not have the form"),
    (
        "corpora.val.format",
        "csv",
        "corpora.val.format: 'csv' is not one of ['lines', 'tsv', 'tmx',",
    ),
    ("corpora.val.invalid", "skip", "corpora.val.invalid: 'skip' is not one of ['error', 'drop']"),
    ("corpora.val.columns", {"en": 0, "de": 1}, "corpora.val.columns: is for the format tsv, this is lines"),
    ("corpora.x", {"role": "train", "file": "x.tsv", "columns": {"en": 3}}, "corpora.x.columns: no column for de"),
    ("corpora.x", {"role": "train", "file": "x.tsv", "sha256": FILES["sha256"]}, "in one file; give one checksum"),
    ("corpora.x", {"role": "train", "file": "{lang}", "sha256": ZEROS}, "corpora.x.sha256: lines has a file for each"),
    ("corpora.x", {"role": "train", "package": WHEEL}, "corpora.x.query is missing; the format sqlite needs it"),
    (
        "corpora.x",
        {"role": "train", "file": "x.db", "query": "q", "names": {"en": 4}},
        "corpora.x.names: no name for de",
    ),
    (
        "corpora.x",
        {"role": "train", "file": "{lang}.tsv"},
        "corpora.x.file: {lang}.tsv has {lang} in it, but its format",
    ),
    ("corpora.x", {"role": "train", "mtdata": "a", "member": "b"}, "corpora.x.member: mtdata says this itself"),
    ("corpora.x", {"role": "train", "sacrebleu": "a", "format": "tsv"}, "corpora.x.format: sacrebleu says this itself"),
    ("corpora.x", {"role": "train", "package": {"name": "a"}}, "corpora.x.package.version is missing"),
    ("corpora.x", {"role": "train", "url": DEMO["corpora"]["val"]["url"]}, "corpora.x: is the text of corpora.val"),
    ("corpora.a b", {"role": "test", **FILES}, "corpora: 'a b' does not have the form"),
    ("corpora.multi30k.weight", 0, "corpora.multi30k.weight: 0 is not greater than 0"),
    ("corpora.multi30k.weight", -1, "corpora.multi30k.weight: -1 is not greater than 0"),
    ("control", "deep", "unknown key control"),
    ("students.teacher", {"shape": "marian-small"}, "students: two systems have the name teacher"),
    ("students.deep-original", {"shape": "marian-small"}, "students: two systems have the name deep-original"),
    (
        "students.tiny.mixtures",
        ["best"],
        "students.tiny.mixtures.0: 'best' is not one of the mixtures distilled, original",
    ),
    ("students.tiny.training", {"stepps": 3}, "students.tiny.training: unknown key stepps; did you mean steps?"),
    (
        "students.tiny.training",
        {"steps": 3, "epochs": 2},
        "students.tiny.training: needs either steps or epochs; it has both",
    ),
    ("student_training.steps", None, "student_training: needs either steps or epochs; it has neither"),
    ("student_training.batch_sentences", 64, "needs either batch_tokens or batch_sentences; it has both"),
    (
        "teachers.teacher.training.batch_tokens",
        None,
        "teachers.teacher.training: needs either batch_tokens or batch_sentences; it has neither",
    ),
    ("students.tiny.start_from", "nobody", "students.tiny.start_from: 'nobody' is not a teacher that is trained here"),
    ("students.tiny.start_from", "teacher", "students.tiny.start_from: teacher has another shape, so its weights do n"),
    ("vocabulary.type", "word", "vocabulary.type: 'word' is not one of ['unigram', 'bpe']"),
    ("student_training.then", [{"accumulate": 16}], "student_training.then.0: needs either steps or epochs"),
    ("students.tiny.shape", "marian-smal", "unknown shape 'marian-smal'; did you mean marian-small?"),
    ("students.tiny.shape", {"like": "marian-small", "cell": "gru"}, "students.tiny.shape: ffn_units, heads: not of a"),
    ("prices", {"machine": "abacus"}, "prices.machine: 'abacus' is none of m5.large, "),
    ("prices", {"machine": without("address")}, "prices.machine.address is missing"),
    ("prices", {"machine": OWN_MACHINE | {"date": "2026"}}, "prices.machine.date: '2026' does not have the form"),
    ("prices", {"machine": OWN_MACHINE | {"date": datetime.date(2026, 7, 20)}}, "put quotes around it"),
    ("prices", {"machine": OWN_MACHINE | {"usd_per_hour": 0}}, "usd_per_hour: 0 is not greater than 0"),
    ("prices", {"machine": OWN_MACHINE | {"memory": 8}}, "unknown key prices.machine.memory"),
    ("teachers", DELETED, "mixtures.distilled.targets: best needs teachers; without any all targets are original"),
    ("teachers", {}, "mixtures.distilled.targets: best needs teachers; without any all targets are original"),
    (
        "teachers.teacher.ctranslate2",
        "x",
        "teachers.teacher: needs exactly one of shape, checkpoint, ctranslate2, conv",
    ),
    ("teachers.x", {"ctranslate2": "x", "seed": 3}, "teachers.x.seed: is for a teacher that is trained here"),
    ("teachers.x", {"shape": "marian-small"}, "teachers.x.training is missing"),
    ("teachers.teacher.shape", "wnmt2018-rnn-tiny", "teachers.teacher.shape.cell: CTranslate2 has no recurrent models"),
    (
        "teachers.x",
        {"ctranslate2": "x", "tokenization": {"bpe": "a", "sentencepiece": "b"}},
        "has both sentencepiece and",
    ),
    ("vocabulary.of", "best", "vocabulary.of: 'best' is not one of the mixtures distilled, original"),
    (
        "vocabulary.of",
        "distilled",
        "vocabulary.of: distilled is made by teacher, which splits text with this vocabulary itself; take a teacher",
    ),
    ("corpora.val.sample", 5, "corpora.val.sample: dev sets are taken whole, or up to max_lines"),
    ("corpora.multi30k.sample", 30_000, "corpora.multi30k.sample: 30,000 lines of 29,000; take fewer, or all"),
    ("reverse_teacher", {"shape": "marian-small"}, "reverse_teacher.shape: is not trained here"),
    ("distillation.n_best", 8, "distillation.n_best: 8 hypotheses need a beam as wide; beam_size is 4"),
    ("mixtures.x", {"targets": "interpolated"}, "mixtures.x.targets: interpolated chooses among hypotheses"),
    ("mixtures.x", {"teacher": "nobody"}, "mixtures.x.teacher: 'nobody' is not one of the teachers teacher"),
    (
        "mixtures.x",
        {"weights": {"val": 1}},
        "mixtures.x.weights.val: is not a corpus with the role train or monolingual",
    ),
    (
        "mixtures.x",
        {"targets": "original", "weights": {"captions": 1}},
        "captions: is not a corpus with the role train",
    ),
    ("mixtures.x", {"drop_worst": 5, "drop_by": "reverse"}, "mixtures.x.drop_by: reverse needs a reverse_teacher"),
    ("mixtures.original.drop_worst", 5, "mixtures.original.drop_worst: original targets have no scores"),
    ("mixtures.original.targets", "best", "mixtures.original.targets: this name is that of the teachers' data"),
    ("students.odd", {"shape": SHAPE}, "students.odd.shape: units 10 is not a multiple of heads 4"),
    ("teachers.teacher.shape", SHAPE, "teachers.teacher.shape: units 10 is not a multiple of heads 4"),
    (
        "decoding.compute_types",
        ["int8", "float8"],
        "decoding.compute_types.1: 'float8' is not supported on this CPU; supported: float32, int16, int8, float16,",
    ),
    (
        "distillation.compute_type",
        "int4",
        "distillation.compute_type: 'int4' is not supported on this CPU; supported: float32, int16, int8, float16",
    ),
]


@pytest.mark.parametrize(("key", "value", "message"), WRONG, ids=[f"{n}-{wrong[0]}" for n, wrong in enumerate(WRONG)])
def test_wrong_value(tmp_path, key, value, message):
    path = saved(tmp_path, edited(key, value))
    with pytest.raises(UserError) as error:
        config.load(path)
    assert f"{path}: " in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("study", "message"),
    [
        ("study: [", "line 1: not YAML"),
        ("a: 1\nb: 2\na: 3\n", "line 3: not YAML: key 'a' is there twice"),
        ("- a\n- b\n", "not a mapping of keys to values"),
        ("", "not a mapping of keys to values"),
        ("extends: 3", "extends: 3 is not the name of a file"),
        ("extends: none.yaml", "none.yaml: no such file"),
        ("extends: x.yaml", "x.yaml is its own base"),
        ("a: \x00", "not YAML in UTF-8"),
    ],
)
def test_wrong_file(tmp_path, study, message):
    with pytest.raises(UserError) as error:
        config.load(saved(tmp_path, study))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_all_problems_are_told_at_once(tmp_path):
    study = edited("control", "big") | {"seed": "x"}
    with pytest.raises(UserError) as error:
        config.load(saved(tmp_path, study))
    assert len(str(error.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("asked", "expected"),
    [({}, None), ({"machine": "m7i.large"}, prices()["m7i.large"]), ({"machine": OWN_MACHINE}, OWN_MACHINE)],
    ids=["none", "listed", "own"],
)
def test_a_machine_is_its_entry_in_the_list_or_one_like_it(tmp_path, asked, expected):
    assert config.load(saved(tmp_path, edited("prices", asked)))["prices"] == {"machine": expected}


def test_a_listed_price_says_where_it_is_from(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "prices", lambda: {"abacus": without("date")})
    config.listed_prices.cache_clear()
    with pytest.raises(UserError, match=r"prices.yaml: abacus.date is missing"):
        config.load(saved(tmp_path, edited("prices", {})))
    config.listed_prices.cache_clear()


def test_speed_needs_systems_that_ctranslate2_has(tmp_path):
    study = edited("speed", {"systems": ["rnn"], "untrained": ["wngt2020-base"]})
    study["students"] |= {"rnn": {"shape": "wnmt2018-rnn-tiny"}, "wngt2020-base-untrained": {"shape": "wngt2020-4-3"}}
    with pytest.raises(UserError) as error:
        config.load(saved(tmp_path, study))
    _, *problems = str(error.value).replace(f"{tmp_path}/x.yaml: ", "\n").split("\n")
    assert [problem for problem in problems if problem] == [
        "students: two systems have the name wngt2020-base-untrained",
        "speed.systems.0: rnn is recurrent, and CTranslate2 has no such models",
    ]


@pytest.mark.parametrize(
    ("asked", "saturates", "chosen"),
    [
        ({}, False, "int8"),
        ({}, True, "float32"),
        ({"compute_type": None}, True, "float32"),
        ({"compute_type": "int8"}, True, "int8"),
        ({"device": "cuda"}, True, "float16"),
        ({"device": "cuda", "compute_type": "int8"}, False, "int8"),
    ],
)
def test_teachers_compute_in_what_is_exact_here(tmp_path, monkeypatch, asked, saturates, chosen):
    monkeypatch.setattr(config, "int8_saturates", lambda: saturates)
    study = config.load(saved(tmp_path, edited("distillation", asked)))
    assert study["distillation"]["compute_type"] == chosen
    as_said = config.load(saved(tmp_path, edited("distillation", asked | {"compute_type": chosen})))
    assert config.config_hash(study) == config.config_hash(as_said)


def test_a_study_goes_on_with_the_type_it_began_with(tmp_path, monkeypatch):
    path = saved(tmp_path, edited("distillation", {}))
    begun = config.load(path)
    config.note_teachers_type(begun)
    monkeypatch.setattr(config, "int8_saturates", lambda: True)  # a node of a cluster, or another machine
    assert config.load(path) == begun
    told = config.load(saved(tmp_path, edited("distillation", {"compute_type": "float32"})))
    assert told["distillation"]["compute_type"] == "float32"


@pytest.mark.parametrize(
    ("asked", "warned"), [("int8", True), ("int8_float32", True), ("float32", False), (None, False)]
)
def test_a_type_that_saturates_is_taken_with_a_warning(tmp_path, monkeypatch, asked, warned):
    monkeypatch.setattr(config, "int8_saturates", lambda: True)
    monkeypatch.setattr(config, "warning", lambda what: f"warning: {what}: x")
    study = config.load(saved(tmp_path, edited("distillation.compute_type", "int8")))
    study["distillation"]["compute_type"] = asked or config._teachers_type(study)
    assert list(config.warnings(study)) == (["warning: distillation.compute_type: x"] if warned else [])


def test_a_type_this_cpu_lacks(monkeypatch):
    monkeypatch.setattr(config.ctranslate2, "get_supported_compute_types", lambda _: {"float32", "int8"})
    monkeypatch.setattr(config, "has_onemkl", lambda: True)
    assert "int16" in config.load(CONFIGS / "demo.yaml")["decoding"]["compute_types"]  # outside Intel, too
    monkeypatch.setattr(config, "has_onemkl", lambda: False)
    with pytest.raises(
        UserError, match=r"types\.1: 'int16' is not supported on this CPU; supported: float32, int8, float16"
    ):
        config.load(CONFIGS / "demo.yaml")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"target": "cs"}, "corpora.dev.builtin: the grammar has no cs, only de, fr"),
        ({"source": "cs"}, "corpora.dev.builtin: the grammar is from English, not from cs"),
        (
            {"corpora": {"test2": {"role": "test", "builtin": {"split": "train", "sentences": 9}}}},
            "corpora.test2.builtin.split: is the text of corpora.grammar",
        ),
    ],
)
def test_wrong_builtin(tmp_path, edit, message):
    path = saved(tmp_path, {"extends": str(CONFIGS / "offline.yaml")} | edit)
    with pytest.raises(UserError) as error:
        config.load(path)
    assert message in str(error.value)


def mappings(value, path=()):
    """All closed mappings of the default study, by path: those whose keys are not names the user chose."""
    if isinstance(value, dict):
        if path not in ((), ("corpora",), ("students",), ("teachers",), ("mixtures",)) and path[-1:] != ("sha256",):
            yield path
        for key, item in value.items():
            yield from mappings(item, (*path, key))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(mappings(DEMO))), st.data())
def test_a_slip_of_the_key_is_understood(tmp_path, path, data):
    study = copy.deepcopy(DEMO)
    at = study
    for part in path:
        at = at[part]
    key = data.draw(st.sampled_from(sorted(key for key, value in at.items() if value is not None)))  # null: no key
    letter = data.draw(st.integers(1, len(key)))
    slip = key[:letter] + "q" + key[letter:]
    at[slip] = at.pop(key)
    with pytest.raises(UserError) as error:
        config.load(saved(tmp_path, study))
    dotted = ".".join(path)
    assert f"unknown key {dotted}.{slip}; did you mean {dotted}.{key}?" in str(error.value)


def test_teachers_from_elsewhere_are_looked_for(tmp_path):
    (tmp_path / "there").mkdir()
    wmt19 = {"from": "fairseq", "options": {"model_path": "m.pt", "source_lang": "en", "vocab_paths": ["a", "b"]}}
    study = edited("teachers.a", {"ctranslate2": str(tmp_path / "there")})
    study["teachers"]["b"] = {"converted": wmt19, "tokenization": {"bpe": "codes"}}
    study["reverse_teacher"] = {
        "converted": {"from": "transformers", "options": {"model": "Helsinki-NLP/opus-mt-de-en"}}
    }
    found = absent_teachers(config.load(saved(tmp_path, study)))
    assert found == ["b: no m.pt", "b: no a", "b: no b", "b: no codes"]


def test_a_vocabulary_of_translations_needs_teachers_with_another_one(tmp_path):
    study = edited("vocabulary.of", "distilled")
    study["teachers"] = {"a": {"ctranslate2": "x"}}
    with pytest.raises(UserError, match=r"distilled is made by a, which .* itself; give it a tokenization of its own"):
        config.load(saved(tmp_path, study))
    study["teachers"]["a"]["tokenization"] = {"bpe": "codes"}
    study["students"]["tiny"]["training"] = {}
    assert config.load(saved(tmp_path, study))["vocabulary"]["of"] == "distilled"
    study["mixtures"]["distilled"] = {"drop_worst": 5, "drop_by": "reverse"}
    study["reverse_teacher"] = {"ctranslate2": "y"}
    with pytest.raises(UserError, match="distilled is made by reverse_teacher"):
        config.load(saved(tmp_path, study))


def test_the_environment_of_a_converter_is_looked_for(tmp_path):
    converted = {"from": "fairseq", "environment": str(tmp_path / "none")}
    study = edited("teachers.a", {"converted": converted, "tokenization": {"bpe": __file__}})
    (found,) = absent_teachers(config.load(saved(tmp_path, study)))
    assert found.startswith(
        f"a: no {tmp_path}/none; make it: python3.10 -m venv {tmp_path}/none && {tmp_path}/none/bin/pip"
    )


def test_a_mixture_is_made_of_the_translations_of_one_teacher_or_of_all():
    study = config.load(CONFIGS / "multi30k.yaml")
    assert learned_from(study, "distilled") == ["narrow"] and learned_from(study, "original") == []
    study["mixtures"]["distilled"]["teacher"] = None
    assert learned_from(study, "distilled") == ["wide", "narrow"]


def test_corpus_entry_alone():
    entry = config.corpus({"role": "test", **FILES})
    assert (entry["weight"], entry["builtin"], entry["url"]) == (1, None, None)
    with pytest.raises(UserError, match="corpus: role is missing"):
        config.corpus(FILES)
    with pytest.raises(UserError, match=r"corpus: unknown key urls; did you mean url\?"):
        config.corpus({"role": "test", "urls": ["x"]})


def test_command_prints_yaml_or_one_line(tmp_path):
    command = [sys.executable, "-m", "distill.config"]
    everywhere = {"decoding": {"compute_types": ["float32"]}, "distillation": {"compute_type": "float32"}}
    study = saved(tmp_path, {"extends": str(CONFIGS / "demo-fr.yaml")} | everywhere)
    done = subprocess.run([*command, study], capture_output=True, text=True, check=True)
    assert yaml.safe_load(done.stdout) == config.load(study)
    done = subprocess.run([*command, saved(tmp_path, edited("seed", "x"))], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"error: {tmp_path}/x.yaml: seed: 'x' is not of type 'integer'\n"
