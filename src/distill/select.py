"""Select training targets from n-best lists: one hypothesis of each, or all.

- best: sequence-level knowledge distillation (Kim and Rush 2016, section 3.2)
- interpolated: the hypothesis with the highest sentence BLEU against the original target (Kim and Rush 2016, section
  3.3, as in Marian at WNMT 2018); among equal ones, the one with the best score of the teachers
- mbr: the hypothesis of minimum Bayes risk (Kumar and Byrne 2004, equation 1; Eikema and Aziz 2020), that is with the
  highest expected sentence BLEU: the mean over all hypotheses, itself included, weighted with the softmax of the
  scores. Scores are log-probabilities per token; with those of whole sentences, short hypotheses would get more weight.
- all: every hypothesis, each with its source (the K best of Kim and Rush 2016), so that different epochs draw different
  translations of a sentence

Sentence BLEU is sacreBLEU's: tokens of the language, exponential smoothing, effective order (a sentence of three tokens
counts n-grams up to three only).

The output has records of three columns: source, target, score (the teachers' mean log-probability per token). Sentences
without a hypothesis are dropped and counted: those that every teacher translates to nothing, and those that are too
long (distill.teacher).
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from math import exp, fsum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.helpers import extract_all_word_ngrams

from distill import n_best_lists
from distill.n_best_lists import NBestList, ScoredText
from findings.metrics import bleu
from formats import records
from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from nmt_frontier.progress import progress

Tokenizer = Callable[[str], str]  # puts spaces between tokens
ORDER = 4  # of the longest n-grams
SAMPLES = 20  # sources without a hypothesis that the counts keep for inspection
TARGETS = ("best", "interpolated", "mbr", "all")


def least_risk(hypotheses: list[ScoredText], tokenizer: Tokenizer) -> tuple[ScoredText, float]:
    """The hypothesis with the least risk, the first among equals, and its expected sentence BLEU (0 to 100)."""
    highest = max(hypothesis.score for hypothesis in hypotheses)
    weights = [exp(hypothesis.score - highest) for hypothesis in hypotheses]
    # fsum, so that the order of the list does not decide between almost equal hypotheses
    expected = [
        fsum(weight * bleu for weight, bleu in zip(weights, row, strict=True)) / fsum(weights)
        for row in sentence_bleu([hypothesis.text for hypothesis in hypotheses], tokenizer)
    ]
    best = max(range(len(hypotheses)), key=expected.__getitem__)
    return hypotheses[best], expected[best]


def sentence_bleu(texts: list[str], tokenizer: Tokenizer) -> list[list[float]]:
    """Sentence BLEU (0 to 100) of each text (row) against each text as the reference (column)."""
    ngrams, lengths = zip(*(extract_all_word_ngrams(tokenizer(text), 1, ORDER) for text in texts), strict=True)
    matches = _matches(ngrams)
    return [
        [
            BLEU.compute_bleu(
                row[column].tolist(),
                [max(lengths[text] - order, 0) for order in range(ORDER)],
                lengths[text],
                length,
                smooth_method="exp",
                effective_order=True,
            ).score
            for column, length in enumerate(lengths)
        ]
        for text, row in enumerate(matches)
    ]


def _matches(ngrams: list[dict[tuple[str, ...], int]]) -> NDArray[Any]:
    """How many n-grams of each order two texts share: int64 (texts, texts, ORDER)."""
    columns = {ngram: column for column, ngram in enumerate(dict.fromkeys(ngram for text in ngrams for ngram in text))}
    counts = np.zeros((len(ngrams), len(columns)), np.float32)
    for row, text in zip(counts, ngrams, strict=True):
        row[[columns[ngram] for ngram in text]] = list(text.values())
    orders = np.zeros((len(columns), ORDER), np.float32)
    orders[np.arange(len(columns)), [len(ngram) - 1 for ngram in columns]] = 1
    return (np.minimum(counts[:, None], counts) @ orders).astype(np.int64)


def closest(hypotheses: list[ScoredText], reference: str, metric: BLEU) -> tuple[ScoredText, float]:
    """The hypothesis with the highest sentence BLEU, the first among equals, and this BLEU (0 to 100)."""
    scored = [(metric.sentence_score(hypothesis.text, [reference]).score, hypothesis) for hypothesis in hypotheses]
    highest, hypothesis = max(scored, key=lambda pair: pair[0])
    return hypothesis, highest


class Selector:
    """Selects hypotheses for each sentence, and counts. language: of the targets, for the tokens of BLEU."""

    def __init__(self, language: str = "") -> None:
        self._metric = bleu(language, effective_order=True)
        self.translated, self.empty, self.kept, self.not_first, self.bleu = 0, 0, 0, 0, 0.0
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
                yield self._chosen(each, *closest(each.hypotheses, pair[1], self._metric))

    def mbr(self, lists: Iterator[NBestList]) -> Iterator[records.Record]:
        """Yield source, hypothesis of minimum Bayes risk and score."""
        for each in self._translated(lists):
            yield self._chosen(each, *least_risk(each.hypotheses, self._metric.tokenizer))

    def all(self, lists: Iterator[NBestList]) -> Iterator[records.Record]:
        """Yield source, hypothesis and score of every hypothesis, best first."""
        return (self._record(each.source, one) for each in self._translated(lists) for one in each.hypotheses)

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
        """The record of a hypothesis that was chosen for its BLEU."""
        self.not_first += hypothesis is not n_best_list.hypotheses[0]
        self.bleu += score
        return self._record(n_best_list.source, hypothesis)

    def _record(self, source: str, hypothesis: ScoredText) -> records.Record:
        self.kept += 1
        return source, hypothesis.text, f"{hypothesis.score:.4f}"

    def counts(self, targets: str) -> dict[str, object]:
        """What was selected and dropped, for JSON; ``targets`` is one of TARGETS."""
        counts = {
            "lines_in": self.translated + self.empty,
            "lines_out": self.kept,
            "dropped": {"empty_translation": self.empty},
            "samples": {"empty_translation": self.samples},
        }
        if targets in ("interpolated", "mbr"):  # over all lines kept; not_first: not the teachers' best
            counts["sums"] = {"not_first": self.not_first, "sentence_bleu": self.bleu}
        return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--n-best-lists", type=there, required=True, help="made by distill.translate or distill.rescore"
    )
    parser.add_argument("--targets", choices=TARGETS, required=True, help="what students learn, see above")
    parser.add_argument("--corpus", type=there, help="records that were translated; interpolated needs their targets")
    parser.add_argument("--target-language", default="", help="chooses the tokens of BLEU (default: 13a)")
    parser.add_argument("--shard", type=records.shard, help="K/N: the k-th of n parts of it (default: all of it)")
    parser.add_argument("--output", type=Path, required=True, help="records to write; counts go to a JSON beside them")
    args = parser.parse_args()

    selection = Selector(args.target_language)
    total = records.count(args.n_best_lists)
    lists = progress(n_best_lists.read(args.n_best_lists), f"select {records.name(args.output)}", total, "sentence")
    if args.targets != "interpolated":
        pairs = getattr(selection, args.targets)(lists)
    elif args.corpus:
        pairs = selection.interpolated(lists, records.read(args.corpus, args.shard))
    else:
        raise UserError("--targets interpolated needs --corpus")
    _, checksum = records.write(args.output, pairs)
    write_json(records.info(args.output), selection.counts(args.targets) | {"sha256": checksum})


if __name__ == "__main__":
    command(main)
