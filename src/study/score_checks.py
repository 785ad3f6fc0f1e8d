"""Rules for the scores of corpora that a JSON schema cannot express."""

import shlex
from collections.abc import Iterator

from corpora.settings import OWN_SCORES, Corpus
from corpora.sources import SOURCES, given
from corpora.sources.stored import StoredSource
from scores.settings import EmbeddingsSection
from study import http_checks
from study.configuration import StudyConfiguration
from study.configuration.scores import OwnScoresSection
from study.system_checks import shape_problems, training_problems

PLACES = "column, property, file and member"


def corpus_problems(path: str, corpus: Corpus, section: OwnScoresSection | None) -> Iterator[str]:
    """A line for each problem of the scores of one corpus. section: how the study computes its own."""
    if not corpus.score:
        return
    if corpus.role in ("dev", "test"):
        yield f"{path}.score: {corpus.role} sets are never filtered"
    for name, score in corpus.carried.items():
        if len(keys := score.place()) != 1:
            own = f"none; those of the study are {', '.join(OWN_SCORES)}"
            yield f"{path}.score.{name}: needs exactly one of {PLACES}; it has {' and '.join(keys) or own}"
    if len(best := [name for name, score in corpus.score.items() if score.best]) > 1:
        yield f"{path}.score: {' and '.join(best)} have `best`; only one can choose, give the others a bound"
    for key in given(corpus) if corpus.carried else ():
        if not issubclass(SOURCES[key], StoredSource):
            yield f"{path}.score: {' and '.join(corpus.carried)}: {key} carries no scores"
    yield from _own_problems(path, corpus, section)


def _own_problems(path: str, corpus: Corpus, section: OwnScoresSection | None) -> Iterator[str]:
    for name, score in (corpus.score or {}).items():
        if name not in OWN_SCORES:
            continue
        where = f"{path}.score.{name}"
        if score.place() or score.better == "low":
            yield f"{where}: is computed by the study, high is better; it has only bound and best"
        of_source = name == "domain" and section and section.domain and section.domain.side == "source"
        if corpus.role != "train" and not (corpus.role == "monolingual" and of_source):
            yield f"{where}: is a score of pairs"
        yield from (f"{where}: needs {what}" for what in _missing(name, section or OwnScoresSection()))


def _missing(name: str, section: OwnScoresSection) -> Iterator[str]:
    """What a score needs that the study does not say."""
    trained = name == "domain" or (name == "translation" and section.translation.models is None)
    if trained and section.model is None:
        yield "models to be trained (scores.model)" + " or given (scores.translation.models)" * (name == "translation")
    if name == "embeddings" and section.embeddings is None:
        yield "a server or a command (scores.embeddings)"
    if name == "domain" and section.domain is None:
        yield "text to be compared with (scores.domain)"
    if (trained or name == "alignment") and not section.trusted:
        yield "corpora to learn from (scores.trusted)"


def problems(config: StudyConfiguration) -> Iterator[str]:
    """A line for each problem of ``scores``."""
    if (section := config.scores) is None:
        return
    near = section.domain.near if section.domain else []
    roles = ("train", "monolingual") if section.domain and section.domain.side == "source" else ("train",)
    for key, names, allowed in (("trusted", section.trusted, ("train",)), ("domain.near", near, roles)):
        known = [name for name, each in config.corpora.items() if each.role in allowed]
        for name in names:
            if name not in known:
                yield f"scores.{key}: {name!r} is none of the corpora that can be learned from, {', '.join(known)}"
    if (given_models := section.translation.models) and len({*given_models}) == 1:
        yield f"scores.translation.models: are both {given_models[0]}; the second one has the other direction"
    if section.model:
        yield from shape_problems("scores.model", section.model)
        yield from training_problems("scores.model.training", section.model.training)
    scored = {name for name, each in config.corpora.items() if "domain" in (each.score or {})}
    if near and scored and scored <= {*near}:
        yield f"scores.domain.near: {' and '.join(sorted(scored))} would be compared with itself; score other text"
    if section.embeddings:
        yield from _embedding_problems(section.embeddings)


def _embedding_problems(section: EmbeddingsSection) -> Iterator[str]:
    path = "scores.embeddings"
    if (section.address is None) == (section.command is None):
        yield f"{path}: needs either address or command; it has {'both' if section.command else 'neither'}"
    yield from http_checks.server_problems(path, section.address, section.key)
    try:
        if section.command is not None and not shlex.split(section.command):
            yield f"{path}.command: names no program"
    except ValueError as error:
        yield f"{path}.command: {error}: {section.command}"
