"""Our time for shapes of published students against their published quality: nothing else is paired."""

from pathlib import Path

import pytest

from formats import measurement
from nmt_frontier.errors import UserError
from report import quality_front

KEPT = Path(__file__).parents[3] / "results/reference"
INPUTS = KEPT / "published-students/quality.json", KEPT / "paper-sizes/architectures.json"


def test_each_way_stands_at_the_published_quality_of_its_shape():
    front = quality_front.read(*INPUTS)
    picture = quality_front.draw(front)
    tiny = front.timed["bergamot-tiny"]["int8"].words_per_second
    titles = [axes.get_title(loc="left") for axes in picture.axes]
    assert titles == ["newstest2019", "newstest2020", "WMT 2022", "FLORES test"]
    drawn = {(line.get_xdata()[0], line.get_ydata()[0]) for line in picture.axes[0].lines}
    assert (tiny, 44.5) in drawn and {(0, 40.4), (0, 37.0), (0, 34.6)} <= drawn
    assert picture.legends[0].get_title().get_text() == quality_front.TITLE  # what is ours, on its face
    text = quality_front.table(front)
    assert f" {tiny:,.0f} | " in text and "44.5 · 0.8439" in text and "random weights" in text


def test_the_page_has_the_numbers_of_the_picture():
    page = (KEPT / "published-students/README.md").read_text()
    front = quality_front.read(*INPUTS)
    for name, ways in front.timed.items():
        speeds = " | ".join(f"{ways[kind].words_per_second:,.0f}" for kind in quality_front.COLORS)
        bleu = " | ".join(f"{score:.1f}" for score in front.quality["students"][name]["bleu"].values())
        assert f"| {speeds} | {bleu} |" in page


def test_a_shape_that_was_not_timed_is_named(tmp_path):
    others = [record for record in measurement.read(INPUTS[1]) if "bergamot" not in record.system.name]
    measurement.write(tmp_path / "x.json", others[:2])
    with pytest.raises(UserError, match=r"x.json: no record of bergamot-ssru-tiny; time it"):
        quality_front.read(INPUTS[0], tmp_path / "x.json")
