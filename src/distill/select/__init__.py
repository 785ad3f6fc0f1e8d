"""Select training targets from n-best lists: one hypothesis of each, or several.

- best: sequence-level knowledge distillation (Kim and Rush 2016, section 3.2)
- interpolated: the hypothesis with the highest sentence BLEU against the original target (Kim and Rush 2016, section
  3.3, as in Marian at WNMT 2018); among equal ones, the one with the best score of the teachers
- mbr: the hypothesis of minimum Bayes risk, the one most like all others (distill.least_risk); with --keep several, the
  least risk first
- all: every hypothesis, each with its source (the K best of Kim and Rush 2016), so that different epochs draw different
  translations of a sentence; with --keep the K best, or with --different the best and those least like each other

Sentence BLEU is sacreBLEU's: tokens of the language, exponential smoothing, effective order (a sentence of three tokens
counts n-grams up to three only). Sentence chrF is sacreBLEU's, too.

Several lists are united: each has the same weight, and equal texts have the weight of all.

The output has records of three columns: source, target, score (the teachers' mean log-probability per token). Sentences
without a hypothesis are dropped and counted: those that every teacher translates to nothing, and those that are too
long (distill.teacher).
"""

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from sacrebleu.metrics.bleu import BLEU

from distill import least_risk
from distill.least_risk import Metric
from distill.n_best_lists import NBestList, ScoredText
from findings.metrics import bleu
from formats import records
from nmt_frontier.errors import UserError

SAMPLES = 20  # sources without a hypothesis that the counts keep for inspection
TARGETS = ("best", "interpolated", "mbr", "all")


def closest(hypotheses: list[ScoredText], reference: str, metric: BLEU) -> tuple[ScoredText, float]:
    """The hypothesis with the highest sentence BLEU, the first among equals, and this BLEU (0 to 100)."""
    scored = [(metric.sentence_score(hypothesis.text, [reference]).score, hypothesis) for hypothesis in hypotheses]
    highest, hypothesis = max(scored, key=lambda pair: pair[0])
    return hypothesis, highest


class Selector:
    """Selects hypotheses for each sentence, and counts.

    language: of the targets, for the tokens of BLEU. metric: of mbr, and of what differs. keep: hypotheses of a
    sentence; None for one, or all of ``all``.
    """

    def __init__(self, language: str = "", metric: Metric | None = None, keep: int | None = None) -> None:
        self._bleu = bleu(language, effective_order=True)
        self._metric, self._keep = metric or Metric("bleu", language), keep
        self.translated, self.empty, self.kept, self.not_first, self.score = 0, 0, 0, 0, 0.0
        self.samples: list[tuple[int, tuple[str]]] = []  # number and source of sentences without a hypothesis

    def best(self, lists: Iterator[NBestList]) -> Iterator[records.Record]:
        """Yield source, best hypothesis and score of each sentence that has one."""
        return (self._record(each.source, each.hypotheses[0]) for each in self._translated(lists))

    def interpolated(self, lists: Iterator[NBestList], pairs: Iterator[records.Record]) -> Iterator[records.Record]:
        """Yield source, closest hypothesis and score.

        pairs: the records that were translated, with their original targets. Raises UserError for other sentences.
        """
        for number, (n_best_list, pair) in enumerate(zip_longest(lists, pairs), 1):
            translated, source = (side and side[0] for side in (n_best_list, pair))
            if translated != source:
                raise UserError(f"record {number}: n-best list of another corpus: {translated!r}, not {source!r}")
            for each in self._translated([n_best_list], number):
                yield self._chosen(each, *closest(each.hypotheses, pair[1], self._bleu))

    def mbr(self, lists: Iterator[NBestList]) -> Iterator[records.Record]:
        """Yield source, hypothesis of minimum Bayes risk and score, of each sentence the ``keep`` of least risk."""
        for each in self._translated(lists):
            expected = self._metric.expected([one.text for one in each.hypotheses], least_risk.weights(each.hypotheses))
            yield from self._highest(each, expected)

    def scored(
        self, lists: Iterator[NBestList], scores: Iterator[tuple[str, least_risk.Scores]]
    ) -> Iterator[records.Record]:
        """Yield the same by scores from elsewhere. Raises UserError for those of other lists."""
        for number, (n_best_list, row) in enumerate(zip_longest(lists, scores), 1):
            if not row or not n_best_list or (row[0], len(row[1])) != (n_best_list[0], len(n_best_list[1])):
                raise UserError(f"record {number}: scores of other n-best lists; delete them and run again")
            for each in self._translated([n_best_list], number):
                yield from self._highest(each, row[1])

    def _highest(self, each: NBestList, scores: least_risk.Scores) -> Iterator[records.Record]:
        for place in least_risk.order(scores)[: self._keep or 1]:
            yield self._chosen(each, each.hypotheses[place], float(scores[place]))

    def all(self, lists: Iterator[NBestList]) -> Iterator[records.Record]:
        """Yield source, hypothesis and score of the ``keep`` best hypotheses, best first."""
        kept = ((each, one) for each in self._translated(lists) for one in each.hypotheses[: self._keep])
        return (self._record(each.source, one) for each, one in kept)

    def different(self, lists: Iterator[NBestList]) -> Iterator[records.Record]:
        """Yield the same of the best hypothesis and those least like it and each other."""
        for each in self._translated(lists):
            alike = self._metric.scores([one.text for one in each.hypotheses])
            for place in least_risk.unlike(alike, self._keep or len(alike)):
                yield self._record(each.source, each.hypotheses[place])

    def _translated(self, lists: Iterable[NBestList], first: int = 1) -> Iterator[NBestList]:
        """Pass on the lists that have a hypothesis, and count the others. first: number of the first list."""
        for number, n_best_list in enumerate(lists, first):
            if n_best_list.hypotheses:
                self.translated += 1
                yield n_best_list
                continue
            self.empty += 1
            if len(self.samples) < SAMPLES:
                self.samples.append((number, (n_best_list.source,)))

    def _chosen(self, n_best_list: NBestList, hypothesis: ScoredText, score: float) -> records.Record:
        """The record of a hypothesis that was chosen for its BLEU or chrF."""
        self.not_first += hypothesis is not n_best_list.hypotheses[0]
        self.score += score
        return self._record(n_best_list.source, hypothesis)

    def _record(self, source: str, hypothesis: ScoredText) -> records.Record:
        self.kept += 1
        return source, hypothesis.text, f"{hypothesis.score:.4f}"

    def counts(self, targets: str, score: str = "sentence_bleu") -> dict[str, object]:
        """What was selected and dropped, for JSON; ``targets`` is one of TARGETS, ``score`` a name of its sum."""
        counts = {
            "lines_in": self.translated + self.empty,
            "lines_out": self.kept,
            "dropped": {"empty_translation": self.empty},
            "samples": {"empty_translation": self.samples},
        }
        if targets in ("interpolated", "mbr"):  # over all lines kept; not_first: not the teachers' best
            counts["sums"] = {"not_first": self.not_first, score: self.score}
        return counts
