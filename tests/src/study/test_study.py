"""The plan of a study, made from its configuration alone."""

import copy
import json
import re
from argparse import ArgumentTypeError
from pathlib import Path

import pytest
from configurations import with_random_weights
from descriptions import of_type
from hypothesis import given
from hypothesis import strategies as st

from common.document import argument
from findings.comparison import BASELINE
from measure.configuration import Configuration, ModelFolder
from nmt_frontier.text.items import SYMBOLS
from study import config
from study.configuration import typed
from study.jobs import jobs
from study.plan import StudyPlan
from study.rates import shipped
from study.systems import composition
from study.workload import Work

ROOT = Path(__file__).parents[3]
CONFIGS = sorted(ROOT.glob("configs/*.yaml"))


def loaded(path):
    """A study whose teachers compute in int8 in CTranslate2, whatever is best on this machine."""
    study = with_random_weights(config.load(ROOT / path))
    study["distillation"] |= {"engine": "ctranslate2", "compute_type": "int8"}
    return study


OFFLINE, SEVERAL_TEACHERS = loaded("configs/offline.yaml"), loaded("tests/studies/several-teachers.yaml")
GRID = config.load(ROOT / "configs/opennmt-wnmt2018.yaml")["vocabulary_map"]["grid"]
RECURRENT = {"cell": "gru", "encoder_layers": 1, "decoder_layers": 1, "units": 8, "embedding_units": 8}


def plan(base=OFFLINE, change=lambda study: None, **sections):
    """The plan of a study with these changes; sections: keys that replace some of a section, or a whole value."""
    study = copy.deepcopy(base)
    for name, values in sections.items():
        study[name] = study[name] | values if isinstance(values, dict) else values
    change(study)
    return StudyPlan(typed(study))


def student(name, **keys):
    """The section of students in which this one has other values."""
    return {name: OFFLINE["students"][name] | keys}


def foreign_teacher(**keys):
    entry = copy.deepcopy(OFFLINE["teachers"]["teacher"])
    return entry | {"shape": None, "training": None, "seed": None, "checkpoint": "run"} | keys


def test_a_mixture_draws_from_changed_copies_which_equal_rules_share():
    rules, none = {"typos": 0.125, "joined": 0.125}, {"both_sides": {}, "meant": {}, "source": {}, "places": "edges"}
    plain = OFFLINE["mixtures"]["distilled"]
    augmented = {
        name: plain | {"augmentation": none | {"source": rules} | more}
        for name, more in {"one": {}, "other": {"both_sides": {"url": 0.5}}}.items()
    }
    mixtures = plan(mixtures=augmented).mixtures
    weights = mixtures.weights("one")
    assert mixtures.drawn("distilled") == weights == mixtures.drawn("original") | weights
    expected = {name: 0.75 * weight for name, weight in weights.items()}
    expected |= {f"{name}~one": 0.25 * weight for name, weight in weights.items()}
    assert mixtures.drawn("one") == mixtures.drawn("other") == expected
    assert mixtures.changed == {f"{name}~one": name for name in weights}
    assert mixtures.augmentation("one") is None and mixtures.augmentation("other").both_sides == {"url": 0.5}
    for name in weights:
        assert mixtures.text(name) == mixtures.paths.clean(name)
        assert mixtures.text(f"{name}~one").endswith(f"/corpora/changed/{name}~one.tsv.zst")
    assert mixtures.source_augmentation(f"{name}~one").source == rules


def test_a_map_is_also_made_of_pairs_changed_as_those_that_systems_learn_from():
    plain = OFFLINE["mixtures"]["distilled"]

    def augmented(both_sides=None, meant=None, source=None):
        return plain | {
            "augmentation": {
                "both_sides": both_sides or {},
                "meant": meant or {},
                "source": source or {},
                "places": "edges",
            }
        }

    mixtures = {
        "shouted": augmented({"url": 0.125, "upper_case": 0.125}, source={"upper_case": 0.5}),
        "quiet": augmented({"url": 0.25}, {"typos": 0.25}, source={"typos": 0.5}),
    }
    unlearned = plan(mixtures=mixtures).mixtures
    assert unlearned.aligned_augmentation is None
    assert unlearned.aligned_corpora == dict.fromkeys(unlearned.drawn("distilled"), "distilled")
    learned = plan(mixtures=mixtures, students=student("tiny", mixtures=["distilled", *mixtures])).mixtures
    changes = learned.aligned_augmentation
    assert changes.both_sides == {"url": 0.25, "upper_case": 0.125} and changes.meant == {"typos": 0.25}
    assert changes.languages == ["en", "de"] and changes.share == 0.625
    copies = dict.fromkeys((f"{name}~shouted" for name in learned.weights("shouted")), "shouted")
    assert learned.aligned == "distilled" and learned.aligned_corpora == unlearned.aligned_corpora | copies


def test_back_translations_are_drawn_where_a_mixture_names_them():
    """By nobody else; and the backward teacher is no system that others see."""
    german = {"role": "monolingual_target", "builtin": {"split": "test2", "sentences": 9}}
    teacher = OFFLINE["teachers"]["teacher"]
    section = {"teacher": teacher | {"seed": 7}, "beam_size": 3, "noise": {"blank": 0.5}, "tag": "<BT>"}
    augmented = {"targets": "original", "weights": {"grammar": 2, "german": 1}}
    study = plan(
        change=lambda study: study.update(back_translation=section),
        corpora={"german": german},
        teachers={"teacher": teacher | {"mixture": "back"}},
        mixtures={"back": augmented},
    )
    names = study.mixtures.names
    assert [name for name in names if "german" in study.mixtures.drawn(name)] == ["back"]
    folder = "results/offline"
    assert study.mixtures.files("back") == [
        f"{folder}/corpora/clean/grammar.tsv.zst",
        f"{folder}/back-translated/german.tsv.zst",
    ]
    assert (
        study.systems.trained["teacher"].mixture == "back" and study.systems.learners["backward"].mixture == "original"
    )
    assert study.training("backward").target_language == "en" and study.training("backward").seed == 7
    settings = study.teachers.settings("backward")
    assert (settings.languages, settings.beam_size, settings.n_best) == (["de", "en"], 3, 1)
    assert study.teachers.settings("teacher").languages == ["en", "de"]
    assert study.mixtures.symbols == ["<BT>", "<mask>"] and study.corpora.languages("german") == ["de"]
    visible = (study.systems.teachers, study.systems.trained, study.systems.measured, study.teachers.imitable)
    assert not any("backward" in names for names in visible)
    assert study.corpora.training == ["grammar", "grammar_english", "german"]


def test_a_study_without_back_translation_is_what_it_was():
    """Neither hash nor documents of finished studies know of it."""
    assert plan(back_translation=None).hash == plan().hash
    teacher = OFFLINE["teachers"]["teacher"]
    assert plan(teachers={"teacher": teacher | {"mixture": None}}).hash == plan().hash
    assert "mixture" not in plan(teachers={"given": foreign_teacher()}).teachers.imported["given"]


def test_corpora_are_held_out_or_learned_from():
    study = plan(SEVERAL_TEACHERS)
    assert study.corpora.dev in study.corpora.held_out and study.corpora.timed in study.corpora.held_out
    assert sorted(study.corpora.held_out + study.corpora.training) == sorted(SEVERAL_TEACHERS["corpora"])


def test_chinese_and_japanese_keep_their_punctuation():
    assert plan().corpora.normalization == "nmt_nfkc"
    assert plan(target="zh").corpora.normalization == "identity"
    assert plan(target="zh", vocabulary={"normalization": "nmt_nfkc"}).corpora.normalization == "nmt_nfkc"


def test_another_weight_is_no_reason_to_read_a_corpus_again():
    name = plan().corpora.training[0]
    for key, value in {"weight": 7, "sample": 3, "max_lines": 3}.items():
        changed = plan(corpora={name: OFFLINE["corpora"][name] | {key: value}})
        assert (changed.corpora.reading(name) == plan().corpora.reading(name)) == (key != "max_lines"), key


def test_a_random_subset_is_cleaned_where_one_is_taken():
    name = plan().corpora.training[0]
    assert plan().corpora.uncleaned(name) + ".tsv.zst" == plan().paths.raw(name)
    sampled = plan(corpora={name: OFFLINE["corpora"][name] | {"sample": 3}})
    assert sampled.corpora.uncleaned(name) == f"results/offline/corpora/subset/{name}"


def test_monolingual_text_is_in_the_source_language():
    (name,) = plan().corpora.monolingual
    assert plan().corpora.languages(name) == ["en"] and plan().corpora.languages(plan().corpora.dev) == ["en", "de"]


def test_places_inside_are_those_of_the_alignment_and_are_told():
    rules = {"both_sides": {"url": 0.1}, "meant": {"typos": 0.2}, "source": {}}
    mixtures = {
        place: OFFLINE["mixtures"]["distilled"] | {"augmentation": rules | {"places": place}}
        for place in ("edges", "aligned")
    }
    study = plan(mixtures=mixtures)
    found = {place: study.mixtures.aligner(place) for place in mixtures}
    assert found == {"edges": [], "aligned": [study.paths.probabilities, study.paths.sentencepiece]}
    told = {place: composition(study.config, place)["augmentation"] for place in mixtures}
    assert told == {"edges": {"url": 0.1, "meant typos": 0.2}, "aligned": {"aligned url": 0.1, "meant typos": 0.2}}


def test_a_rule_brings_its_symbols_into_the_vocabulary():
    other = OFFLINE["mixtures"]["distilled"] | {
        "augmentation": {"both_sides": {"protected": 0.1}, "meant": {}, "source": {}, "places": "edges"}
    }
    symbols = OFFLINE["vocabulary"] | {"symbols": ["<url>", "⟦1⟧"]}
    study = plan(mixtures=OFFLINE["mixtures"] | {"other": other}, vocabulary=symbols)
    assert study.mixtures.protecting == ["other"]
    assert study.mixtures.symbols == ["<url>", *SYMBOLS]
    assert study.robustness.protected == []  # no student learns from it
    both = plan(
        mixtures=OFFLINE["mixtures"] | {"other": other}, students=student("tiny", mixtures=["distilled", "other"])
    )
    assert both.robustness.protected == ["tiny-other"]
    assert plan().mixtures.symbols == [] and plan(vocabulary=symbols).mixtures.symbols == ["<url>", "⟦1⟧"]


def test_the_note_warns_of_the_builtin_corpus():
    assert plan().note.startswith("en-de: ") and "Synthetic text" in plan().note
    assert "Synthetic" not in plan(SEVERAL_TEACHERS).note


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_system_has_one_part_in_every_study(path):
    study = StudyPlan(typed(config.load(path)))
    backward = ["backward"] * bool(study.config.back_translation)
    parts = (study.systems.teachers, study.systems.students, study.systems.untrained, backward)
    assert [name for part in parts for name in part] == list(study.systems)
    assert set(study.systems.measured) <= set(study.systems.trained)
    assert not set(study.systems.trained) & set(study.teachers.imported)
    assert set(study.systems.teachers) <= {*study.systems.trained, *study.teachers.imported, *study.teachers.asked}
    assert set(study.models.transformers) <= set(study.systems.measured)
    assert (study.teachers.imitated is None) == (study.teachers.imitable == [])
    assert not set(study.teachers.foreign) & set(study.systems.trained)
    assert set(study.teachers.foreign) <= set(study.teachers.imitable)
    assert study.teachers.reference is None or study.teachers.reference in study.systems.measured


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_programs_read_the_settings_that_rules_write(path):
    study = StudyPlan(config.read(path))
    settings = [*map(study.teachers.settings, study.teachers.lists), study.comparison]
    settings += [study.training(system) for system in study.systems.trained]
    settings += [study.teachers.asking(teacher) for teacher in study.teachers.asked]
    for each in settings:
        assert argument(type(each))(json.dumps(each.document)) == each
        with pytest.raises(ArgumentTypeError, match="unknown field `other`"):
            argument(type(each))(json.dumps(each.document | {"other": 1}))


def test_more_threads_are_no_other_training():
    """A changed document trains again."""
    student = OFFLINE["students"]["tiny"]
    more = plan(students={"tiny": student | {"training": student["training"] | {"threads": 7}}})
    assert more.training("tiny") == plan().training("tiny") and more.systems["tiny"].training.threads == 7


def test_of_several_seeds_the_first_is_measured():
    study = plan(SEVERAL_TEACHERS)
    assert "deep-seed1" in study.systems.measured and "deep-seed2" in study.systems.trained
    assert not any(name.endswith("seed2") for name in study.systems.measured)
    kinds = {name: (system.student, system.mixture) for name, system in study.systems.items()}
    measured = [kinds[name] for name in study.systems.measured]
    assert all(measured.count(kinds[name]) == 1 for name in study.systems.trained)


def test_a_student_that_is_named_as_a_teacher_is_measured_too():
    named = {"teacher": OFFLINE["students"]["tiny"] | {"mixtures": ["original"], "seeds": None}}
    study = plan(change=lambda study: study.update(students=named))
    assert study.systems.measured == ["teacher", "teacher-original"]


def test_several_teachers_are_an_ensemble():
    study = plan(SEVERAL_TEACHERS)
    assert study.systems.teachers == ["wide", "narrow"] and study.teachers.ensemble == "ensemble"
    assert study.teachers.imitated == "narrow" and study.teachers.foreign == ["ensemble"]
    assert study.teachers.reference == "narrow"
    together = plan(SEVERAL_TEACHERS, lambda study: study["mixtures"]["distilled"].update(teacher=None))
    assert together.teachers.imitated == "ensemble" and together.teachers.reference == "wide"  # which is timed
    names = [about["system"] for about in together.comparison.systems]
    assert names == ["wide", "narrow", "ensemble", *together.systems.students]
    one = plan()
    assert one.teachers.ensemble == one.teachers.imitated == "teacher" and one.teachers.foreign == []


def test_teachers_that_translate_together_are_one():
    def change(study):
        study["distillation"].update(engine="native")
        study["mixtures"]["distilled"].update(teacher=None, ensemble="token_by_token")

    study = plan(SEVERAL_TEACHERS, change)
    teachers = study.teachers
    assert teachers.ensemble == teachers.imitated == "token-ensemble" and teachers.foreign == ["token-ensemble"]
    assert teachers.translating == ["wide", "narrow", "token-ensemble"] and "ensemble" not in teachers.imitable
    assert teachers.of("token-ensemble") == ["wide", "narrow"] and teachers.of("wide") == ["wide"]
    assert study.mixtures.teachers_of("deep-seed1") == ["wide", "narrow"]
    assert study.mixtures.distilled("distilled", "captions").endswith("/distilled/token-ensemble/best/captions.tsv.zst")

    def both(study):
        change(study)
        study["mixtures"]["interpolated"].update(teacher=None)

    teachers = plan(SEVERAL_TEACHERS, both).teachers
    assert teachers.foreign == ["token-ensemble", "ensemble"] and teachers.imitated == "token-ensemble"
    assert teachers.translating == ["wide", "narrow", "token-ensemble"]


def test_a_student_is_taught_word_by_word():
    """Then it is no control, even if its targets are the original ones; all other settings stay as they are."""
    words = {"teacher": None, "k": 4, "weight": 0.5}

    def change(study):
        study["distillation"].update(engine="native")
        study["students"]["tiny"].update(words=words, mixtures=["distilled", "original"])
        study["students"]["deep"]["mixtures"] = ["original"]

    study = plan(change=change)
    assert [study.systems[name].role for name in ("tiny", "tiny-original", "deep-original")] == [
        "student",
        "student",
        "control",
    ]
    assert study.mixtures.words("deep-original") == [] and "words" not in study.comparison.systems[1]["settings"]
    assert study.mixtures.words("tiny-original") == [f"{study.folder}/words/teacher/4/original.1.txt"]
    taught = study.training("tiny")
    assert (taught.words.k, taught.words.weight, study.training("deep-original").words) == (4, 0.5, None)
    tiny, original = (study.systems.trained[name] for name in ("tiny", "deep-original"))
    assert composition(study.config, "original", tiny.words) == composition(study.config, "original") | {"words": 0.5}
    assert "words" not in composition(study.config, "original", original.words)
    groups = {group.name: group for group in jobs(Work(study.config, shipped().rates), shipped().text)}
    made = groups["words_shard teacher original 4"]
    assert {"sample original", "train teacher"} == {*made.after} and made.seconds > 0
    assert made.name in groups["train tiny-original"].after and made.name not in groups["train deep-original"].after

    def both(study):
        study["distillation"].update(engine="native")
        study["students"]["deep"].update(words=words)

    several = plan(SEVERAL_TEACHERS, both)
    assert several.mixtures.words("deep-seed1") == [f"{several.folder}/words/token-ensemble/4/distilled.1.txt"]


def test_a_student_teaches_others():
    def change(study):
        study["mixtures"]["middle"] = study["mixtures"]["distilled"] | {"teacher": "deep"}
        study["students"]["deep"]["mixtures"], study["students"]["tiny"]["mixtures"] = ["distilled"], ["middle"]

    study = plan(change=change)
    teachers = study.teachers
    assert teachers.assistants == ["deep"] and teachers.imitable == teachers.computed == ["teacher", "deep"]
    assert teachers.translating == ["teacher", "deep"] and teachers.ensemble == teachers.imitated == "teacher"
    assert teachers.foreign == [] and teachers.of("deep") == ["deep"] and study.systems.teachers == ["teacher"]
    assert study.mixtures.teachers_of("tiny-middle") == ["deep"] and study.mixtures.aligned == "distilled"
    assert teachers.model("deep") == study.paths.converted("deep", "int8") and teachers.pieces_for("deep")
    assert teachers.settings("deep") == teachers.settings("teacher")
    names = [about["system"] for about in study.comparison.systems]
    assert names == ["teacher", *study.systems.students] and len({*names}) == len(names)
    work = Work(study.config, shipped().rates)
    (translated,) = [group for group in jobs(work, shipped().text) if group.name == "translate_shard deep grammar"]
    assert "train deep" in translated.after and work.translation_seconds("deep", 10) > 0


def test_students_may_be_the_only_teachers():
    def change(study):
        study["teachers"] = {}
        study["mixtures"] = {"original": study["mixtures"]["original"], "own": study["mixtures"]["distilled"]}
        study["mixtures"]["own"]["teacher"] = "deep"
        study["students"]["deep"]["mixtures"], study["students"]["tiny"]["mixtures"] = ["original"], ["own"]

    teachers = plan(change=change).teachers
    assert teachers.imitated == teachers.reference == "deep" and teachers.ensemble is None
    assert teachers.imitable == ["deep"] and teachers.foreign == []


def test_a_study_without_teachers_imitates_none():
    def change(study):
        study["teachers"], study["mixtures"] = {}, {"original": study["mixtures"]["original"]}
        study["students"]["tiny"]["mixtures"] = study["students"]["deep"]["mixtures"] = None

    study = plan(change=change)
    assert study.teachers.ensemble is study.teachers.imitated is study.teachers.reference is None
    assert study.teachers.imitable == study.teachers.foreign == study.comparison.systems[2:] == []
    assert study.mixtures.aligned == "original"


def test_robustness_is_measured_where_a_study_asks_for_it():
    assert plan(robustness=None).robustness.folders == [] and "does not ask" in plan(robustness=None).robustness.problem
    systems, section = ["deep", "deep-original", "tiny", "teacher"], OFFLINE["robustness"]
    models = "results/offline/models"
    found = plan(robustness=section | {"types": ["int8", "float32"]}).robustness
    assert found.problem is None and found.folders == [
        f"{models}/{name}/{engine}{type}"
        for type in ("int8", "float32")
        for engine in ("", "native-")
        for name in systems
    ]
    assert plan(robustness=section | {"systems": ["tiny"]}).robustness.folders == [
        f"{models}/tiny/int8",
        f"{models}/tiny/native-int8",
    ]


def test_a_teacher_from_elsewhere_is_imported_translates_and_is_not_measured():
    study = plan(teachers={"given": foreign_teacher()})
    assert list(study.teachers.imported) == ["given"] and "given" not in study.systems.trained
    assert study.teachers.model("given") == "results/offline/systems/given/imported/int8"
    assert study.teachers.model("teacher") == "results/offline/systems/teacher/converted/int8"
    assert study.teachers.foreign == ["given", "ensemble"] and study.teachers.reference == "teacher"


@pytest.mark.parametrize("exported", [[], ["native"]])
def test_teachers_translate_in_the_engine_that_distils(exported):
    def change(study):
        study["teachers"].update(given=foreign_teacher())
        study["distillation"] |= {"engine": "native", "compute_type": "int16"}
        study["decoding"] |= {"compute_types": ["int8"], "engines": exported}

    study = plan(change=change)
    assert study.teachers.model("given") == "results/offline/systems/given/imported/native-int16"
    assert study.teachers.model("teacher") == "results/offline/systems/teacher/native/native-int16"
    assert study.models.converted_types == ["float32", "int8"]  # CTranslate2's; its float32 is converted again
    assert study.models.native_types == (["float32", "int16", "int8"] if exported else ["int16"])


def test_only_systems_that_are_compared_are_timed_in_every_engine():
    models = plan(decoding={"in_every_engine": ["deep"]}).models
    assert models.timed("deep") == models.formats("deep") and BASELINE in models.timed("deep")
    assert models.timed("tiny") == [f"native-{type}" for type in models.types]
    assert models.shown("tiny").split("/")[-1].startswith("tiny.native-float32.beam4.")
    everywhere = plan(decoding={"in_every_engine": None}).models
    assert everywhere.timed("tiny") == everywhere.formats("tiny")
    other = plan(decoding={"in_every_engine": ["deep"], "engines": []}).models  # nothing else could decode it
    assert other.timed("tiny") == other.formats("tiny")


def test_a_teacher_with_its_own_pieces_needs_none_of_the_study():
    own = {"bpe": "codes", "sentencepiece": None}
    study = plan(teachers={"a": foreign_teacher(), "b": foreign_teacher(tokenization=own)})
    assert study.teachers.pieces_for("a") == study.teachers.pieces_for("b", "a") == [study.paths.sentencepiece]
    assert study.teachers.vocabulary_for("a") == [study.paths.vocabulary]
    assert study.teachers.pieces_for("b") == study.teachers.vocabulary_for("b") == []


def test_a_student_knows_its_teachers_corpora_and_parent():
    study = plan(SEVERAL_TEACHERS)
    assert study.mixtures.teachers_of("deep-seed1") == ["narrow"] and study.mixtures.teachers_of("wide") == []
    assert [corpus["name"] for corpus in study.corpora_of("wide")] == list(study.mixtures.weights("original"))
    assert all(set(corpus) == {"name", "role", "licence", "url"} for corpus in study.corpora_of("deep-seed1"))
    twin = plan(students=student("tiny", start_from="teacher"))
    assert twin.mixtures.parent("tiny") == twin.paths.averaged("teacher") and twin.mixtures.parent("deep") is None


def test_a_mixture_draws_from_originals_translations_or_the_best_of_them():
    study = plan(mixtures={"clean": OFFLINE["mixtures"]["distilled"] | {"drop_worst": 5}})
    assert study.mixtures.corpus("original", "x") == study.paths.clean("x") == "results/offline/corpora/clean/x.tsv.zst"
    best = "results/offline/distilled/teacher/best/x.tsv.zst"
    assert study.mixtures.corpus("distilled", "x") == study.mixtures.distilled("distilled", "x") == best
    assert study.mixtures.corpus("clean", "x") == "results/offline/training/clean/x.tsv.zst"
    assert study.mixtures.distilled("clean", "x") == best
    assert study.mixtures.aligned == "distilled"


def test_the_mixture_of_the_teachers_needs_no_entry():
    study = plan(change=lambda study: study["mixtures"].pop("original"))
    assert "original" in study.mixtures.names and list(study.mixtures.weights("original")) == study.corpora.train


def test_recurrent_systems_of_odd_sizes_stay_in_their_toolkit():
    """The native engine computes with vectors of 16."""
    study = plan(students=student("tiny", shape=RECURRENT))
    assert study.models.formats("tiny") == ["opennmt-tf"] and "tiny" in study.systems.measured
    assert "tiny" not in study.models.transformers
    native = [f"native-{type}" for type in study.models.types]
    assert study.models.formats("deep") == ["opennmt-tf", *study.models.types, *native]
    assert study.maps.system == study.search.system == "deep"


@pytest.mark.parametrize(
    "shape",
    [OFFLINE["students"]["tiny"]["shape"] | {"decoder": "ssru"}, RECURRENT | {"units": 32, "embedding_units": 16}],
)
def test_what_ctranslate2_lacks_reaches_the_native_engine_from_its_checkpoint(shape):
    study = plan(students=student("tiny", shape=shape))
    native = [f"native-{type}" for type in study.models.types]
    assert study.models.formats("tiny") == ["opennmt-tf", *native] and "tiny" not in study.models.transformers
    assert study.models.quick_format("tiny") == native[0] and study.models.quick_format("deep") == study.models.types[0]
    assert study.models.source("deep", "float32") == study.paths.averaged("deep")
    assert study.models.source("deep", "int8") == study.paths.converted("deep", "float32")
    assert study.models.source("teacher", "float32") == study.paths.averaged("teacher")
    assert study.models.native_source("tiny") == study.paths.averaged("tiny")
    assert study.models.native_source("deep") == study.paths.converted("deep", "float32")


@pytest.mark.parametrize("engine", ["ctranslate2", "native"])
def test_only_the_type_that_teachers_translate_in_is_made_from_their_checkpoint(engine):
    study = plan(distillation={"engine": engine, "compute_type": "int8"})
    exact, checkpoint = study.paths.converted("teacher", "float32"), study.paths.averaged("teacher")
    assert study.models.source("teacher", "int8") == (checkpoint if engine == "ctranslate2" else exact)
    assert study.models.source("teacher", "int16") == exact
    assert study.models.source("deep", "int8") == study.paths.converted("deep", "float32")


def test_a_refusal_is_listed_once_with_the_engines_that_decode():

    def odd(study):
        study["decoding"]["engines"] = ["native"]
        study["teachers"]["teacher"]["shape"] |= {"units": 24, "heads": 4}
        study["students"]["deep"] |= {"mixtures": ["distilled", "original"], "seeds": [1, 2]}
        study["students"]["deep"]["shape"] = study["students"]["deep"]["shape"] | {"decoder": "averaging"}
        study["students"]["tiny"]["shape"] = RECURRENT
        study["speed"]["untrained"] = ["bergamot-ssru-tiny"]

    assert plan().models.refusals == [] and plan(change=odd).models.refusals == [
        "teachers.teacher: native needs units in multiples of 16, not 24; OpenNMT-tf and CTranslate2 decode it",
        "students.deep: CTranslate2 has no averaging decoder; OpenNMT-tf and native decode it",
        "students.tiny: CTranslate2 has no recurrent model; OpenNMT-tf decodes it",
        "students.tiny: native needs units in multiples of 16, not 8; OpenNMT-tf decodes it",
        "speed.untrained.bergamot-ssru-tiny: CTranslate2 has no ssru decoder; OpenNMT-tf and native decode it",
    ]
    without = plan(change=lambda study: (odd(study), study["decoding"].update(engines=[])))
    assert "students.deep: CTranslate2 has no averaging decoder; OpenNMT-tf decodes it" in without.models.refusals


def test_people_read_every_measured_system_whatever_engine_has_it():
    """By the names that measure.benchmark gives the translations; those of OpenNMT-tf are all with beam 4."""
    shapes = {"deep": RECURRENT, "tiny": OFFLINE["students"]["tiny"]["shape"] | {"decoder": "ssru"}}

    students = {name: OFFLINE["students"][name] | {"shape": shape} for name, shape in shapes.items()}
    study = plan(students=students, decoding={"beam_sizes": [1, 2], "engines": ["native"]})
    formats = {system: study.models.quick_format(system) for system in study.systems.measured}
    assert set(formats) > {"teacher", "deep", "tiny"}
    assert formats["deep"] == BASELINE and formats["teacher"] == "float32" == OFFLINE["decoding"]["compute_types"][0]
    assert formats["tiny"] == "native-float32"
    for system, name in formats.items():
        model = ModelFolder(Path(study.paths.model(system, name)), of_type("int8"))
        decoded = Configuration(model, beam_size=4 if name == BASELINE else 2, label=system)
        text = f"{study.folder}/decoding/translations/{decoded.name}.{study.corpora.timed}.txt"
        assert study.models.shown(system) == text


def all_of_shape(shape):
    return {name: entry | {"shape": shape} for name, entry in OFFLINE["students"].items()}


def test_maps_are_fitted_to_a_student_that_is_exported():
    assert plan().maps.system == next(iter(OFFLINE["students"]))
    assert plan(vocabulary_map={"system": "tiny"}).maps.system == "tiny"
    study = plan(students=all_of_shape(RECURRENT))
    assert study.maps.system is None and study.search.problem == (
        "search.system: None is none of the systems of this study that are trained here and exported"
    )
    assert study.models.transformers == study.models.exported == ["teacher"]


def test_maps_are_fitted_in_int8_where_the_study_has_it():
    assert plan().maps.type == "int8"
    without = plan(decoding={"compute_types": ["float32", "int16"]})
    assert without.maps.type == "float32"
    assert without.models.converted_types == ["float32", "int16", "int8"]  # the teacher's


def test_a_type_of_the_native_engine_alone_is_exported_to_it_alone():
    study = plan(decoding={"compute_types": ["float32", "int8", "int4"]})
    assert "native-int4" in study.models.formats("deep") and "int4" not in study.models.formats("deep")
    assert "int4" in study.models.native_types and "int4" not in study.models.converted_types


def test_maps_are_fitted_in_a_type_that_the_engine_of_the_system_has():
    decoding = {"compute_types": ["float16", "float32"], "engines": ["native"]}
    study = plan(decoding=decoding, students=all_of_shape(RECURRENT | {"units": 32, "embedding_units": 16}))
    assert study.maps.type == "float32" and study.maps.weights[0].endswith("native-float32")


def test_speed_is_of_the_named_systems_or_of_all():
    everything = plan(speed={"systems": [], "untrained": []})
    assert everything.speed.systems == everything.models.exported == everything.models.transformers
    assert everything.speed.systems[-1] == "teacher"
    named = plan(speed={"systems": ["tiny"], "untrained": ["wngt2020-base"]})
    assert named.speed.systems == ["tiny", "wngt2020-base-untrained"] and named.speed.problem is None
    alone = plan(speed={"systems": [], "untrained": ["wngt2020-base"]})
    assert alone.speed.systems == ["wngt2020-base-untrained"]
    foreign = plan(speed={"systems": [], "untrained": ["bergamot-ssru-tiny"]})
    assert foreign.speed.systems == ["bergamot-ssru-tiny-untrained"]
    assert foreign.speed.problem is None
    systems, formats = zip(*(path.split("/")[-2:] for path in foreign.speed.architectures), strict=True)
    assert {*systems} == {"bergamot-ssru-tiny-untrained"} and formats[0] == "opennmt-tf" and "int8" not in formats


def test_a_target_that_cannot_be_made_has_a_reason():
    assert plan(search={"system": "tiny"}).search.problem is None
    assert "big is none of the systems" in plan(search={"system": "big"}).search.problem
    assert plan(vocabulary_map={"grid": GRID}).maps.problem is None
    no_grid = plan(vocabulary_map={"grid": None})
    assert no_grid.maps.problem == "the study offline tries no maps: give it a vocabulary_map.grid"


def test_what_the_native_engine_is_measured_with():
    study, without = plan(), plan(decoding={"engines": []})
    assert without.models.native("tiny") == without.search.folders("int8")[1:] == []
    folders = [study.paths.model(system, "native-int8") for system in ("tiny", "deep")]
    assert study.models.native("tiny", "deep") == folders
    both = [study.paths.model(study.search.system, name) for name in ("float32", "native-float32")]
    assert study.search.folders("float32") == both
    recurrent = plan(students=student("tiny", shape=RECURRENT))
    assert recurrent.models.native("tiny") == []
    assert recurrent.models.native("deep", "tiny") == recurrent.models.native("deep") == study.models.native("deep")
    assert plan(search={"system": "big"}).search.folders("int8") == []


@given(st.from_regex(r"[a-z][a-z0-9-]{0,9}", fullmatch=True), st.sampled_from(["int8", "opennmt-tf"]))
def test_a_path_may_have_wildcards_for_names(system, format):
    paths = plan().paths
    assert paths.model("{system}", "{format}").format(system=system, format=format) == paths.model(system, format)
    assert paths.epoch("{mixture}", "{epoch}", "source").format(mixture="m", epoch=3) == paths.epoch("m", 3, "source")


def test_no_rule_uses_a_name_before_it_is_defined():
    """Snakemake runs the files of rules from the first to the last, as the Snakefile includes them."""
    included = re.findall(r'^include: "(.*?)"', (ROOT / "Snakefile").read_text(), flags=re.MULTILINE)
    files = {name: (ROOT / name).read_text() for name in included}
    assert len(files) > 10
    definition = re.compile(r"^(?:use rule \w+ as |rule |def )?(\w+)(?: with)?(?::| =|\()", re.MULTILINE)
    defined = {name: {*definition.findall(text)} for name, text in files.items()}
    earlier, every = set(), set().union(*defined.values())
    for name, text in files.items():
        earlier |= defined[name]
        text = re.sub(r'""".*?"""|^\s*#.*$', "", text, flags=re.MULTILINE | re.DOTALL)
        used = {*re.findall(r"\b[A-Z][A-Z_0-9]{2,}\b", text), *re.findall(r"\brules\.(\w+)", text)}
        assert used & (every - earlier) == set(), name
