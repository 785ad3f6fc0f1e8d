"""The lists of teachers, and how mixtures choose from them: their names are paths, so equal ones are made once."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from common.document import short
from distill.settings import HttpSection
from study import candidate_checks, config
from study.candidates import chosen, pairs
from study.configuration import typed
from study.configuration.systems import TeacherSection
from study.plan import StudyPlan
from study.rates import shipped
from study.workload import Work

ROOT = Path(__file__).parents[3]
CHOOSING = config.read(ROOT / "configs/multi30k-choosing.yaml")
USUAL = StudyPlan(config.read(ROOT / "configs/multi30k.yaml"))
SAMPLES = {"n_best": 16, "sampling": {"temperature": 0.5, "seed": 3}}


def several(**mixture):
    """The study of two teachers with such a mixture, of the name x."""
    study = config.load(ROOT / "tests/studies/several-teachers.yaml")
    study["mixtures"]["x"] = mixture
    study["students"]["deep"]["mixtures"].append("x")
    return StudyPlan(typed(study))


def test_names_say_how_lists_were_made_and_chosen_from():
    found = {name: StudyPlan(CHOOSING).teachers.translations(name) for name in CHOOSING.mixtures}
    assert found == {
        "distilled": ("teacher", "best"),
        "original": None,
        "interpolated": ("teacher", "interpolated"),
        "samples": ("teacher~samples64", "mbr-chrf"),
        "aggregated": ("teacher~samples64", "mbr-chrf-aggregate"),
        "several": ("teacher~samples64", "mbr-chrf-keep4"),
        "different": ("teacher", "all-keep4-different"),
        "wide": ("teacher~beam16-best1", "best"),
    }


def test_candidates_leave_the_other_lists_as_they_are():
    plan = StudyPlan(CHOOSING)
    assert short(plan.teachers.settings("teacher")) == short(USUAL.teachers.settings("teacher"))
    assert short(plan.teachers.settings("teacher~samples64"))["sampling"] == {}
    assert plan.teachers.translating == ["teacher", "teacher~samples64", "teacher~beam16-best1"]
    assert chosen(CHOOSING, "distilled") == {} == chosen(CHOOSING, "original")
    assert chosen(CHOOSING, "several") == {"chosen": "samples64, chrf, keep4"}


@pytest.mark.parametrize("name", [None, "narrow"])
def test_candidates_as_usual_are_the_usual_lists(name):
    plan = several(targets="mbr", teacher=name, candidates={"n_best": 8})
    usual = several(targets="mbr", teacher=name)
    assert plan.teachers.translations("x") == usual.teachers.translations("x")
    assert plan.teachers.lists.keys() == usual.teachers.lists.keys()


def test_an_ensemble_scores_the_candidates_of_each_teacher():
    teachers = several(targets="mbr", candidates=SAMPLES).teachers
    name = "samples16-temperature0.5-seed3"
    assert teachers.translations("x") == (f"ensemble~{name}", "mbr") and f"ensemble~{name}" in teachers.rescored
    assert teachers.parts(f"ensemble~{name}") == [f"{teacher}~{name}" for teacher in ("wide", "narrow")]
    assert teachers.chosen_from(f"ensemble~{name}") == [f"ensemble~{name}"]
    assert f"wide~{name}" in teachers.translating and f"ensemble~{name}" not in teachers.translating
    assert teachers.settings(f"ensemble~{name}").n_best == teachers.settings(f"wide~{name}").n_best == 16


def test_a_union_is_chosen_from_the_lists_of_each_teacher():
    plan = several(targets="mbr", ensemble="union", keep=30)
    teachers = plan.teachers
    assert teachers.translations("x") == ("union", "mbr-keep30")
    assert teachers.chosen_from("union") == ["wide", "narrow"] and "union" not in teachers.translating
    assert teachers.hypotheses("union") == 16 == pairs(plan.config, "x")
    assert "union" not in [*teachers.imitable, *teachers.foreign] and teachers.imitated == "narrow"


def test_a_teacher_behind_http_brings_its_answers_to_a_union_of_samples():
    study = several(targets="mbr", ensemble="union", candidates=SAMPLES).config
    http = HttpSection(address="http://a/v1", model="m", candidates=3, temperature=1)
    plan = StudyPlan(replace(study, teachers=study.teachers | {"llm": TeacherSection(http=http)}))
    name = "samples16-temperature0.5-seed3"
    assert plan.teachers.parts(f"union~{name}") == [f"wide~{name}", f"narrow~{name}", "llm"]
    assert plan.teachers.hypotheses(f"union~{name}") == 16 + 16 + 3 and "llm" not in plan.teachers.translating


def test_a_union_has_no_best_translation_of_text_without_originals():
    def problems(**weights):
        study = several(targets="interpolated", ensemble="union", weights=weights or None).config
        return [problem for problem in candidate_checks.problems(study) if problem.startswith("mixtures.x.")]

    assert problems(multi30k=1) == []
    (problem,) = problems()
    assert problem.startswith("mixtures.x.ensemble: captions has no originals, and a union has no best")


def test_scores_of_a_program_have_a_name_of_their_own():
    names = set()
    for command in ("a", "b"):
        teachers = several(targets="mbr", teacher="wide", scores={"command": command}).teachers
        ((scorer, scores),) = teachers.scores.items()
        assert teachers.choices[f"mbr-{scorer}"].scorer == scorer and scores.command == command
        names.add(scorer)
    assert len(names) == 2


def test_samples_and_choosing_take_time():
    def seconds(**mixture):
        work = Work(several(targets="mbr", teacher="narrow", **mixture).config, shipped().rates)
        made, how = work.study.teachers.translations("x")
        return work.translation_seconds(made, 1000), work.selection_seconds((made, how), 1000)

    few, many = (seconds(metric="chrf", candidates={"n_best": number, "sampling": {}}) for number in (8, 64))
    assert many == pytest.approx([8 * each for each in few])
    assert seconds(metric="bleu")[1] > seconds(metric="chrf")[1] > 0 == seconds(scores={"command": "x"})[1]
