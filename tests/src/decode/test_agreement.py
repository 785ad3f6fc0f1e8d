"""The benchmark of agreement: equal translations, ties, and which search found a better one."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("nmt_frontier.bindings", reason="the native engine is not installed here")
sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
agreement = importlib.import_module("agreement")
LINES = ["A dog runs.", "Two men see a dog run.", "A man"]


class Scoring:
    """A worker that gives these scores to every piece of a target and to its end."""

    def __init__(self, *scores):
        self.scores = scores

    def score(self, sources, targets):
        return [[score] * (len(target) + 1) for score, target in zip(self.scores, targets, strict=True)]


def test_what_differs_is_a_tie_or_one_of_the_searches_found_more(monkeypatch):
    native = [([3, 4], -1.0), ([3], -1.0), ([4], -1.0), ([5], -1.0)]
    peer = [([3, 4], -1.0002), ([6], -1.00009), ([6], -1.5), ([6], -0.5)]
    monkeypatch.setattr(agreement, "outputs", lambda *_, **options: [[best] for best in native])
    twins = agreement.TwinModels(Scoring(-1.0, -1.00009, -1.5, -0.5), [[3]] * 4, lambda beam: peer, 9)
    found = agreement.compared(twins, 1)
    assert [found[name] for name in ("equal", "ties", "ours_better", "theirs_better")] == [1, 1, 1, 1]
    assert found["score_difference"] == pytest.approx(0.0002) and found["distinct"] == 4
    alike = agreement.compared(replace(twins, peer=lambda beam: native), 1)
    assert (alike["equal"], alike["ties"], alike["score_difference"]) == (4, 0, 0.5)


def test_what_a_wider_beam_finds_is_counted(monkeypatch):
    native = {4: [([3], -1.0), ([4], -1.0), ([5], -1.0)], 8: [([6], -0.5), ([4], -1.0), ([5], -1.0)]}
    peer = [([6], -0.5), ([4], -1.0), ([7], -0.5)]
    monkeypatch.setattr(agreement, "outputs", lambda *_, beam_size, **options: [[best] for best in native[beam_size]])
    twins = agreement.TwinModels(Scoring(-0.5, -1.0, -0.5), [[3]] * 3, lambda beam: peer, 9)
    found = agreement.compared(twins, 4)
    assert (found["equal"], found["theirs_better"], found["wider"]) == (1, 2, 1)


def test_the_same_word_is_the_same_piece():
    first, second, third = agreement.numbered(LINES)
    assert (first, second[3:5], third) == ([0, 1, 2], [6, 1], [0, 8])
    assert max(agreement.numbered([" ".join(map(str, range(100)))])[0]) == agreement.decoders.PIECES - 1


def test_the_table_has_a_row_for_each_architecture_and_search():
    row = {"peer": "marian", "architecture": "ssru", "beam_size": 4, "sentences": 1000, "equal": 997, "ties": 2}
    row |= {"ours_better": 1, "theirs_better": 0, "wider": None, "score_difference": 2.5e-5}
    result = {"text": "captions", "isa": "avx2", "cpu": "a CPU", "pieces": 90, "longest": 10}
    page = agreement.agreement_table(result | {"rows": [row, row | {"beam_size": 1}]})
    assert [line.split("|")[3].strip() for line in page.splitlines() if "| ssru" in line] == ["beam 4", "greedy"]
    assert "99.7" in page and "2.5e-05" in page and "1,000 sentences" in page and "captions" in page


@pytest.mark.slow
def test_both_engines_are_asked_for_the_same(tmp_path):
    """The engine's scores of its translations, some as long as allowed, are those of its search."""
    _, lines = agreement.sentences(None, 60)
    shapes, made = agreement.PEERS["opennmt-tf"]
    twins = made(shapes["averaging, plain"], agreement.numbered(lines), tmp_path)
    found = agreement.compared(twins, 4)
    assert found["equal"] >= 59 and found["distinct"] > 30 and found["score_difference"] < 1e-4
    pieces, scores = zip(*twins.native(4), strict=True)
    np.testing.assert_allclose(twins.scores(twins.sources, pieces), scores, rtol=0, atol=1e-4)
