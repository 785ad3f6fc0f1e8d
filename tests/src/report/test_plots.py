import itertools
from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.text import Annotation, Text
from measured import replaced
from msgspec import convert
from reports import FIXTURE, REFERENCE, TIMED, run

from findings import best_model, comparison
from formats import measurement
from formats.learning import Learning
from formats.spread import Spread
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_json
from report import corpora_page, figure, front, front_overview, labels, published, scores, training

SPEED = "source_words_per_second"


@pytest.fixture(scope="module")
def timed():
    return comparison.of_test_set(measurement.read(FIXTURE), TIMED)


def with_int16(records):
    """As many points as a whole study has: int16 between the other types."""
    types = {"compute_type": "int16", "effective_compute_type": "int16"}
    exact = comparison.matching(records, engine="ctranslate2", compute_type="float32")
    speeds = (record.timing.source_words_per_second for record in exact)
    faster = [Spread(*(1.2 * speed for speed in spread)).fields(SPEED) for spread in speeds]
    return records + [replaced(record, **types, **speed) for record, speed in zip(exact, faster, strict=True)]


def names(axes):
    return [text for text in axes.texts if isinstance(text, Annotation)]


def text_box(text):
    """Of the words alone, without the line to their point."""
    return Text.get_window_extent(text).extents


@pytest.mark.slow
def test_every_point_has_a_name_that_covers_nothing(timed):
    shown = with_int16(timed)
    picture = front.draw(shown)
    picture.draw_without_rendering()
    top, *panels = picture.axes
    named = sorted(text.get_text() for axes in panels for text in names(axes))
    near = [record for system in comparison.systems(shown) for record in front.near(shown, system)]
    assert named == sorted(front.name(record) for record in near)
    assert len(names(top)) == len(front.headings(shown))
    for axes in picture.axes:
        boxes = np.array([text_box(text) for text in names(axes)])
        assert labels.overlap(boxes, boxes).sum() == pytest.approx(np.prod(boxes[:, 2:] - boxes[:, :2], axis=1).sum())
        drawn = shown if axes is top else front.near(shown, axes.get_title(loc="left").split(":")[0])
        points = axes.transData.transform([(record.words_per_second, record.scores.bleu) for record in drawn])
        assert not labels.inside(points, boxes).any()


@pytest.mark.parametrize(
    "keep",
    [
        lambda r: r.system.name in {"teacher", "deep"},
        lambda r: not r.decoding.vocabulary_map,
        lambda r: r.decoding.engine == "opennmt-tf",
        lambda r: r.decoding.engine == "ctranslate2",
        lambda r: r.system.name == "tiny" and r.decoding.beam_size == 1 and r.decoding.compute_type == "int8",
        lambda r: (r.system.name, r.decoding.engine) == ("deep", "opennmt-tf"),
    ],
    ids=["two systems", "no map", "baselines only", "no baseline", "two points", "one point"],
)
@pytest.mark.slow
def test_whatever_was_measured_is_drawn(timed, keep):
    records = [record for record in timed if keep(record)]
    assert len(front.draw(records).axes) == 1 + len(comparison.systems(records))


@pytest.mark.slow
def test_a_ring_marks_the_best_model_where_it_is_shown(timed):
    best = best_model.best(timed)
    picture = front.draw(timed)
    rings = [(axes, line) for axes in picture.axes for line in axes.lines if line.get_markersize() == front.RING]
    assert [tuple(line.get_xydata()[0]) for _, line in rings] == [(best.words_per_second, best.scores.bleu)] * 2
    assert rings[1][0].get_title(loc="left").startswith(f"{best.system.name}:")
    assert f"Ring: the best model, {best_model.RULE}." in picture.get_supxlabel()
    teachers = front.draw([record for record in timed if record.system.role == "teacher"])
    assert "Ring" not in teachers.get_supxlabel()
    # On another test set the best model is the same, but it may not have been decoded there.
    elsewhere = [replace(record, test_set="other") for record in timed if record is not best]
    assert "Ring" not in front.draw(timed + elsewhere, "other").get_supxlabel()
    assert "Ring" in front.draw(elsewhere + timed, "other").get_supxlabel()


@pytest.mark.parametrize("draw", [front.draw, published.draw])
def test_nothing_to_draw(timed, draw):
    with pytest.raises(UserError, match="no measurement has both BLEU and a speed"):
        draw([replaced(record, bleu=None) for record in timed])


def test_bars_go_from_the_slowest_run_to_the_fastest_in_units_of_the_axis(timed):
    record = replaced(timed[0], **Spread(100.0, 90.0, 120.0).fields(SPEED))
    assert front.Plot([record], attrgetter("words_per_second"), "x").spread(record) == [[10.0], [20.0]]
    assert front.Plot([record], lambda _: 1000.0, "x").spread(record) == [[100.0], [200.0]]


@pytest.mark.slow
def test_equal_input_gives_equal_bytes(timed, tmp_path):
    few = [record for record in timed if record.system.name == "teacher"]
    paths = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for path in paths:
        figure.save(front.draw(few), path)
    assert len({path.read_bytes() for path in paths}) == 1


@pytest.mark.slow
def test_published_systems_are_on_a_front_of_their_own_at_the_papers_prices(timed):
    (axes,) = (picture := published.draw(timed)).axes
    systems = published.published()
    grey = [line for line in axes.lines if line.get_color() == published.GREY]
    assert sorted(tuple(line.get_xydata()[0]) for line in grey[:-1]) == sorted(system.place for system in systems)
    steps = grey[-1].get_xydata()
    assert (steps[1:, 0] >= steps[:-1, 0]).all() and (steps[1:, 1] <= steps[:-1, 1]).all()
    named = {text.get_text() for text in names(axes) if not text.get_text().startswith("(")}
    assert named and named <= {record.system.name for record in timed}
    title = axes.get_title(loc="left")
    assert "Junczys-Dowmunt et al. 2018, for this picture only" in title
    assert "m5.large 0.102, p3.2xlarge 3.259 USD an hour" in title
    assert (
        timed[0].conditions.cpu in picture.get_supxlabel()
        and "priced as the paper's m5.large" in picture.get_supxlabel()
    )
    assert "USD" not in front.draw(timed).get_supxlabel()


@pytest.mark.parametrize("name", ["front_speed", "published"])
@pytest.mark.slow
def test_front_command_line(name, tmp_path):
    done = run("report", name, "--input", FIXTURE, "--test-set", TIMED, "--output", tmp_path / "front.svg")
    assert done.returncode == 0 and done.stderr == ""
    assert (tmp_path / "front.svg").read_text().startswith("<?xml")
    run("report", name, "--input", FIXTURE, "--output", tmp_path / "first.svg")  # the first test set is the timed one
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "front.svg").read_bytes()
    done = run("report", name, "--input", FIXTURE, "--test-set", "wmt", "--output", tmp_path / "x.svg")
    assert done.returncode == 1 and "error: nothing was measured on the test set wmt" in done.stderr


@pytest.mark.slow
def test_the_front_of_a_column_fits_it_and_names_the_front(timed, tmp_path):
    picture = front.draw_column(timed)
    assert picture.get_figwidth() <= 3.5
    best = [f"{record.system.name}, {front.name(record)}" for record in comparison.on_front(timed)]
    numbers = [str(number) for number, _ in enumerate(best, 1)]
    assert sorted(filter(None, (text.get_text() for text in names(picture.axes[0])))) == sorted(numbers)
    _, named = picture.legends
    legend = [" ".join(text.get_text().split()) for text in named.get_texts()]
    assert len(best) > 1 and legend == [f"{number} {name}" for number, name in zip(numbers, best, strict=True)]
    assert all(legend.get_window_extent().x1 <= picture.bbox.x1 for legend in picture.legends)
    figure.save(picture, tmp_path / "x.pdf")
    content = (tmp_path / "x.pdf").read_bytes()
    assert content.startswith(b"%PDF") and b"/FontFile2" in content and b"/Type3" not in content


def test_the_overview_names_each_system_once_and_no_name_covers_another(timed):
    same = replaced(
        next(record for record in timed if record.system.name == "deep"), system="twin"
    )  # names side by side
    systems = ["teacher", "deep", "twin"]
    picture = front_overview.draw([*timed, same], ",".join(systems))
    *named, _ = sorted((text for text in names(picture.axes[0])), key=lambda text: "↓" in text.get_text())
    assert sorted(text.get_text() for text in named) == sorted(systems)
    picture.draw_without_rendering()
    boxes = sorted(tuple(text_box(text)[1::2]) for text in named)
    assert all(below[1] <= above[0] for below, above in itertools.pairwise(boxes))
    with pytest.raises(UserError, match=r"none was not measured; there are teacher, deep"):
        front_overview.draw(timed, "teacher,none")


def test_a_format_that_is_not_written(tmp_path):
    with pytest.raises(UserError, match=r"x.gif: pictures are written as .svg, .png, .pdf"):
        figure.save(training.draw([curve()]), tmp_path / "x.gif")


def test_no_two_systems_look_alike_whatever_else_is_drawn():
    roles = {"teacher": "teacher", "deep": "student", "tiny": "student", "deep-original": "control"}
    styles = figure.styles(roles)
    assert len({style.color for style in styles.values()}) == len({style.marker for style in styles.values()}) == 4
    assert figure.styles(dict(list(roles.items())[:2])) == {name: styles[name] for name in list(roles)[:2]}
    counts = {"teacher": 12, "student": 100, "control": 12}
    roles = {f"{role}{number}": role for role, count in counts.items() for number in range(count)}
    assert len(set(figure.styles(roles).values())) == len(roles)


def test_the_systems_of_a_large_study_differ_in_grey_too():
    records = measurement.read(REFERENCE / "architectures/measurements.json")
    roles = {name: record.system.role for name, record in comparison.systems(records).items()}
    styles = figure.styles(roles)
    assert len(styles) == 18
    assert front.Plot(records, SPEED, "").styles == styles
    pairs = itertools.combinations([styles[name] for name in roles], 2)
    assert all(abs(lightness(a.color) - lightness(b.color)) > 5 for a, b in pairs if a.marker == b.marker)


def lightness(color):
    """L* of CIELAB, from 0 to 100, of a colour that is not nearly black or black itself."""
    linear = [(c / 12.92) if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return max(116 * (np.array([0.2126, 0.7152, 0.0722]) @ linear) ** (1 / 3) - 16, 0)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=6, unique=True))
def test_names_of_points_that_are_not_crowded_cover_neither_points_nor_names(places):
    points = 200 + np.array(places, float) * 10
    sizes = np.full((len(points), 2), (60.0, 12.0))
    boxes = labels.choose(points, sizes, points, 3, *[np.array([[0.0, 0.0, 800.0, 800.0]])] * 2)
    assert np.allclose(boxes[:, 2:] - boxes[:, :2], sizes)
    assert (boxes[:, :2] >= 0).all() and (boxes[:, 2:] <= 800).all()
    shared = labels.overlap(boxes, boxes)
    assert (shared[~np.eye(len(boxes), dtype=bool)] == 0).all()
    assert (labels.overlap(boxes, np.concatenate([points - 3, points + 3], axis=1)) < 1).all()


@pytest.mark.parametrize("anchor", [[5.0, 5.0], [95.0, 5.0], [5.0, 95.0], [95.0, 95.0], [95.0, 50.0]])
@pytest.mark.parametrize("width, crowded", [(40.0, False), (60.0, True)])
def test_a_name_stays_inside_even_where_it_covers_points(anchor, width, crowded):
    crowd = [[x, y] for x in range(5, 96, 10) for y in range(5, 96, 10)]
    points, page = np.array(crowd if crowded else [anchor], float), np.array([[0.0, 0.0, 100.0, 100.0]])
    (box,) = labels.choose(np.array([anchor]), np.array([[width, 10.0]]), points, 4, page, page)
    assert (box >= 0).all() and (box <= 100).all()


@pytest.mark.parametrize(
    ("limits", "places"),
    [
        ((20, 25_000), [30, 100, 300, 1000, 3000, 10_000]),
        ((4000, 25_000), [5000, 10_000, 20_000]),
        ((0.2, 60_000), [1, 10, 100, 1000, 10_000]),
    ],
)
def test_ticks_of_a_column(limits, places):
    assert front.ticks(*limits).tick_values(*limits).tolist() == places
    narrow = front.ticks(12_000, 18_000).tick_values(12_000, 18_000)
    assert 2 <= sum(12_000 <= tick <= 18_000 for tick in narrow) <= 4


@pytest.mark.parametrize("draw", [front.draw, front.draw_column, front_overview.draw, published.draw])
@pytest.mark.slow
def test_a_legend_of_long_names_stays_inside(timed, draw):
    names = [f"{n}{'x' * 45}" for n in range(5)]
    picture = draw([replaced(timed[0], system=name, bleu=20.0 + n) for n, name in enumerate(names)])
    picture.draw_without_rendering()
    assert all(legend.get_window_extent().width <= picture.bbox.width for legend in picture.legends)


# Learning curves

LEARNING = {
    "system": "teacher",
    "role": "teacher",
    "shape": "1:1",
    "parameters": 9,
    "seen": {"pairs": 100, "passes": 1.0},
    "seconds": 60,
    "averages": [{"checkpoints": 1, "bleu": 2}],
    "phases": [{"end": 60, "accumulate": 1}, {"end": 100, "accumulate": 16}],
    "training": [{"step": 50, "loss": 6.0}, {"step": 100, "loss": 4.0}],
    "validation": [{"step": 100, "bleu": 5.0}],
}


def curve(**changes):
    return convert(LEARNING | changes, Learning)


def test_learning_curves_have_one_colour_for_all_seeds(tmp_path):
    seeds = [curve(system=f"deep-seed{seed}", role="student") for seed in (1, 2)]
    picture = training.draw([curve(), *seeds, curve(system="deep-original", role="control")])
    loss, quality = picture.axes
    assert [list(line.get_ydata()) for line in loss.lines] == [[6.0, 4.0]] * 4
    assert quality.get_ylabel() == "BLEU" and list(quality.lines[0].get_ydata()) == [5.0]
    colors = [line.get_color() for line in loss.lines]
    assert colors == [style.color for style in (figure.TEACHER, *figure.STUDENTS[:1] * 2, figure.CONTROL)]
    figure.save(training.draw([curve(training=[], validation=[])]), tmp_path / "empty.png")


def test_a_system_without_updates_has_no_curve(tmp_path):
    untrained = {"phases": [{"end": 0, "accumulate": 1}], "training": [], "validation": []}
    taken = curve(system="taken", start_from="weights/own", **untrained)
    assert training.row(taken)["steps"] == "0, from weights/own" and "pairs seen" not in training.row(taken)
    assert len(training.draw([curve(), taken]).axes[0].lines) == 1
    (text,) = training.draw([taken]).texts
    assert text.get_text().startswith("No system was trained here")


@pytest.mark.parametrize("content", [[], {"system": "x"}, "text"])
def test_no_learning_curve(tmp_path, content):
    write_json(tmp_path / "learning.json", content)
    with pytest.raises(UserError, match="not a learning curve"):
        training.read(tmp_path / "learning.json")


def corpus(**values):
    counts = {"name": "x", "role": "train", "lines_in": 1000, "lines_out": 990, "dropped": {"empty": 3, "too_long": 7}}
    return counts | values


def test_funnel_writes_every_count_beside_a_bar_of_its_length():
    picture = corpora_page.draw_funnel([corpus(), corpus(dropped={"duplicate": 0, "new_reason": 10})])
    texts = [text.get_text() for axes in picture.axes for text in axes.texts]
    dropped = ["dropped: 3 empty, 7 too long", "dropped: 10 new reason"]
    assert texts == ["990 of 1,000 lines kept (99.00%)"] * 2 + dropped
    left, right = corpora_page.draw_funnel([corpus()]).axes
    assert sum(patch.get_width() for patch in left.patches) == 1000
    assert sum(patch.get_width() for patch in right.patches) == pytest.approx(100)


@pytest.mark.slow
def test_many_reasons_stay_in_their_panel():
    counts = corpus(dropped={reason: 12345 for reason in corpora_page.REASONS})
    picture = corpora_page.draw_funnel([counts, counts])
    picture.draw_without_rendering()
    right = picture.axes[1]
    assert right.get_window_extent().width > picture.bbox.width / 3
    assert all(text.get_window_extent().x1 < picture.bbox.x1 for text in right.texts)


@pytest.mark.parametrize("counts", [corpus(dropped={}), corpus(lines_in=0, lines_out=0, dropped={"empty": 0})])
def test_nothing_dropped(counts, tmp_path):
    picture = corpora_page.draw_funnel([counts])
    assert picture.axes[1].texts[0].get_text() == "dropped: none"
    figure.save(picture, tmp_path / "funnel.svg")


def test_no_counts(tmp_path):
    write_json(tmp_path / "x.json", {"name": "x"})
    done = run("report", "funnel", "--input", tmp_path / "x.json", "--output", tmp_path / "x.svg")
    assert done.returncode == 1 and "not the counts of a cleaned corpus" in done.stderr


# Scores


def test_scores_have_a_histogram_each_and_a_line_at_their_bound(tmp_path):
    of = {"low": 0.0, "high": 1.0, "before": [4, 6], "after": [0, 6], "better": "high"}
    counts = corpus(scores={"laser": of | {"bound": 0.5}, "constant": of | {"high": 0.0, "bound": None}})
    write_json(tmp_path / "x.json", counts)
    picture = scores.draw(scores.read(tmp_path / "x.json"))
    first, second = picture.axes
    assert first.get_title(loc="left") == "x, laser (high is better)"
    assert [[*patch.get_data().values] for patch in first.patches] == [[4, 6], [0, 6]]
    assert [*first.lines[0].get_xdata()] == [0.5, 0.5] and not second.lines
    figure.save(picture, tmp_path / "scores.svg")
    write_json(tmp_path / "y.json", corpus())
    with pytest.raises(UserError, match=r"y.json: no scores; give corpora/clean/\*.json of corpora with `score`"):
        scores.read(tmp_path / "y.json")
