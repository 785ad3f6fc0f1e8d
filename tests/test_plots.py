import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Annotation, Text

from decode import figure, front_plot, funnel_plot, labels, learning_plot, measurements, published_plot
from formats.errors import UserError
from formats.files import write_json

FIXTURE = Path(__file__).parent / "data" / "measurements.json"
TIMED = "test_2016_flickr"
SPEED, COST = "source_words_per_second", "source_words_per_usd"


@pytest.fixture(scope="module")
def timed():
    return measurements.of_test_set(measurements.read(FIXTURE), TIMED)


def with_int16(records):
    """As many points as a whole study has: int16 between the other types."""
    made = []
    for record in records:
        if record["engine"] == "ctranslate2" and record["compute_type"] == "float32":
            faster = {key: record[key] * 1.2 for key in (SPEED, COST, f"{SPEED}_min", f"{SPEED}_max")}
            made.append(record | faster | {"compute_type": "int16", "effective_compute_type": "int16"})
    return records + made


def names(axes):
    return [text for text in axes.texts if isinstance(text, Annotation)]


def text_box(text):
    """Of the words alone, without the line to their point."""
    return Text.get_window_extent(text).extents


def run(module, *arguments):
    call = [sys.executable, "-m", f"decode.{module}", *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, check=False)


# Fronts


@pytest.mark.parametrize(("axis", "scale"), [(SPEED, "log"), (COST, "linear")])
def test_every_point_has_a_name_that_covers_nothing(timed, axis, scale):
    records = with_int16(timed)
    picture = front_plot.draw(records, axis, scale)
    picture.draw_without_rendering()
    top, *panels = picture.axes
    shown = front_plot.around_the_best(records) if scale == "linear" else records
    named = sorted(text.get_text() for axes in panels for text in names(axes))
    near = [record for system in measurements.systems(shown) for record in front_plot.near(shown, system)]
    assert named == sorted(front_plot.name(record) for record in near)
    assert len(names(top)) == len(front_plot.headings(shown))
    for axes in picture.axes:
        boxes = np.array([text_box(text) for text in names(axes)])
        assert labels.overlap(boxes, boxes).sum() == pytest.approx(np.prod(boxes[:, 2:] - boxes[:, :2], axis=1).sum())
        drawn = shown if axes is top else front_plot.near(shown, axes.get_title(loc="left").split(":")[0])
        points = axes.transData.transform([(record[axis], record["bleu"]) for record in drawn])
        assert not labels.inside(points, boxes).any()


@pytest.mark.parametrize(
    ("keep", "scale"),
    [
        (lambda r: r["system"] in {"teacher", "deep"}, "log"),
        (lambda r: not r["vocabulary_map"], "linear"),
        (lambda r: r["engine"] == "opennmt-tf", "log"),
        (lambda r: r["engine"] == "ctranslate2", "linear"),
        (lambda r: r["system"] == "tiny" and r["beam_size"] == 1 and r["compute_type"] == "int8", "log"),
    ],
    ids=["two systems", "no map", "baselines only", "no baseline", "two points"],
)
def test_whatever_was_measured_is_drawn(timed, keep, scale):
    records = [record for record in timed if keep(record)]
    shown = front_plot.around_the_best(records) if scale == "linear" else records
    picture = front_plot.draw(records, SPEED, scale)
    assert len(picture.axes) == 1 + len(measurements.systems(shown))


def test_a_ring_marks_the_best_model_where_it_is_shown(timed):
    best = measurements.best(timed)
    picture = front_plot.draw(timed, SPEED, "log", best=best)
    rings = [(axes, line) for axes in picture.axes for line in axes.lines if line.get_markersize() == front_plot.RING]
    assert [tuple(line.get_xydata()[0]) for _, line in rings] == [(best[SPEED], best["bleu"])] * 2
    assert rings[1][0].get_title(loc="left").startswith(f"{best['system']}:")
    assert f"Ring: the best model, {measurements.RULE}." in picture.get_supxlabel()
    other = front_plot.draw([record for record in timed if record["role"] == "teacher"], SPEED, "log", best=best)
    assert "Ring" not in other.get_supxlabel()


def test_one_point(timed):
    assert len(front_plot.draw(timed[:1], SPEED, "log").axes) == 2


def test_nothing_to_draw(timed):
    with pytest.raises(UserError, match="no measurement has both BLEU and source_words_per_usd"):
        front_plot.draw([record | {"bleu": None} for record in timed], COST, "log")


def test_around_the_best_student_and_above(timed):
    best = max(record["bleu"] for record in timed if record["role"] == "student")
    shown = front_plot.around_the_best(timed)
    assert {"teacher", "deep"} <= {record["system"] for record in shown}
    assert min(record["bleu"] for record in shown) >= best - front_plot.AROUND
    assert front_plot.around_the_best([r for r in timed if r["role"] == "control"])


def test_bars_go_from_the_slowest_run_to_the_fastest_in_units_of_the_axis(timed):
    record = timed[0] | {SPEED: 100.0, f"{SPEED}_min": 90.0, f"{SPEED}_max": 120.0, COST: 1000.0}
    assert front_plot.Plot([record], SPEED, "log").spread(record) == [[10.0], [20.0]]
    assert front_plot.Plot([record], COST, "log").spread(record) == [[100.0], [200.0]]


def test_equal_input_gives_equal_bytes(timed, tmp_path):
    few = [record for record in timed if record["system"] == "teacher"]
    paths = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for path in paths:
        figure.save(front_plot.draw(few, SPEED, "log"), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_published_systems_stand_beside_ours_on_a_front_of_their_own(timed, scale):
    axes = published_plot.draw(timed, scale).axes[0]
    systems = [s for s in published_plot.published() if scale == "log" or s.bleu >= published_plot.ABOVE]
    grey = [line for line in axes.lines if line.get_color() == published_plot.GREY]
    assert sorted(tuple(line.get_xydata()[0]) for line in grey[:-1]) == sorted(system.place for system in systems)
    steps = grey[-1].get_xydata()
    assert (steps[1:, 0] >= steps[:-1, 0]).all() and (steps[1:, 1] <= steps[:-1, 1]).all()
    with pytest.raises(UserError, match="both BLEU and a cost"):
        published_plot.draw([record | {"bleu": None} for record in timed], scale)


def test_the_linear_figure_has_a_panel_of_what_was_published(timed):
    cheap = max(system.tokens_per_usd for system in published_plot.published() if system.bleu >= published_plot.ABOVE)
    records = [record | {COST: record[COST] * 50 * cheap / max(r[COST] for r in timed)} for record in timed]
    left, right = published_plot.draw(records, "linear").axes
    best = max(record[COST] for record in front_plot.around_the_best(records))
    assert cheap < left.get_xlim()[1] < 1.1 * cheap < best <= right.get_xlim()[1]
    assert any(text.get_text().startswith("(") for text in names(left))  # the numbers of the paper
    assert {text.get_text() for text in names(right)} <= {record["system"] for record in timed}
    picture = published_plot.draw(records, "linear")
    picture.draw_without_rendering()
    for axes in picture.axes:
        assert all(axes.get_xlim()[0] <= text.xy[0] <= axes.get_xlim()[1] for text in names(axes))
    assert len(published_plot.draw(records, "log").axes) == 1


def test_pictures_of_cost_name_the_price(timed):
    for draw in (lambda **price: front_plot.draw(timed, COST, "log", **price),
                 lambda **price: published_plot.draw(timed, "log", **price)):  # fmt: skip
        text = draw(price="m5.large-2018").get_supxlabel()
        assert f"at the price of m5.large-2018, {timed[0]['usd_per_hour']} USD an hour, whatever machine" in text
    assert "USD" not in front_plot.draw(timed, SPEED, "log").get_supxlabel()


def test_front_command_line(tmp_path):
    common = ["--measurements", FIXTURE, "--x", COST, "--scale", "linear", "--price", "m5.large-2018"]
    done = run("front_plot", *common, "--test-set", TIMED, "--output", tmp_path / "front.svg")
    assert done.returncode == 0 and done.stderr == ""
    assert (tmp_path / "front.svg").read_text().startswith("<?xml")
    done = run("front_plot", *common, "--test-set", "wmt", "--output", tmp_path / "x.svg")
    assert done.returncode == 1 and "error: nothing was measured on the test set wmt" in done.stderr


def test_a_format_that_is_not_written(tmp_path):
    with pytest.raises(UserError, match=r"x.pdf: pictures are written as .svg or .png"):
        figure.save(learning_plot.draw([LEARNING]), tmp_path / "x.pdf")


# Styles


def test_styles_tell_systems_apart_and_do_not_depend_on_what_else_is_drawn():
    roles = {"teacher": "teacher", "deep": "student", "tiny": "student", "deep-original": "control"}
    styles = figure.styles(roles)
    assert len({style.color for style in styles.values()}) == len({style.marker for style in styles.values()}) == 4
    assert figure.styles(dict(list(roles.items())[:2])) == {name: styles[name] for name in list(roles)[:2]}


def test_more_students_than_styles():
    assert len(figure.styles({f"student{number}": "student" for number in range(20)})) == 20


# Labels


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=6, unique=True))
def test_names_of_points_that_are_not_crowded_cover_neither_points_nor_names(places):
    points = 200 + np.array(places, float) * 10
    sizes = np.full((len(points), 2), (60.0, 12.0))
    boxes = labels.choose(points, sizes, points, 3, np.array([[0.0, 0.0, 800.0, 800.0]]))
    assert np.allclose(boxes[:, 2:] - boxes[:, :2], sizes)
    assert (boxes[:, :2] >= 0).all() and (boxes[:, 2:] <= 800).all()
    shared = labels.overlap(boxes, boxes)
    assert (shared[~np.eye(len(boxes), dtype=bool)] == 0).all()
    assert (labels.overlap(boxes, np.concatenate([points - 3, points + 3], axis=1)) < 1).all()


def test_a_name_stays_inside():
    frame = np.array([[0.0, 0.0, 100.0, 100.0]])
    corners = np.array([[5.0, 5.0], [95.0, 5.0], [5.0, 95.0], [95.0, 95.0]])
    for corner in corners:
        (box,) = labels.choose(corner[None], np.array([[40.0, 10.0]]), corner[None], 4, frame)
        assert (box >= 0).all() and (box <= 100).all()


# Learning curves

LEARNING = {
    "system": "teacher",
    "role": "teacher",
    "phases": [{"end": 60, "accumulate": 1}, {"end": 100, "accumulate": 16}],
    "training": [{"step": 50, "loss": 6.0}, {"step": 100, "loss": 4.0}],
    "validation": [{"step": 100, "bleu": 5.0}],
}


def test_learning_curves_have_one_colour_for_all_seeds(tmp_path):
    seeds = [LEARNING | {"system": f"deep-seed{seed}"} for seed in (1, 2)]
    picture = learning_plot.draw([LEARNING, *seeds, LEARNING | {"system": "narrow"}])
    loss, quality = picture.axes
    assert [list(line.get_ydata()) for line in loss.lines] == [[6.0, 4.0]] * 4
    assert quality.get_ylabel() == "BLEU" and list(quality.lines[0].get_ydata()) == [5.0]
    colors = [line.get_color() for line in loss.lines]
    assert colors[1] == colors[2] and len(set(colors)) == 3
    figure.save(learning_plot.draw([LEARNING | {"training": [], "validation": []}]), tmp_path / "empty.png")


@pytest.mark.parametrize("content", [[], {"system": "x"}, "text"])
def test_no_learning_curve(tmp_path, content):
    write_json(tmp_path / "learning.json", content)
    with pytest.raises(UserError, match="not a learning curve"):
        learning_plot.read(tmp_path / "learning.json")


# Cleaning funnel


def corpus(**values):
    counts = {"name": "x", "role": "train", "lines_in": 1000, "lines_out": 990, "dropped": {"empty": 3, "too_long": 7}}
    return counts | values


def test_funnel_writes_every_count():
    picture = funnel_plot.draw([corpus(), corpus(dropped={"duplicate": 0, "new_reason": 10})])
    texts = [text.get_text() for axes in picture.axes for text in axes.texts]
    assert texts == [
        *["990 of 1,000 lines kept (99.00%)"] * 2,
        "dropped: 3 empty, 7 too long",
        "dropped: 10 new reason",
    ]


def test_many_reasons_stay_in_their_panel():
    counts = corpus(dropped={reason: 12345 for reason in funnel_plot.REASONS})
    picture = funnel_plot.draw([counts, counts])
    picture.draw_without_rendering()
    right = picture.axes[1]
    assert right.get_window_extent().width > picture.bbox.width / 3
    assert all(text.get_window_extent().x1 < picture.bbox.x1 for text in right.texts)


def test_bars_are_as_long_as_their_counts():
    left, right = funnel_plot.draw([corpus()]).axes
    assert sum(patch.get_width() for patch in left.patches) == 1000
    assert sum(patch.get_width() for patch in right.patches) == pytest.approx(100)


@pytest.mark.parametrize("counts", [corpus(dropped={}), corpus(lines_in=0, lines_out=0, dropped={"empty": 0})])
def test_nothing_dropped(counts, tmp_path):
    picture = funnel_plot.draw([counts])
    assert picture.axes[1].texts[0].get_text() == "dropped: none"
    figure.save(picture, tmp_path / "funnel.svg")


def test_no_counts(tmp_path):
    write_json(tmp_path / "x.json", {"name": "x"})
    done = run("funnel_plot", "--counts", tmp_path / "x.json", "--output", tmp_path / "x.svg")
    assert done.returncode == 1 and "not the counts of a cleaned corpus" in done.stderr
