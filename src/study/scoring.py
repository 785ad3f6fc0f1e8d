"""What the scores of a study's corpora take: what they are learned from, the scores, and the bounds on them."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from formats.shape import shape
from study.resources import TOKENS, operations, trained_tokens
from study.workload import NATIVE_TEACHER, STEP, StudyStage, Work

Group = TypeVar("Group")


def groups(
    work: Work, seconds: dict[str, float], group: Callable[..., Group], cleaned: Callable[[str], str]
) -> Iterator[Group]:
    """The groups of jobs. seconds: of a pair, by the name of the work. group: makes one of its name, its stage and its
    seconds. cleaned: the name of the group that makes a clean corpus.

    A server's or a command's embeddings take what they take, and count as nothing.
    """
    plan, shards = work.study.scores, work.study.scores.section.shards
    for name, (total, after) in _learned(work, seconds, cleaned).items():
        yield group(name, StudyStage.SCORES, total, after=after)
    trained = [f"train_scorer {name}" for name in plan.scorers]
    for name, job in zip(plan.scorers, trained, strict=True):
        yield group(
            job, StudyStage.SCORES, training_seconds(work, name), cores=plan.threads, after=["scores_vocabulary"]
        )
    for corpus in work.study.corpora.scored:
        pairs, read = work.cleaned[corpus], f"gather_unfiltered {corpus}"
        scores = []
        for score in plan.own(corpus):
            rule = f"score_{score if score in ('alignment', 'embeddings') else 'by_models'}"
            scores.append(f"{rule} {corpus} {score}")
            total = pairs * pair_seconds(work, score, seconds)
            yield group(scores[-1], StudyStage.SCORES, total, shards, after=[read, "scores_aligner", *trained])
        # As slow as gathering, which reads and writes once, too.
        yield group(f"bound {corpus}", StudyStage.SCORES, pairs * seconds["gather"], after=[read, *scores])


def _learned(
    work: Work, seconds: dict[str, float], cleaned: Callable[[str], str]
) -> dict[str, tuple[float, list[str]]]:
    """Seconds of what all scores but embeddings need, and what that waits for."""
    plan = work.study.scores
    if not plan.used - {"embeddings"}:
        return {}
    trusted = plan.section.trusted
    pairs = min(plan.section.pairs, sum(work.cleaned[name] for name in trusted))
    return {
        "scores_pairs": (pairs * seconds["draw: write"], [*map(cleaned, trusted)]),
        "scores_vocabulary": (2 * pairs * seconds["vocabulary: learn"], ["scores_pairs"]),
        "scores_aligner": (pairs * seconds["teach the aligner"], ["scores_vocabulary"]),
    }


def pair_seconds(work: Work, score: str, seconds: dict[str, float]) -> float:
    """Seconds of a core for a score of a pair. Each of two models has pieces of either side; of one from elsewhere
    nothing is known."""
    plan = work.study.scores
    if score == "alignment":
        return seconds["encode"] + seconds["align"]
    if score == "embeddings" or not plan.section.model:
        return 0.0
    parameters = shape(plan.shape).parameters(plan.section.pieces) or 0
    return 2 * 2 * TOKENS * parameters * work.rates.product * NATIVE_TEACHER["int8"]


def training_seconds(work: Work, scorer: str) -> float:
    """Core-seconds of the training of a model of scores; 0 on a GPU."""
    plan = work.study.scores
    if not (model := plan.section.model) or model.training.device == "cuda":
        return 0.0
    pairs = min(plan.section.pairs, sum(work.cleaned[corpus] for corpus in plan.scorers[scorer].corpora))
    of_piece = operations(plan.shape, plan.section.pieces) or 0
    return STEP * trained_tokens(model.training, pairs) * of_piece * work.rates.product
