"""Configurations that are right: what is filled in, merged, hashed and printed."""

import copy
import json
import subprocess

import pytest
import warm
import yaml
from configurations import CONFIGS, DELETED, DEMO, FILES, edited, machine, saved  # noqa: F401 (a fixture)

from common.document import short
from formats.shape import shape
from nmt_frontier.errors import UserError
from study import config, expansion
from study.configuration import typed
from study.plan import StudyPlan
from study.schema import config_hash
from study.systems import learned_from, systems


def loaded(folder, study, name="x.yaml"):
    return config.load(saved(folder, study, name))


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_effective_config_is_complete_and_stable(path, tmp_path):
    effective = config.load(path)
    assert effective["study"] == path.stem
    again = config.load(saved(tmp_path, effective))
    assert again == effective
    assert config_hash(typed(again)) == config_hash(typed(effective))


def test_defaults_are_filled_in_at_every_depth():
    effective = config.load(CONFIGS / "demo.yaml")
    assert effective["mirror"] is None and effective["distillation"]["epoch_pairs"] is None
    assert effective["vocabulary"]["sentences"] == 2_000_000
    assert effective["corpora"]["val"]["cleaning"]["langid"] == []
    assert effective["students"]["tiny"]["shape"]["share_embeddings"] is False
    assert effective["student_training"]["label_smoothing"] == 0.1


@pytest.mark.parametrize("value", [DELETED, None, {}], ids=["left out", "null", "empty"])
def test_a_section_may_be_left_out_or_empty(tmp_path, value):
    assert loaded(tmp_path, edited("decoding", value))["decoding"]["runs"] == 3


def test_french_differs_from_the_default_in_names_only():
    german, french = config.load(CONFIGS / "demo.yaml"), config.load(CONFIGS / "demo-fr.yaml")
    assert {key for key in german if german[key] != french[key]} == {"study", "target"}


def test_a_student_may_have_batches_of_another_unit(tmp_path):
    training = {"batch_sentences": 64, "epochs": 2}
    trained = loaded(tmp_path, edited("students.tiny.training", training))["students"]["tiny"]["training"]
    assert [trained[key] for key in ("batch_tokens", "batch_sentences", "steps", "epochs")] == [None, 64, None, 2]


def test_a_student_starts_from_a_teacher_or_an_earlier_student_of_its_shape(tmp_path):
    twin = {"shape": DEMO["teachers"]["teacher"]["shape"], "start_from": "teacher"}
    study = edited("students", DEMO["students"] | {"twin": twin, "third": twin | {"start_from": "twin"}})
    parents = {system.name: system.start_from for system in systems(typed(config.load(saved(tmp_path, study))))}
    assert {name: parent for name, parent in parents.items() if parent} == {"twin": "teacher", "third": "twin"}


def test_a_student_may_begin_with_layers_of_a_deeper_teacher(tmp_path):
    student = {"shape": DEMO["teachers"]["teacher"]["shape"] | {"decoder_layers": 1}, "start_from": "teacher"}
    study = edited("students", {"cut": student | {"start_layers": {"encoder": [1, 1], "decoder": [0]}}})
    planned = StudyPlan(typed(config.load(saved(tmp_path, study))))
    assert planned.systems.trained["cut"].start_layers.document == {"encoder": [1, 1], "decoder": [0]}
    assert planned.training("cut").start_layers == planned.systems.trained["cut"].start_layers
    assert "start_layers" not in short(planned.training("teacher"))  # which Snakemake watches


def test_trainings_of_2018_are_as_the_papers_print_them():
    """Senellart et al., sections 2 and 4 and table 1; Junczys-Dowmunt et al., sections 2.1 to 3.1 and table 3."""
    study = config.load(CONFIGS / "opennmt-wnmt2018.yaml")
    trained = {system.name: system.training for system in systems(typed(study))}
    for name in ("teacher", "base-original"):
        training = trained[name]
        assert (training.warmup_steps, training.average_last, training.max_length) == (8000, 8, 100)
        assert training.learning_rate == pytest.approx(2 / (512 * 8000) ** 0.5, rel=1e-3)
    rnns = {name: (t.optimizer, t.learning_rate) for name, t in trained.items() if "rnn" in name}
    sgd = dict.fromkeys(["large-rnn-original", "small-rnn", "small-rnn-original"], ("sgd", 1.0))
    assert rnns == sgd | {"tiny-rnn": ("adam", 0.0002)}
    fixed = {"epochs": 10, "batch_sentences": 64, "max_length": 100, "average_last": 1, "label_smoothing": 0}
    assert all({key: getattr(trained[name], key) for key in fixed} == fixed for name in rnns)
    assert study["vocabulary"]["type"] == "bpe" and study["distillation"]["compute_type"] == "float16"
    grid = study["vocabulary_map"]["grid"]
    rows = [(1, 1, 50), (2, 1, 50), (2, 1, 100), (2, 1, 150), (2, 2, 50), (2, 2, 100), (2, 2, 150), (3, 1, 50)]
    assert all(n in grid["max_ngram"] and f in grid["min_frequency"] and m in grid["meanings"] for n, f, m in rows)

    study = config.load(CONFIGS / "marian-wnmt2018.yaml")
    planned = systems(typed(study))
    assert all(system.training.patience == 20 and system.training.average_last == 1 for system in planned)
    learned = {system.name: system.mixture for system in planned if system.role == "student"}
    students = "base big small rnn-small rnn-nematus rnn-deep base-aan small-aan small-aan-gated small-aan-plain"
    students += " tiny-256-aan-plain tiny-192-aan-plain"
    assert learned == dict.fromkeys(students.split(), "distilled")
    assert study["mixtures"]["distilled"]["targets"] == "interpolated" and study["distillation"]["n_best"] == 8
    assert [(system.name, system.start_from) for system in planned if system.start_from] == [("big", "big-1")]
    sizes = {system.student: shape(system.shape).parameters(36000) * 4 >> 20 for system in planned}
    paper = {"big-1": 813, "big": 813, "base": 238, "small": 101, "small-aan-gated": 98, "small-aan-plain": 95}
    paper |= {
        "rnn-nematus": 199,
        "tiny-256-aan-plain": 83,
        "tiny-192-aan-plain": 60,
    }  # 83.5, rounded to 84 in the paper
    assert {name: sizes[name] for name in paper} == paper
    assert set(study["decoding"]["beam_sizes"]) == {1, 2, 4, 8}


def test_offline_needs_no_file():
    assert all(corpus["builtin"] for corpus in config.load(CONFIGS / "offline.yaml")["corpora"].values())


def test_extends_merges_chains_and_deletes(tmp_path):
    saved(tmp_path, DEMO, "base.yaml")
    saved(tmp_path, {"extends": "base.yaml", "seed": 7, "vocabulary": {"sentences": 9}}, "middle.yaml")
    top = {"extends": "middle.yaml", "corpora": {"captions": None}, "decoding": {"beam_sizes": [2]}}
    effective = loaded(tmp_path, top, "top.yaml")
    assert (effective["vocabulary"]["pieces"], effective["vocabulary"]["sentences"]) == (4000, 9)
    assert (effective["seed"], effective["decoding"]["beam_sizes"]) == (7, [2])
    assert list(effective["corpora"]) == ["multi30k", "val", "test_2016_flickr"]  # without captions


def test_a_shape_by_name_replaces_that_of_the_base(tmp_path):
    saved(tmp_path, DEMO, "base.yaml")
    shapes = {"deep": {"shape": {"like": "wngt2020-4-3", "heads": 4}}, "tiny": {"shape": {"units": 64}}}
    students = config.load(saved(tmp_path, {"extends": "base.yaml", "students": shapes}, "top.yaml"))["students"]
    deep, tiny = (students[name]["shape"] for name in ("deep", "tiny"))
    assert (deep["encoder_layers"], deep["decoder_layers"], deep["units"], deep["heads"]) == (4, 3, 256, 4)
    options = [{"model": "a", "trust": True}, {"model": "b"}]
    assert expansion.merged(*({"options": each} for each in options)) == {"options": {"model": "b", "trust": True}}
    assert tiny["units"] == 64 and tiny["encoder_layers"] == DEMO["students"]["tiny"]["shape"]["encoder_layers"]


def test_null_in_an_entry_is_the_default_whatever_the_study_sets(tmp_path):
    study = copy.deepcopy(DEMO)
    study["cleaning"] = {"max_tokens": 20}
    study["corpora"]["multi30k"]["cleaning"] = {"max_tokens": None}
    study["student_training"] |= {"patience": 3, "then": [{"epochs": 1, "accumulate": None}]}
    study["students"]["deep"]["training"] = {"patience": None}
    effective = config.load(saved(tmp_path, study))
    cleaning = {name: corpus["cleaning"]["max_tokens"] for name, corpus in effective["corpora"].items()}
    assert (cleaning["multi30k"], cleaning["captions"]) == (100, 20)
    assert effective["students"]["deep"]["training"]["patience"] is None
    assert effective["students"]["tiny"]["training"]["patience"] == 3


def test_a_key_at_its_default_is_in_no_hash(tmp_path):
    """Whether it is written or not, at any depth; but 0 is not False, which Python takes for equal."""
    bare = copy.deepcopy(DEMO)
    same = copy.deepcopy(bare)
    same["decoding"]["noise"], same["student_training"]["precision"] = 0.1, None
    same["search"], same["corpora"]["val"]["weight"] = {"sentences": 500}, 1.0
    found = config_hash(config.read(saved(tmp_path, bare)))
    assert config_hash(config.read(saved(tmp_path, same))) == found
    for key, value in {"student_training.sampling": {"alpha": 0.5}, "cleaning": {"max_digit_mismatch": 0}}.items():
        assert config_hash(config.read(saved(tmp_path, edited(key, value)))) != found


def test_hash_is_of_the_content_not_of_the_order(tmp_path):
    effective = config.load(CONFIGS / "demo.yaml")
    mirrored, other = dict(reversed(effective.items())), effective | {"seed": 2}
    same, found, changed = (config_hash(typed(each)) for each in (effective, mirrored, other))
    assert same == found != changed and len(found) == 12


def test_a_vocabulary_of_translations_needs_teachers_with_another_one(tmp_path):
    study = edited("vocabulary.of", "distilled")
    study["teachers"] = {"a": {"ctranslate2": "x"}}
    with pytest.raises(UserError, match=r"distilled is made by a, which .* itself; give it a tokenization of its own"):
        config.load(saved(tmp_path, study))
    study["teachers"]["a"]["tokenization"] = {"bpe": "codes"}
    study["students"]["tiny"]["training"] = {}
    assert config.load(saved(tmp_path, study))["vocabulary"]["of"] == "distilled"


def test_text_is_put_into_originals_unless_a_teacher_of_these_translates_what_is_aligned(tmp_path):
    study = edited("mixtures.original.augmentation", {"both_sides": {"url": 0.1}, "places": "aligned"})
    study["teachers"]["other"] = {"ctranslate2": "x"}
    study["mixtures"] |= {"distilled": {"targets": "best", "teacher": "other"}, "own": {"targets": "best"}}
    assert config.load(saved(tmp_path, study))["mixtures"]["original"]["augmentation"]["places"] == "aligned"
    study["mixtures"]["distilled"]["teacher"], study["vocabulary"]["of"] = None, "original"
    with pytest.raises(UserError, match=r"needs the vocabulary, (.|\n)* needs translations by teacher, trained"):
        config.load(saved(tmp_path, study))


def test_a_mixture_is_made_of_the_translations_of_one_teacher_or_of_all():
    study = config.load(CONFIGS.parent / "tests/studies/several-teachers.yaml")
    assert learned_from(typed(study), "distilled") == ["narrow"] and learned_from(typed(study), "original") == []
    study["mixtures"]["distilled"]["teacher"] = None
    assert learned_from(typed(study), "distilled") == ["wide", "narrow"]


def test_corpus_entry_alone():
    entry = config.corpus({"role": "test", **FILES})
    assert (entry.weight, entry.builtin, entry.url) == (1, None, None)
    with pytest.raises(UserError, match="corpus: role is missing"):
        config.corpus(FILES)
    with pytest.raises(UserError, match=r"corpus: unknown key urls; did you mean url\?"):
        config.corpus({"role": "test", "urls": ["x"]})


@pytest.mark.slow
def test_command_prints_yaml_or_one_line(tmp_path):
    def run(*arguments, status=0):
        done = subprocess.run([warm.python(), "-m", "study.config", *arguments], capture_output=True, text=True)
        assert done.returncode == status
        return done

    everywhere = {"decoding": {"compute_types": ["float32"]}, "distillation": {"compute_type": "float32"}}
    study = saved(tmp_path, {"extends": str(CONFIGS / "demo-fr.yaml")} | everywhere)
    assert yaml.safe_load(run(study).stdout) == config.load(study)
    assert json.loads(run(study, "--corpus", "val").stdout) == config.load(study)["corpora"]["val"]
    assert "corpora: no none; it has multi30k, " in run(study, "--corpus", "none", status=1).stderr
    done = run(saved(tmp_path, edited("seed", "x")), status=1)
    assert done.stderr == f"error: {tmp_path}/x.yaml: seed: 'x' is not of type 'integer'\n"
