"""A teacher behind HTTP in the plan of a study: it is asked, and nothing else."""

from configurations import CONFIGS
from msgspec.structs import replace

from common.document import short
from distill.settings import NO_ANSWER, HttpSection, TokenPrices, TranslationSampling
from study import candidate_checks, config, http_checks
from study.asking import ANSWER_TOKENS, asking
from study.estimate import estimate
from study.jobs import jobs
from study.plan import StudyPlan
from study.rates import shipped
from study.workload import Work

STUDY = config.read(CONFIGS / "multi30k-llm.yaml")
CAPTIONS, TESTED, CANDIDATES = 29_000, 1000 + 1000 + 461, 4


def with_http(**changed):
    http = replace(STUDY.teachers["gemma"].http, **changed)
    return replace(STUDY, teachers=STUDY.teachers | {"gemma": replace(STUDY.teachers["gemma"], http=http)})


def test_it_is_asked_beside_a_teacher_that_is_trained_here():
    study = StudyPlan(STUDY)
    teachers = study.teachers
    assert teachers.asked == ["gemma"] and teachers.computed == teachers.translating == ["teacher"]
    assert teachers.imitable == ["teacher", "gemma"] and teachers.foreign == ["gemma"] and not teachers.imported
    assert teachers.engine == "native"  # as without it
    assert "gemma" not in {*study.models.exported, *study.systems.trained, *study.systems.measured}
    work = Work(STUDY, shipped().rates)
    assert work.translators("multi30k") == ["teacher", "gemma"] and not work.rescores and not work.unknown
    names = {group.name for group in jobs(work, shipped().text)}
    assert {"ask_shard gemma multi30k", "translate_shard teacher multi30k"} <= names
    assert not {"ask_shard teacher multi30k", "translate_shard gemma multi30k"} & names


def test_its_translations_are_no_beams():
    def searches(study):
        return {
            each["system"]: each.get("search") for each in StudyPlan(study).comparison.systems if not each["mixture"]
        }

    assert searches(STUDY) == {"teacher": None, "gemma": "the best of 4 answers"}
    assert searches(with_http(candidates=1))["gemma"] == "one answer"
    drawn = replace(STUDY, distillation=replace(STUDY.distillation, sampling=TranslationSampling()))
    assert searches(drawn) == searches(STUDY)  # the beam of the teacher that is trained here is of report/gap.md


def test_one_answer_has_neither_a_score_nor_others_to_choose_from():
    def problems(**changed):
        mixtures = STUDY.mixtures | {"distilled": replace(STUDY.mixtures["distilled"], drop_worst=5)}
        study = replace(with_http(**changed), mixtures=mixtures)
        return [*http_checks.mixture_problems(study), *candidate_checks.problems(study)]

    assert problems() == []
    dropped, chosen = problems(candidates=1)
    assert dropped.startswith("mixtures.distilled.drop_worst: one answer has no score; that of several candidates is")
    assert "mbr needs several hypotheses; teachers.gemma.http.candidates is 1" in chosen


def test_only_what_makes_its_answers_is_watched():
    watched = StudyPlan(STUDY).teachers.answering("gemma")
    others = {"address": "http://b/v1", "concurrency": 1, "timeout": 5, "budget": 1.0, "prices": TokenPrices(1, 2)}
    assert {*others, "key"} == {*NO_ANSWER}
    assert StudyPlan(with_http(**others, key="K")).teachers.answering("gemma") == watched
    assert not {*NO_ANSWER} & watched["http"].keys() and StudyPlan(STUDY).teachers.asking("gemma").http.address
    made = {"model": "b", "prompt": "{text}", "candidates": 2, "temperature": 1, "tries": 9, "examples": []}
    assert all(
        StudyPlan(with_http(**{key: value})).teachers.answering("gemma") != watched for key, value in made.items()
    )
    assert {*short(HttpSection(address="a", model="b"))} == {"address", "model"}  # a new key reruns nothing


def test_requests_tokens_and_prices_are_estimated():
    (found,) = asking(Work(with_http(prices=TokenPrices(1, 10), budget=5.0), shipped().rates))
    assert found.requests == CANDIDATES * (CAPTIONS + TESTED) and found.output_tokens == found.requests * ANSWER_TOKENS
    assert found.usd == (found.input_tokens + 10 * found.output_tokens) / 1e6
    assert "125,844 requests" in found.text and "USD of 5, more than its budget" in found.text
    (fewer,) = asking(Work(with_http(candidates=2, concurrency=64, examples=[]), shipped().rates))
    assert fewer.requests == found.requests / 2 and fewer.seconds == found.seconds / 4
    assert fewer.input_tokens < found.input_tokens / 2 and "no prices" in fewer.text
    assert f"about {fewer.text}" in estimate(with_http(candidates=2, concurrency=64, examples=[]), 2, shipped().rates)
