"""Rules for the scores of corpora that a JSON schema cannot express."""

from collections.abc import Iterator

from corpora.settings import Corpus
from corpora.sources import SOURCES, given
from corpora.sources.stored import StoredSource

PLACES = "column, property, file and member"


def corpus_problems(path: str, corpus: Corpus) -> Iterator[str]:
    """A line for each problem of the scores of one corpus."""
    if not corpus.score:
        return
    if corpus.role in ("dev", "test"):
        yield f"{path}.score: {corpus.role} sets are never filtered"
    for name, score in corpus.carried.items():
        if len(keys := score.place()) != 1:
            yield f"{path}.score.{name}: needs exactly one of {PLACES}; it has {' and '.join(keys) or 'none'}"
    if len(best := [name for name, score in corpus.score.items() if score.best]) > 1:
        yield f"{path}.score: {' and '.join(best)} have `best`; only one can choose, give the others a bound"
    for key in given(corpus) if corpus.carried else ():
        if not issubclass(SOURCES[key], StoredSource):
            yield f"{path}.score: {' and '.join(corpus.carried)}: {key} carries no scores"
