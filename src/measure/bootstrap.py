"""The scores of many outputs of one test set, and the paired bootstrap of their differences.

BLEU and chrF are sacreBLEU's, on detokenised, cased text; p-values are those of its paired bootstrap (Koehn 2004,
centred as in Moses). Outputs share most sentences, so statistics are computed once per distinct sentence.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.chrf import CHRF

from findings.metrics import bleu
from formats import records
from formats.gap import GapQuality

SEED = 12345  # sacreBLEU's own

Floats = NDArray[np.float64]


class Scorer:
    """One metric against the references of one test set; caches the statistics of sentences."""

    def __init__(self, metric: Metric):
        self._metric = metric
        self._seen: dict[tuple[int, str], list[float]] = {}

    @property
    def signature(self) -> str:
        return str(self._metric.get_signature())

    def statistics(self, outputs: list[str]) -> Floats:
        """Sufficient statistics, float64 (sentences, statistics)."""
        rows = []
        for number, (output, reference) in enumerate(zip(outputs, self._metric._ref_cache or [], strict=True)):
            if (number, output) not in self._seen:
                hypothesis = self._metric._preprocess_segment(output)
                self._seen[number, output] = self._metric._compute_segment_statistics(hypothesis, reference)
            rows.append(self._seen[number, output])
        return np.array(rows, np.float64)

    def score(self, total: Floats) -> float:
        """The corpus score of summed statistics."""
        return float(self._metric._compute_score_from_stats(list(total)).score)


class Bootstrap:
    """Resamples of a test set of n sentences, the same for all systems."""

    def __init__(self, sentences: int, samples: int):
        drawn = np.random.default_rng(SEED).choice(sentences, size=(samples, sentences), replace=True)
        self._counts = np.stack([np.bincount(row, minlength=sentences) for row in drawn]).astype(np.float64)

    def scores(self, scorer: Scorer, statistics: Floats) -> Floats:
        """The score of each resample, float64 (samples,)."""
        return np.array([scorer.score(total) for total in self._counts @ statistics])


def p_value(scores: Floats, baseline: Floats, difference: float) -> float:
    """sacreBLEU's p-value of a difference, but 1 for equal systems. scores, baseline: on the same resamples."""
    differences = np.abs(scores - baseline)
    if not differences.any():
        return 1.0
    beyond = np.count_nonzero(differences - differences.mean() > abs(difference))
    return (beyond + 1) / (len(scores) + 1)


class TestSet:
    """The references of one test set; caches the scores and resampled BLEU of outputs."""

    def __init__(self, path: Path, language: str, samples: int):
        references = [[reference for _, reference in records.pairs(path)]]
        self._bleu = Scorer(bleu(language, references=references))
        self._chrf = Scorer(CHRF(references=references))
        self._sentences = len(references[0])
        self._bootstrap = Bootstrap(self._sentences, samples)
        self._scored: dict[tuple[str, ...], tuple[GapQuality, Floats]] = {}

    def score(self, path: Path) -> tuple[GapQuality, Floats]:
        """Scores with signatures, and BLEU of the resamples."""
        outputs = tuple(records.read_output(path, self._sentences))
        if outputs not in self._scored:
            statistics = self._bleu.statistics(list(outputs))
            scores: GapQuality = {
                "bleu": self._bleu.score(statistics.sum(0)),
                "bleu_signature": self._bleu.signature,
                "chrf": self._chrf.score(self._chrf.statistics(list(outputs)).sum(0)),
                "chrf_signature": self._chrf.signature,
            }
            self._scored[outputs] = scores, self._bootstrap.scores(self._bleu, statistics)
        return self._scored[outputs]

    def difference(self, output: Path, other: Path) -> tuple[float, float]:
        """BLEU of one output minus that of the other, and its p-value."""
        (scores, resamples), (other_scores, other_resamples) = self.score(output), self.score(other)
        difference = scores["bleu"] - other_scores["bleu"]
        return difference, p_value(resamples, other_resamples, difference)
