"""Every mistake in a configuration is one message with its place."""

import copy
import functools

import pytest
from config_mistakes import HTTP, TARGET_ONLY, WRONG
from configurations import CONFIGS, DEMO, edited, machine, saved  # noqa: F401 (a fixture)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt_frontier.errors import UserError
from study import config


def refused(path):
    """The message for a study that cannot be loaded."""
    with pytest.raises(UserError) as error:
        config.load(path)
    return str(error.value)


@pytest.mark.parametrize(("key", "value", "message"), WRONG, ids=[f"{n}-{wrong[0]}" for n, wrong in enumerate(WRONG)])
def test_wrong_value(tmp_path, key, value, message):
    path = saved(tmp_path, edited(key, value))
    error = refused(path)
    assert f"{path}: " in error
    assert (f"{path}: {key}{message}" if message[0] in ".:" else message) in error


@pytest.mark.parametrize(
    ("study", "message"),
    [
        ("study: [", "line 1: not YAML"),
        ("a: 1\nb: 2\na: 3\n", "line 3: not YAML: key 'a' is there twice"),
        ("a: 1.5\nb: 1_0\n", "line 2: not YAML: 1_0 is 10 in YAML; write 10, or quotes around it"),
        ("a: 017\n", "line 1: not YAML: 017 is 15 in YAML"),
        ("a: 1:30.5\n", "line 1: not YAML: 1:30.5 is 90.5 in YAML"),
        ("- a\n- b\n", "not a mapping of keys to values"),
        ("", "not a mapping of keys to values"),
        ("extends: 3", "extends: 3 is not the name of a file"),
        ("extends: none.yaml", "extends: no file"),
        ("extends: x.yaml", "x.yaml is its own base"),
        ("a: \x00", "not YAML in UTF-8"),
    ],
)
def test_wrong_file(tmp_path, study, message):
    error = refused(saved(tmp_path, study))
    assert message in error and "\n" not in error


def test_bpe_has_no_probabilities_to_sample_by(tmp_path):
    study = edited("student_training.sampling", {"alpha": 0.5}) | {"vocabulary": {"type": "bpe", "pieces": 4000}}
    assert "training.sampling: needs the probabilities of a vocabulary of type unigram; bpe has none" in refused(
        saved(tmp_path, study)
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("mixtures.back", None, "back_translation: no mixture has such a corpus among its weights, so nothing learns"),
        ("mixtures.distilled.weights", {"x": 1}, "weights.x: is not a corpus with the role train or monolingual"),
        ("mixtures.back.augmentation", {"both_sides": {"url": 0.1}},
         "mixtures.back.augmentation: would change <BT> and <mask>, too; leave one of both out"),
        ("mixtures.original.weights", {"multi30k": 1, "x": 1},
         "back_translation.teacher.mixture: original has x, which this teacher translates; name a mixture without it"),
        ("back_translation.teacher", {"http": {"address": "http://localhost:8000/v1", "model": "m"}},
         "back_translation.teacher.http: a backward teacher is trained here, or a model in files"),
        ("back_translation.teacher", {"shape": "marian-small"}, "back_translation.teacher.training is missing"),
        ("back_translation.teacher", {"shape": "marian-smal"}, "back_translation.teacher.shape: unknown shape"),
        ("back_translation.tag", "<B T>", "back_translation.tag: '<B T>' does not have the form"),
        ("back_translation.tag", "<s>", "back_translation.tag: "),
        ("back_translation.tag", "<mask>", "back_translation.tag: <mask> is what noise writes for a word"),
        ("back_translation.noise", {"delete": 2}, "back_translation.noise.delete: 2 is greater than the maximum of 1"),
        ("distillation.engine", "ctranslate2", "back_translation.sampling: CTranslate2 draws no samples here: "),
        ("mixtures.original.augmentation", {"both_sides": {"url": 0.1}, "places": "aligned"},
         "mixtures.original.augmentation.places: aligned needs translations by backward, trained on this mixture"),
        ("vocabulary.of", "back", "vocabulary.of: back is made by backward, which splits text with this vocabulary"),
        ("students.backward", {"shape": "marian-small"}, "name backward (that of back_translation is backward)"),
    ],
)  # fmt: skip
def test_mistakes_in_back_translation(tmp_path, key, value, message):
    study = edited("corpora.x", TARGET_ONLY)
    teacher = copy.deepcopy(study["teachers"]["teacher"])
    study["back_translation"] = {"teacher": teacher, "sampling": {}, "noise": {}, "tag": "<BT>"}
    study["teachers"]["teacher"]["mixture"] = "back"
    study["mixtures"]["back"] = {"targets": "original", "weights": {"multi30k": 1, "x": 2}}
    config.load(saved(tmp_path, study))
    *above, last = key.split(".")
    part = study
    for name in above:
        part = part[name]
    part[last] = value
    assert message in refused(saved(tmp_path, study))


def test_all_problems_are_reported_at_once(tmp_path):
    assert len(refused(saved(tmp_path, edited("control", "big") | {"seed": "x"})).splitlines()) == 2


def test_speed_needs_systems_that_another_engine_than_the_toolkit_has(tmp_path):
    study = edited("speed", {"systems": ["rnn"], "untrained": ["wngt2020-base"]})
    study["vocabulary_map"] = {"system": "rnn"}
    odd = {"like": "wnmt2018-rnn-tiny", "units": 24}  # the native engine computes with vectors of 16
    study["students"] |= {"rnn": {"shape": odd}, "wngt2020-base-untrained": {"shape": "wngt2020-4-3"}}
    _, *problems = refused(saved(tmp_path, study)).replace(f"{tmp_path}/x.yaml: ", "\n").split("\n")
    assert [problem for problem in problems if problem] == [
        "students: two systems have the name wngt2020-base-untrained",
        "speed.systems.0: rnn is decoded by OpenNMT-tf alone; these tables compare it with other engines",
        "vocabulary_map.system: rnn is decoded by OpenNMT-tf alone; it has no map",
    ]


GIVEN = {"shape": None, "training": None, "ctranslate2": "/there"}


@pytest.mark.parametrize(
    ("distillation", "second", "message"),
    [
        ({}, {}, None),
        ({}, {"shape": {"decoder": "ssru"}}, None),  # shapes may differ
        ({"engine": "ctranslate2"}, {},
         ".ensemble: CTranslate2 decodes with one model: distillation: {engine: native}; or take rescoring"),
        ({"device": "cuda"}, {},
         ".ensemble: CTranslate2 decodes with one model, but native does not run on cuda; or take rescoring"),
        ({}, GIVEN,  # of an architecture that is not known yet
         ".ensemble: CTranslate2 decodes with one model: distillation: {engine: native}; or take rescoring"),
        ({"engine": "native"}, GIVEN, None),
        ({"engine": "native"}, GIVEN | {"tokenization": {"sentencepiece": "x.model"}},
         ".ensemble: token_by_token needs teachers of one vocabulary, but second has another tokenization or prefix "
         "than teacher; take rescoring"),
    ],
)  # fmt: skip
def test_teachers_that_cannot_translate_together(tmp_path, distillation, second, message):
    study = edited("mixtures.distilled.ensemble", "token_by_token")
    study["distillation"] |= distillation
    shape = study["teachers"]["teacher"]["shape"] | (second.get("shape") or {})
    study["teachers"]["second"] = (
        study["teachers"]["teacher"] | second | ({} if "ctranslate2" in second else {"shape": shape})
    )
    path = saved(tmp_path, study)
    if message:
        assert refused(path) == f"{path}: mixtures.distilled{message}"
    else:
        config.load(path)


NOT_NATIVE = "students.tiny.words: CTranslate2 does not tell the most probable pieces"
OTHER_PIECES = "students.tiny.words: needs teachers with the pieces of the study, but "


@pytest.mark.parametrize(
    ("words", "changed", "message"),
    [
        ({}, {}, None),
        ({"teacher": "teacher"}, {"teachers.second": GIVEN | {"tokenization": {"bpe": "x"}}}, NOT_NATIVE),
        ({"teacher": "teacher"}, {"teachers.second": GIVEN | {"tokenization": {"bpe": "x"}},
                                  "distillation.engine": "native"}, None),
        ({}, {"distillation.engine": "ctranslate2"}, f"{NOT_NATIVE}: distillation: {{engine: native}}"),
        ({}, {"distillation.device": "cuda"}, f"{NOT_NATIVE}, but native does not run on cuda"),
        ({}, {"teachers.second": GIVEN | {"tokenization": {"bpe": "x"}}, "distillation.engine": "native"},
         f"{OTHER_PIECES}second has a tokenization of its own"),
        ({"teacher": "second"},
         {"teachers.second": GIVEN | {"prefix": {"target": "x"}}, "distillation.engine": "native"},
         f"{OTHER_PIECES}second has a prefix"),
        ({"teacher": "second"}, {"teachers.second": {"http": {"address": "http://x", "model": "m"}},
                                 "mixtures.distilled.teacher": "teacher"},
         f"{OTHER_PIECES}second answers over HTTP, in text"),
        ({}, {"students.tiny.training": {"sampling": {"alpha": 0.5}}},
         "students.tiny.words: is of one segmentation of a text, which training.sampling changes; leave one out"),
        ({}, {"mixtures.distilled.augmentation": {"both_sides": {"url": 0.1}}},
         "students.tiny.words: a teacher knows nothing of pairs that are changed, as in mixtures.distilled.augmen"),
        ({}, {"mixtures.distilled.augmentation": {"meant": {"typos": 0.1}}},
         "students.tiny.words: a teacher knows nothing of pairs that are changed, as in mixtures.distilled.augmen"),
        ({}, {"mixtures.distilled.augmentation": {"source": {"typos": 0.1}}}, None),  # which the teacher read
    ],
)  # fmt: skip
def test_teachers_that_cannot_teach_word_by_word(tmp_path, words, changed, message):
    study = edited("students.tiny.words", words)
    study["students"]["tiny"] |= {"mixtures": ["distilled"]}
    for key, value in changed.items():
        *above, last = key.split(".")
        part = study
        for name in above:
            part = part[name]
        if key == "teachers.second" and "http" not in value:
            value = value | {"shape": None}
        part[last] = value
    path = saved(tmp_path, study)
    if message:
        assert refused(path).startswith(f"{path}: {message}")
    else:
        config.load(path)


CHAIN = {"deep": ["distilled"], "tiny": ["middle"]}  # the mixtures of each student
FROM_ORIGINAL = CHAIN | {"deep": ["original"]}, "deep-original"
GUIDED = {"alignment": "guided"}


@pytest.mark.parametrize(
    ("mixtures", "teacher", "changed", "message"),
    [
        (CHAIN, "deep", {}, None),
        (CHAIN, "deep-original", {},
         "mixtures.middle.teacher: 'deep-original' is not one of the teachers teacher or of the students deep, tiny-m"),
        ({"deep": ["middle"], "tiny": ["distilled"]}, "tiny", {},
         "students.deep.mixtures: middle has translations by tiny, which is no earlier student"),
        (CHAIN | {"deep": ["distilled", "middle"]}, "deep", {},
         "students.deep.mixtures: middle has translations by deep, which is no earlier student"),
        (CHAIN, "deep", {"vocabulary.of": "middle"},
         "vocabulary.of: middle is made by deep, which splits text with this vocabulary itself; take a teacher from "
         "elsewhere"),
        (CHAIN, "deep", {"distillation.engine": "ctranslate2", "students.deep.shape": "wnmt2018-rnn-tiny"},
         "students.deep.shape: CTranslate2 has no recurrent model; native decodes it"),
        (CHAIN, "deep", {"students.deep.training": GUIDED}, None),
        # The links that guide it come from what it translates, as the first mixture of translations is aligned.
        (*FROM_ORIGINAL, {"students.deep.training": GUIDED},
         "students.deep.training.alignment: guided by links that are made of middle, for which deep-original has to "),
        (*FROM_ORIGINAL, {"mixtures.original.augmentation": {"both_sides": {"url": 0.1}, "places": "aligned"}},
         "mixtures.original.augmentation.places: aligned needs translations by deep-original, trained on this mixture"),
    ],
)  # fmt: skip
def test_students_that_teach_others(tmp_path, mixtures, teacher, changed, message):
    study = edited("mixtures.middle", {"teacher": teacher})
    for name, names in mixtures.items():
        study["students"][name]["mixtures"] = names
    for key, value in changed.items():
        *above, last = key.split(".")
        functools.reduce(dict.__getitem__, above, study)[last] = value
    path = saved(tmp_path, study)
    if message:
        assert message in refused(path)
    else:
        config.load(path)


def test_samples_are_no_matter_of_teachers_over_http(tmp_path):
    study = edited("distillation.sampling", {"top_p": 0.9})
    study["teachers"] = {"llm": {"http": HTTP}}
    message = "distillation.sampling: all teachers answer over HTTP, which have their own samples (http.candidates"
    assert message in refused(saved(tmp_path, study))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"target": "cs"}, "corpora.dev.builtin: the grammar has no cs, only de, fr"),
        ({"source": "cs"}, "corpora.dev.builtin: the grammar is from English, not from cs"),
        ({"corpora": {"test2": {"role": "test", "builtin": {"split": "train", "sentences": 9}}}},
         "corpora.test2.builtin.split: is the text of corpora.grammar"),
    ],
)  # fmt: skip
def test_wrong_builtin(tmp_path, edit, message):
    assert message in refused(saved(tmp_path, {"extends": str(CONFIGS / "offline.yaml")} | edit))


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
    dotted = ".".join(path)
    said = f"unknown key {dotted}.{slip}; did you mean {dotted}.{key}?"
    if path[0] == "students" and "training" in path:  # which is put together with student_training first
        said = f"{dotted}: unknown key {slip}; did you mean {key}?"
    assert said in refused(saved(tmp_path, study))
