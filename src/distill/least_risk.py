"""Minimum Bayes risk: which of several texts is the most like all others (Kumar and Byrne 2004, equation 1).

The expected score of a text is the mean of its sentence BLEU or chrF against all texts, itself included, by their
weights. Those of samples are their counts (Eikema and Aziz 2022). Those of an n-best list are the softmax of the
scores, log-probabilities per token: with those of whole sentences, short hypotheses would get more weight.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distill import n_best_lists, ngrams
from distill.n_best_lists import NBestList, ScoredText, merged
from findings.metrics import bleu
from formats import records
from nmt_frontier.errors import UserError

ROUNDING = 1e-9  # of a score of 0 to 100: texts that differ by less are equal
WORDS, CHARACTERS = 4, 6  # of the longest n-grams of BLEU and chrF
METRICS = ("bleu", "chrf")

Scores = NDArray[np.float64]


def weights(hypotheses: Sequence[ScoredText]) -> Scores:
    """The share of each hypothesis in the expectation: by its own weight, or else by its score."""
    given = [hypothesis.weight for hypothesis in hypotheses]
    scores = np.array([hypothesis.score for hypothesis in hypotheses])
    found = np.exp(scores - scores.max()) if None in given else np.array(given, np.float64)
    return np.asarray(found / found.sum())


def shared(n_best_list: NBestList) -> NBestList:
    """The list with these shares as weights, so that those of several lists can be added."""
    source, hypotheses = n_best_list
    shares = weights(hypotheses).tolist() if hypotheses else []
    return NBestList(source, [one._replace(weight=share) for one, share in zip(hypotheses, shares, strict=True)])


def united(paths: list[Path]) -> Iterator[NBestList]:
    """The lists of a file, or one of each sentence with the hypotheses of all files."""
    return merged(paths, shared) if len(paths) > 1 else n_best_lists.read(paths[0])


def read_scores(path: Path) -> Iterator[tuple[str, Scores]]:
    """Yield the source and the expected scores of each list, as distill.score wrote them. Raises UserError."""
    for number, record in enumerate(records.read(path), 1):
        try:
            source, scores = record
            yield source, np.array(json.loads(scores), np.float64)
        except (ValueError, TypeError):
            raise UserError(f"{path}, record {number}: no scores; give what distill.score made") from None


class Metric:
    """How alike texts are. name: of METRICS. language: of the texts, for the tokens of BLEU. aggregate: against the
    mean of all texts, for chrF alone (distill.ngrams)."""

    def __init__(self, name: str, language: str = "", aggregate: bool = False):
        self._tokenizer: Callable[[str], str] = bleu(language).tokenizer
        self._of_words, self._aggregate = name == "bleu", aggregate

    def expected(self, texts: Sequence[str], weights: Scores) -> Scores:
        """The expected score (0 to 100) of each text. weights: with the sum 1."""
        if self._aggregate:
            return ngrams.aggregate_chrf(*self._symbols(texts), weights, CHARACTERS)
        return np.asarray(self.scores(texts) @ weights)

    def scores(self, texts: Sequence[str]) -> Scores:
        """The score of each text (row) against each text as the reference (column)."""
        if self._of_words:
            return ngrams.sentence_bleu(ngrams.shared(*self._symbols(texts), WORDS))
        return ngrams.sentence_chrf(ngrams.shared(*self._symbols(texts), CHARACTERS))

    def _symbols(self, texts: Sequence[str]) -> tuple[ngrams.Symbols, NDArray[np.int64]]:
        """Words or characters, as numbers, and where those of each text end."""
        words = [(self._tokenizer(text) if self._of_words else text).split() for text in texts]
        if self._of_words:
            numbers: dict[str, int] = {}
            known = [numbers.setdefault(word, len(numbers)) for text in words for word in text]
            return np.array(known, np.uint32), np.cumsum([*map(len, words)])
        characters = ["".join(text) for text in words]
        symbols = np.frombuffer("".join(characters).encode("utf-32-le"), np.uint32)
        return symbols, np.cumsum([*map(len, characters)])


def order(scores: NDArray[Any]) -> list[int]:
    """The places of scores, the highest first; among equal ones the first of them."""
    return [int(place) for place in np.argsort(-np.round(scores / ROUNDING), kind="stable")]


def unlike(alike: Scores, number: int) -> list[int]:
    """The places of so many texts: the first, then each time the one that is least like the closest of those before.

    alike: the score of each text (row) against each text (column).
    """
    chosen, closest = [0], alike[:, 0].copy()
    for _ in range(min(number, len(alike)) - 1):
        closest[chosen] = np.inf
        chosen.append(order(-closest)[0])
        closest = np.maximum(closest, alike[:, chosen[-1]])
    return chosen
