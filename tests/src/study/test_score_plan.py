"""The scores that a study computes: what they need, what they are learned from, and what they cost."""

import copy
import re
from pathlib import Path

import pytest

from common.document import short
from corpora.settings import OWN_SCORES
from nmt_frontier.errors import UserError
from study import config
from study.configuration import typed
from study.estimate import estimate
from study.job_limits import DAY, Requests
from study.jobs import jobs
from study.plan import StudyPlan
from study.rates import shipped
from study.schema import config_hash
from study.workload import StudyStage, Work

ROOT = Path(__file__).parents[3]
SCORED = config.load(ROOT / "configs/mixed-scored.yaml")


def changed(**sections):
    study = copy.deepcopy(SCORED)
    for name, value in sections.items():
        study[name] = value
    return study


def bounded(**score):
    """The study with these scores of one corpus alone."""
    study = copy.deepcopy(SCORED)
    for name in study["corpora"]:
        study["corpora"][name]["score"] = score if name == "ddtp-de" else None
    return study


def plan(study):
    return StudyPlan(typed(study))


def test_models_learn_from_trusted_text_before_their_own_bounds():
    scores = plan(SCORED).scores
    assert scores.used == {"alignment", "translation", "domain"}
    assert {name: (scorer.kind, scorer.language) for name, scorer in scores.scorers.items()} == {
        "forward": ("forward", "de"), "backward": ("backward", "en"), "near": ("source", "en"), "far": ("source", "en"),
    }  # fmt: skip
    assert scores.scorers["far"].corpora == ["ddtp-de"] and scores.scorers["near"].corpora == ["multi30k", "captions"]
    assert scores.learned_from("multi30k") == "results/mixed-scored/corpora/clean/multi30k.tsv.zst"
    assert scores.learned_from("ddtp-de") == "results/mixed-scored/corpora/unfiltered/ddtp-de.tsv.zst"
    carried = bounded(bicleaner={"column": 2, "bound": 0.5})  # of which nothing is learned
    assert plan(carried).scores.learned_from("ddtp-de") == "results/mixed-scored/corpora/clean/ddtp-de.tsv.zst"


def test_given_models_are_not_trained():
    study = bounded(translation={})
    study["scores"]["translation"] = {"models": ["there/en-de", "there/de-en"]}
    scores = plan(study).scores
    assert scores.scorers == {} and scores.sentencepiece("translation") == []
    assert scores.models("translation") == ["there/en-de", "there/de-en"] and not scores.needed_models("translation")


def test_bounds_and_addresses_decide_on_no_score():
    scores = plan(SCORED).scores
    assert scores.options("lo-help")[:3] == ["--own", "alignment", scores.files("lo-help", "alignment")[0]]
    assert len(scores.all_files("ddtp-de")) == 3 * 4
    asked = {"address": "http://localhost:1/v1", "model": "m", "batch": 7, "key": "A_KEY", "prefix": "query: "}
    study = bounded(embeddings={"bound": 1})
    study["scores"]["embeddings"] = asked
    assert plan(study).scores.watched() == {"model": "m", "prefix": "query: "}


def test_what_a_text_is_read_by_has_no_bounds():
    corpora = plan(bounded(a={"column": 2, "bound": 0.5, "better": "low"}, alignment={"best": 9})).corpora
    assert corpora.reading("ddtp-de")["score"] == {"a": {"column": 2}}
    assert list(corpora.bounds("ddtp-de")) == ["a", "alignment"]
    assert "score" not in corpora.reading("lo-help")
    assert corpora.scored == ["ddtp-de"] and "ddtp-de" not in corpora.unscored


def test_a_study_without_scores_has_the_hash_and_the_jobs_that_it_had():
    without = config.load(ROOT / "configs/demo.yaml")
    assert "scores" not in short(typed(without)) and "bound" not in estimate(typed(without), 2, shipped().rates)
    assert config_hash(typed(without)) == config_hash(typed({**without, "scores": None}))
    groups = jobs(Work(typed(without), shipped().rates), shipped().text)
    assert {group.stage for group in groups}.isdisjoint({StudyStage.SCORES})


def test_scores_are_estimated_and_best_shortens_what_follows():
    def seconds(study, stage):
        groups = jobs(Work(typed(study), shipped().rates), shipped().text)
        return sum(group.seconds * group.number for group in groups if group.stage == stage)

    one, two = bounded(translation={}), bounded(translation={}, alignment={})
    assert 0 < seconds(bounded(a={"column": 2}), StudyStage.SCORES) < seconds(one, StudyStage.SCORES)
    assert seconds(one, StudyStage.SCORES) < seconds(two, StudyStage.SCORES)
    assert "scores of the corpora" in estimate(typed(SCORED), 2, shipped().rates)
    few = bounded(a={"column": 2, "best": 100})
    assert seconds(few, StudyStage.CLEANING) == seconds(one, StudyStage.CLEANING)
    assert seconds(few, StudyStage.TRANSLATION) < seconds(one, StudyStage.TRANSLATION)


RULE = re.compile(r"^(?:use )?rule (?:\w+ as )?(\w+)", re.MULTILINE)
SMALL = {"scorer_dev", "scorer_dev_pieces", "reverse_dev", "encode_reversed_dev", "convert_scorer_native"}


def test_the_study_that_uses_everything_has_an_estimate_of_every_step():
    study = typed(config.load(ROOT / "configs/multi30k-crawl.yaml"))
    work = Work(study, shipped().rates)
    assert work.study.scores.used == {*OWN_SCORES} and [*study.corpora["wikimatrix"].carried] == ["laser"]
    assert work.back_translated == ["german"] and not work.unknown
    groups = jobs(work, shipped().text)
    seconds = {name: sum(each.seconds for each in groups if each.name.split()[0] == name) for name in rules()}
    seconds["train_backward_teacher"] = sum(each.seconds for each in groups if each.name == "train backward")
    assert {name for name, found in seconds.items() if not found} == SMALL
    assert {name for each in groups for name in each.after} - {each.name for each in groups} <= {
        "train None", *(f"subset {name}" for name in study.corpora),
    }  # fmt: skip
    assert "not counted: the score embeddings, by http://localhost:8080/v1" in estimate(study, 2, shipped().rates)
    limits = Requests(study)
    assert limits.minutes("score_embeddings") == DAY > limits.minutes("score_alignment")


def rules():
    """Those that compute scores and that translate back."""
    text = "".join((ROOT / f"workflow/rules/{name}.smk").read_text() for name in ("scores", "back_translation"))
    return RULE.findall(text)


def test_models_of_scores_are_estimated_as_all_trainings_are():
    study = copy.deepcopy(SCORED)
    teacher = study["teachers"]["teacher"]
    study["vocabulary"]["pieces"] = study["scores"]["pieces"]
    study["scores"]["model"] = {key: teacher[key] for key in ("shape", "training")}
    work = Work(typed(study), shipped().rates)
    assert work.scorers["near"] == 29_000 + 145_000 and work.scorers["forward"] == 29_000 + 19_777
    trained = next(each for each in work.trained if each.name == "teacher")
    assert work.scorer_seconds("near") == pytest.approx(work.training_seconds(trained))
    assert work.disk()[StudyStage.SCORES] > Work(typed(SCORED), shipped().rates).disk()[StudyStage.SCORES]
    on_cpu = estimate(typed(study), 2, shipped().rates)
    study["scores"]["model"]["training"] = teacher["training"] | {"device": "cuda", "gpus": 2}
    on_gpu = estimate(typed(study), 2, shipped().rates)
    assert "scores of the corpora, on GPUs" in on_gpu and "scores of the corpora, on GPUs" not in on_cpu
    (group,) = (
        each for each in jobs(Work(typed(study), shipped().rates), shipped().text) if each.name == "train_scorer near"
    )
    assert group.gpus == 2


@pytest.mark.parametrize(
    ("study", "problem"),
    [
        (bounded(alignment={"better": "low"}), "ddtp-de.score.alignment: is computed by the study, high is better"),
        (bounded(alignment={"column": 2}), "ddtp-de.score.alignment: is computed by the study, high is better"),
        (bounded(bicleaner={}), "score.bicleaner: needs exactly one of column, property, file and member; it has none"),
        (changed(scores=None), "score.alignment: needs corpora to learn from (scores.trusted)"),
        (
            changed(scores={"trusted": ["lo-help"]}),
            "score.translation: needs models to be trained (scores.model) or given",
        ),
        (changed(scores=SCORED["scores"] | {"domain": None}), "score.domain: needs text to be compared with"),
        (bounded(embeddings={}), "score.embeddings: needs a server or a command (scores.embeddings)"),
        (
            changed(scores=SCORED["scores"] | {"trusted": ["captions"]}),
            "scores.trusted: 'captions' is none of the corpora",
        ),
        (
            changed(scores=SCORED["scores"] | {"domain": {"near": ["captions"], "side": "target"}}),
            "scores.domain.near: 'captions' is none of the corpora",
        ),
        (
            changed(scores=SCORED["scores"] | {"translation": {"models": ["a", "a"]}}),
            "scores.translation.models: are both a; the second one has the other direction",
        ),
        (
            changed(scores=SCORED["scores"] | {"embeddings": {"address": "http://a", "command": "b"}}),
            "scores.embeddings: needs either address or command; it has both",
        ),
        (
            changed(scores=SCORED["scores"] | {"embeddings": {"address": "http://me:secret@a/v1"}}),
            "scores.embeddings.address: has not the form http://host:port/v1",
        ),
        (
            changed(scores=SCORED["scores"] | {"embeddings": {"command": "embed 'x"}}),
            "scores.embeddings.command: No closing quotation: embed 'x",
        ),
        (
            changed(scores=SCORED["scores"] | {"embeddings": {"command": " "}}),
            "scores.embeddings.command: names no program",
        ),
        (
            changed(scores=SCORED["scores"] | {"domain": {"near": ["ddtp-de"]}}),
            "scores.domain.near: ddtp-de would be compared with itself",
        ),
    ],
)
def test_mistakes(study, problem, tmp_path):
    import yaml

    path = tmp_path / "x.yaml"
    path.write_text(yaml.safe_dump(study))
    with pytest.raises(UserError) as error:
        config.read(path)
    assert problem in str(error.value) and "secret" not in str(error.value)
