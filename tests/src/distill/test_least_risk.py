"""Minimum Bayes risk: the scores are sacreBLEU's, whatever is compiled."""

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from distill import least_risk
from distill.least_risk import Metric
from distill.n_best_lists import NBestList, ScoredText, ranked, write
from distill.select import Selector

SACREBLEU = {"bleu": BLEU(effective_order=True), "chrf": CHRF()}
TEXT = st.lists(st.text("ab,ä😀", min_size=1, max_size=4), min_size=1, max_size=6).map(" ".join)
TEXTS = st.lists(TEXT, min_size=1, max_size=6, unique=True)
LONG = " ".join(["banana"] * 80)  # more occurrences of an n-gram than a word has bits


def reference(metric, texts):
    return np.array([[SACREBLEU[metric].sentence_score(text, [other]).score for other in texts] for text in texts])


@pytest.mark.parametrize("metric", SACREBLEU)
@given(TEXTS)
def test_scores_are_those_of_sacrebleu(metric, texts):
    assert Metric(metric).scores(texts) == pytest.approx(reference(metric, texts), abs=1e-9)


@pytest.mark.parametrize("metric", SACREBLEU)
def test_long_texts_too(metric):
    texts = [LONG, f"{LONG} und {LONG}", "ananas", " ".join(map(str, range(300))), "a"]
    assert Metric(metric).scores(texts) == pytest.approx(reference(metric, texts), abs=1e-9)


@given(TEXTS, st.data())
def test_aggregated_chrf_compares_with_mean_counts(texts, data):
    """By its definition: the counts of each n-gram are added up and divided by the number of texts."""
    counts = data.draw(st.lists(st.integers(1, 5), min_size=len(texts), max_size=len(texts)))
    lists = [CHRF()._extract_reference_info([text])["ref_ngrams"][0] for text in texts]
    expected = []
    for own in lists:
        statistics = []
        for order, grams in enumerate(own):
            mean = {
                gram: sum(count * other[order][gram] for count, other in zip(counts, lists, strict=True)) / sum(counts)
                for other in lists
                for gram in other[order]
            }
            shared = sum(min(count, mean[gram]) for gram, count in grams.items())
            statistics += [sum(grams.values()), sum(mean.values()), shared]
        expected.append(CHRF()._compute_f_score(statistics))
    found = Metric("chrf", aggregate=True).expected(texts, np.array(counts) / sum(counts))
    assert found == pytest.approx(expected, abs=1e-9)


def test_one_text_compares_with_itself_either_way():
    for metric in (Metric("bleu"), Metric("chrf"), Metric("chrf", aggregate=True)):
        assert metric.expected(["ein Hund"], np.ones(1)) == pytest.approx([100])


HYPOTHESES = st.lists(st.tuples(TEXT, st.floats(-3, 0)), min_size=1, max_size=6).map(
    lambda rows: ranked([ScoredText(*row) for row in rows])
)


@pytest.mark.parametrize("metric", SACREBLEU)
@given(HYPOTHESES)
def test_minimum_bayes_risk(metric, hypotheses):
    """One of the list, by the softmax of the scores."""
    likely = np.array([exp(hypothesis.score) for hypothesis in hypotheses])
    expected = reference(metric, [each.text for each in hypotheses]) @ likely / sum(likely)
    ((source, text, score),) = Selector(metric=Metric(metric)).mbr(iter([NBestList("s", hypotheses)]))
    chosen = next(place for place, each in enumerate(hypotheses) if each.text == text)
    assert (source, score) == ("s", f"{hypotheses[chosen].score:.4f}")
    assert expected[chosen] == pytest.approx(max(expected), abs=1e-8)


def test_samples_count_as_often_as_they_were_drawn():
    """Two of three like the second, which has the lower score."""
    drawn = [ScoredText("vielen dank", -0.1, 1), ScoredText("ein hund rennt", -2.0, 2)]
    assert least_risk.weights(drawn).tolist() == pytest.approx([1 / 3, 2 / 3])
    for metric in SACREBLEU:
        assert [*Selector(metric=Metric(metric)).mbr(iter([NBestList("s", drawn)]))] == [
            ("s", "ein hund rennt", "-2.0000")
        ]


@given(st.integers(1, 8), st.floats(-3, 0))
def test_the_first_of_equal_hypotheses_has_the_least_risk(number, score):
    scores = Metric("bleu").expected(["ein hund läuft"] * number, np.full(number, 1 / number))
    assert least_risk.order(scores) == [*range(number)] and scores == pytest.approx(100)


def test_rounding_decides_nothing():
    assert least_risk.order(np.array([50.0, 70.0, 70.0 + 1e-13, 90.0])) == [3, 1, 2, 0]


RANKED = [
    ScoredText("der hund rennt", -0.1),
    ScoredText("der hund rennt schnell", -0.2),
    ScoredText("ein tier läuft davon", -0.9),
    ScoredText("der hund rannte", -1.0),
]


def test_several_of_least_risk_the_best_and_the_most_different():
    def kept(targets, **options):
        records = getattr(Selector(keep=2, **options), targets)(iter([NBestList("s", RANKED)]))
        return [text for _, text, _ in records]

    assert kept("all") == [RANKED[0].text, RANKED[1].text]
    assert kept("different") == [RANKED[0].text, RANKED[2].text] == kept("different", metric=Metric("chrf"))
    assert kept("mbr", metric=Metric("chrf")) == [RANKED[1].text, RANKED[0].text]


def test_more_than_there_are_is_all_of_them():
    for targets in ("all", "different", "mbr"):
        records = [*getattr(Selector(keep=9), targets)(iter([NBestList("s", RANKED), NBestList("t", [])]))]
        assert sorted(text for _, text, _ in records) == sorted(text for text, _, _ in RANKED)


def test_lists_of_several_teachers_are_one(tmp_path):
    """Each has the same weight, whatever its scores are."""
    paths = [tmp_path / f"{name}.tsv.zst" for name in "ab"]
    write(paths[0], [NBestList("s", [ScoredText("x y", -0.1, 3), ScoredText("x z", -0.2, 1)]), NBestList("t", [])])
    write(paths[1], [NBestList("s", [ScoredText("x z", -9.0)]), NBestList("t", [])])
    first, second = least_risk.united(paths)
    assert first.hypotheses == [ScoredText("x y", -0.1, 0.75), ScoredText("x z", -0.2, 1.25)] and not second.hypotheses
