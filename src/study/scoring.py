"""What the scores of a study's corpora take: what they are learned from, the scores, and the bounds on them."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from formats.shape import shape
from study.resources import TOKENS
from study.workload import NATIVE_TEACHER, StudyStage, Work

CONVERSIONS = 2  # of a model: to CTranslate2's format and to the native engine's

Group = TypeVar("Group")


def groups(
    work: Work, seconds: dict[str, float], group: Callable[..., Group], cleaned: Callable[[str], str]
) -> Iterator[Group]:
    """The groups of jobs. seconds: of a pair, by the name of the work. group: makes one of its name, its stage and its
    seconds. cleaned: the name of the group that makes a clean corpus.

    Embeddings, and scores by models from elsewhere, take what they take, and count as nothing (ScoresPlan.uncounted).
    """
    plan, shards = work.study.scores, work.study.scores.section.shards
    for name, (total, after) in _learned(work, seconds, cleaned).items():
        yield group(name, StudyStage.SCORES, total, after=after)
    for name, pairs in work.scorers.items():
        after, reserved = [_read(work, corpus, cleaned) for corpus in plan.scorers[name].corpora], _reserved(work)
        yield group(f"scorer_text {name}", StudyStage.SCORES, pairs * seconds["draw: write"], after=after)
        after = [f"scorer_text {name}", "scores_vocabulary"]
        yield group(f"scorer_pieces {name}", StudyStage.SCORES, pairs * seconds["encode"], after=after)
        total = work.scorer_seconds(name) / (reserved["gpus"] or reserved["cores"])
        yield group(f"train_scorer {name}", StudyStage.SCORES, total, after=[f"scorer_pieces {name}"], **reserved)
        after = [f"train_scorer {name}"]
        yield group(f"convert_scorer {name}", StudyStage.SCORES, 0, CONVERSIONS, after=after)
    converted = [f"convert_scorer {name}" for name in work.scorers]
    for corpus in work.study.corpora.scored:
        pairs, read = work.cleaned[corpus], f"gather_unfiltered {corpus}"
        scores = []
        for score in plan.own(corpus):
            scores.append(f"{rule(score)} {corpus} {score}")
            total = pairs * pair_seconds(work, score, seconds)
            yield group(scores[-1], StudyStage.SCORES, total, shards, after=[read, "scores_aligner", *converted])
        # As slow as gathering, which reads and writes once, too.
        yield group(f"bound {corpus}", StudyStage.SCORES, pairs * seconds["gather"], after=[read, *scores])


def rule(score: str) -> str:
    """That computes it."""
    return f"score_{score if score in ('alignment', 'embeddings') else 'by_models'}"


def _learned(
    work: Work, seconds: dict[str, float], cleaned: Callable[[str], str]
) -> dict[str, tuple[float, list[str]]]:
    """Seconds of what all scores but embeddings need, and what that waits for."""
    plan = work.study.scores
    if not plan.used - {"embeddings"}:
        return {}
    trusted = plan.section.trusted
    pairs, read = work.drawn(trusted), [_read(work, corpus, cleaned) for corpus in trusted]
    return {
        "scores_pairs": (pairs * seconds["draw: write"], read),
        "scores_vocabulary": (2 * pairs * seconds["vocabulary: learn"], ["scores_pairs"]),
        "scores_aligner": (pairs * seconds["teach the aligner"], ["scores_vocabulary"]),
    }


def _read(work: Work, corpus: str, cleaned: Callable[[str], str]) -> str:
    """The group that makes the text of a corpus that scores learn from (ScoresPlan.learned_from)."""
    scored = corpus in work.study.corpora.scored and work.study.scores.own(corpus)
    return f"gather_unfiltered {corpus}" if scored else cleaned(corpus)


def _reserved(work: Work) -> dict[str, int]:
    """What the training of a model reserves."""
    model = work.study.scores.section.model
    on_gpu = model is not None and model.training.device == "cuda"
    return {"cores": work.study.scores.threads, "gpus": model.training.gpus if model and on_gpu else 0}


def pair_seconds(work: Work, score: str, seconds: dict[str, float]) -> float:
    """Seconds of a core for a score of a pair. Each of two models has pieces of either side."""
    plan = work.study.scores
    if score == "alignment":
        return seconds["encode"] + seconds["align"]
    if score in plan.uncounted or not plan.section.model:
        return 0.0
    parameters = shape(plan.shape).parameters(plan.section.pieces) or 0
    return 2 * 2 * TOKENS * parameters * work.rates.product * NATIVE_TEACHER["int8"]
