"""Figures 1 and 2 of Marian at WNMT 2018: whose cost and whose BLEU each point has."""

import pytest
from matplotlib.container import ErrorbarContainer
from measured import measured

from formats.shape import registry, shape
from nmt_frontier.errors import UserError
from papers.marian2018 import figures_report
from papers.marian2018.figures_report import FAMILIES, LINES, MARKERS, points
from report.published import published


def timed(name, *seconds, **values):
    """1,020 tokens on one core in the median of these seconds: 36 million source tokens per USD in one second."""
    slow, fast = max(seconds), min(seconds)
    spread = {"text_seconds": sorted(seconds)[len(seconds) // 2], "text_seconds_min": fast, "text_seconds_max": slow}
    of = {"engine": "native", "compute_type": "float32", "vocabulary_map": True, "cores": [0], "speed_only": True}
    of |= {
        "cpu": "a CPU",
        "sentences": 200,
        "test_set": "newstest2014",
        "source_words": 1000,
        "source_words_per_second": 1000 / spread["text_seconds"],
        "source_tokens_moses": 1020,
        "runs": len(seconds),
    }
    return measured(shape=str(shape(registry()[name])), **of | spread | values)


def in_opennmt_tf(name, *seconds):
    return timed(name, *seconds, engine="opennmt-tf", vocabulary_map=False)


def points_of(records):
    return {(point.line, point.row): point for point in points(records) if point.line in ("native", "opennmt-tf")}


def test_all_rows_of_both_tables_are_there_in_a_family():
    shown = points([timed("marian-big", 1.0)])
    assert len(shown) == 22 + 16 + 1
    assert {point.line for point in shown} == {*LINES} - {"opennmt-tf"}
    assert {point.family for point in shown} == {*MARKERS} == {*FAMILIES.values()}
    families = {point.row: point.family for point in shown}
    assert [families[row] for row in ("2", "3", "13i", "14", "22")] == [
        "baselines", "teachers", "averaging attention", "Transformer", "recurrent",
    ]  # fmt: skip
    printed = [(system.bleu, system.tokens_per_usd) for system in published()]
    assert [point.place for point in shown[:-1]] == printed


def test_measured_points_have_the_bleu_that_the_paper_prints_on_its_cpu_else_on_its_gpu():
    names = ("marian-base", "marian-small-aan", "marian-rnn-small")
    found = points_of([timed(name, 2.0) for name in names])
    # (10) has 27.6 on the GPU; (15) and the recurrent ones are there only, and (20) is Marian's, as (18) is not.
    assert {row: point.bleu for (_, row), point in found.items()} == {"10": 27.4, "15": 25.8, "20": 24.1}
    assert [point.cost.middle for point in found.values()] == pytest.approx([18e6] * 3)


def test_each_engine_and_type_stands_beside_the_rows_that_it_has():
    int8 = [timed(name, 1.0, compute_type="int8") for name in ("marian-big", "marian-base")]
    found = points_of([in_opennmt_tf("marian-big", 4.0), timed("marian-big", 2.0), timed("wngt2020-base", 1.0), *int8])
    assert {place: point.bleu for place, point in found.items()} == {
        ("opennmt-tf", "7"): 28.1, ("native", "7"): 28.1, ("native", "7i"): 27.5,
    }  # fmt: skip


def test_bars_go_from_the_slowest_run_to_the_fastest():
    (point,) = points_of([timed("marian-big", 1.0, 2.0, 4.0)]).values()
    assert point.cost == pytest.approx((18e6, 9e6, 36e6))


@pytest.fixture
def without_numbers(monkeypatch):
    """Numbers beside points take seconds, and have tests of their own."""
    monkeypatch.setattr(figures_report.labels, "write", lambda *_: None)


@pytest.mark.usefixtures("without_numbers")
@pytest.mark.parametrize(
    ("draw", "scale"), [(figures_report.draw_figure1, "log"), (figures_report.draw_figure2, "linear")]
)
@pytest.mark.slow
def test_pictures_connect_families_and_say_whose_bleu_it_is(draw, scale):
    records = [in_opennmt_tf("marian-big", 4.0), timed("marian-big", 1.0, 2.0, 4.0), timed("marian-small", 0.5)]
    picture = draw(records)
    axes, side = picture.axes
    assert axes.get_yscale() == scale and "source tokens per USD" in axes.get_ylabel()
    drawn = [container for container in axes.containers if isinstance(container, ErrorbarContainer)]
    lines = [container.lines[0] for container in drawn]
    (native,) = (line for line in lines if line.get_color() == LINES["native"].color)
    assert native.get_xydata().tolist() == [[28.1, pytest.approx(18e6)], [26.5, pytest.approx(72e6)]]
    lowest = min(line.get_xdata().min() for line in lines)
    assert lowest == (16.8 if scale == "log" else 25.7)
    baselines = [line for line in lines if line.get_marker() == MARKERS["baselines"]]
    assert len(baselines) == 2 and all(line.get_linestyle() == "None" for line in baselines)
    legend = [text.get_text() for text in side.get_legend().get_texts()]
    assert "native engine: cost measured, BLEU the paper's" in legend
    assert "Filled: cost measured, BLEU the paper's" in picture.get_suptitle()
    note = " ".join(picture.get_supxlabel().split())
    assert "random weights, which have no BLEU" in note and "one core of a CPU" in note
    assert ("24i" in side.texts[0].get_text()) == (scale == "log")


def test_records_of_other_systems_are_refused():
    with pytest.raises(UserError, match="no record is of a system of Junczys-Dowmunt"):
        figures_report.draw_figure1([timed("wngt2020-base", 1.0)])
