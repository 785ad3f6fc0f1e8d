"""The hypothesis of minimum Bayes risk in an n-best list (Kumar and Byrne 2004, equation 1; Eikema and Aziz 2020).

It has the highest expected sentence BLEU against the list: the mean over all hypotheses, itself included, each weighted
with its probability, the softmax of the scores. Scores are log-probabilities per token, which order the lists too: with
those of whole sentences, short hypotheses would weigh more. BLEU is that of interpolated targets (distill.select).

The tokens of a hypothesis, and its n-grams, are counted once; the matches of all pairs come out of one array.
"""

from collections.abc import Callable
from math import exp, fsum

import numpy as np
from sacrebleu.metrics import BLEU
from sacrebleu.metrics.helpers import extract_all_word_ngrams

from distill.n_best_lists import Hypothesis

ORDER = 4  # of the longest n-grams

Tokenizer = Callable[[str], str]  # gives tokens with spaces between them


def least(hypotheses: list[Hypothesis], tokenizer: Tokenizer) -> tuple[Hypothesis, float]:
    """The hypothesis with the least risk, the first among equals, and its expected sentence BLEU (0 to 100)."""
    highest = max(hypothesis.score for hypothesis in hypotheses)
    weights = [exp(hypothesis.score - highest) for hypothesis in hypotheses]
    # fsum: the order of the list must not decide between almost equal ones
    expected = [
        fsum(weight * bleu for weight, bleu in zip(weights, row, strict=True)) / fsum(weights)
        for row in sentence_bleu([hypothesis.text for hypothesis in hypotheses], tokenizer)
    ]
    best = max(range(len(hypotheses)), key=expected.__getitem__)
    return hypotheses[best], expected[best]


def sentence_bleu(texts: list[str], tokenizer: Tokenizer) -> list[list[float]]:
    """Sentence BLEU (0 to 100) of each text, a row, against each as the reference, a column."""
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


def _matches(ngrams: list[dict[tuple[str, ...], int]]) -> np.ndarray:
    """How many n-grams two texts share, by the order of the n-grams: int64 (texts, texts, ORDER)."""
    columns = {ngram: column for column, ngram in enumerate(dict.fromkeys(ngram for text in ngrams for ngram in text))}
    counts = np.zeros((len(ngrams), len(columns)), np.float32)
    for row, text in zip(counts, ngrams, strict=True):
        row[[columns[ngram] for ngram in text]] = list(text.values())
    orders = np.zeros((len(columns), ORDER), np.float32)
    orders[np.arange(len(columns)), [len(ngram) - 1 for ngram in columns]] = 1
    return (np.minimum(counts[:, None], counts) @ orders).astype(np.int64)
