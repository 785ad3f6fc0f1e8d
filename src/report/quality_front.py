"""Our time for the shapes of published students against the quality that is published for them: a table and a picture.

Bergamot's English-German students: their weights are not here, so models of their shapes with random weights are timed
(``experiments.architectures``) and stand at the published BLEU. Both are said on the face of the picture.
"""

from pathlib import Path
from typing import NamedTuple, TypedDict

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from findings import captions
from findings.comparison import BASELINE, matching
from formats import measurement
from formats.measurement import Measurement
from formats.shape import registry, shape
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json
from report import figure, markup

TITLE = "Time: ours, for this shape with random weights. Quality: as published for students of this shape"
NOTE = """Time: {sentences} sentences of {test_set}, one core of {cpu}, from text to text, greedy, the native engine
with a vocabulary map; OpenNMT-tf, float32, without. Quality: {source}. Nobody measured both on one model; dotted lines
are published systems whose time is not compared. Sets before 2019 are left out: they leaked into the training."""
COLORS = {BASELINE: "#999999", "float32": "#56b4e9", "int16": "#e69f00", "int8": "#d55e00"}
LABELS = {BASELINE: "OpenNMT-tf", **{kind: f"native engine, {kind}" for kind in ("float32", "int16", "int8")}}
MARKERS = "o^sD"


class PublishedStudent(TypedDict):
    """shape: its name in formats/shapes.yaml. megabytes: of the published file."""

    shape: str
    megabytes: float
    bleu: dict[str, float]
    comet: dict[str, float]


class PublishedQuality(TypedDict):
    """What is published. others: BLEU of other systems by test set."""

    source: str
    students: dict[str, PublishedStudent]
    others: dict[str, dict[str, float]]


class Front(NamedTuple):
    """What is published, and the records of each student's shape by the way of decoding."""

    quality: PublishedQuality
    timed: dict[str, dict[str, Measurement]]


def read(published: Path, times: Path) -> Front:
    """Raises UserError where the shape of a student was not timed."""
    quality: PublishedQuality = read_json(published)
    records, timed = measurement.read(times), {}
    for name, student in quality["students"].items():
        of_shape = matching(records, shape=str(shape(registry()[student["shape"]])))
        if not of_shape:
            raise UserError(f"{times}: no record of {student['shape']}; time it with speed.untrained of a study")
        timed[name] = {way(record): record for record in of_shape}
    return Front(quality, timed)


def way(record: Measurement) -> str:
    return BASELINE if record.decoding.engine == BASELINE else record.decoding.compute_type


def table(front: Front) -> str:
    rows = []
    for name, student in front.quality["students"].items():
        for kind, record in front.timed[name].items():
            speed = record.words_per_second
            rows.append(
                {"student": name, "timed here": LABELS[kind], "words/s": f"{speed:,.0f}"}
                | {f"{test_set}, BLEU · COMET": scores(student, test_set) for test_set in student["bleu"]}
            )
    return markup.document("Our time against published quality", TITLE + ".", markup.table(rows), note(front))


def scores(student: PublishedStudent, test_set: str) -> str:
    return f"{student['bleu'][test_set]:.1f} · {student['comet'][test_set]:.4f}"


def note(front: Front) -> str:
    first = next(iter(next(iter(front.timed.values())).values()))
    return " ".join(
        NOTE.format(
            sentences=f"{first.decoding.sentences:,}",
            test_set=first.test_set,
            cpu=captions.cpu(first),
            source=front.quality["source"],
        ).split()
    )


@figure.styled
def draw(front: Front) -> Figure:
    """A panel for each test set."""
    students, others = front.quality["students"], front.quality["others"]
    test_sets = list(next(iter(students.values()))["bleu"])
    picture = Figure(figsize=(9.6, 4.6), layout="constrained")
    for axes, test_set in zip(picture.subplots(1, len(test_sets)), test_sets, strict=True):
        for marker, (name, student) in zip(MARKERS, students.items(), strict=False):
            for kind, record in front.timed[name].items():
                speed = record.words_per_second
                axes.plot(speed, student["bleu"][test_set], marker, color=COLORS[kind], markersize=7)
        for name, of_set in others.items():
            axes.axhline(of_set[test_set], color="#777777", linestyle=":", linewidth=1)
            axes.annotate(
                name, (0.02, of_set[test_set]), (0, 2), axes.get_yaxis_transform(), "offset points", fontsize=7
            )
        figure.logarithmic(axes, "{x:,g}")
        axes.tick_params(axis="x", labelrotation=90)
        axes.margins(x=0.15, y=0.1)
        axes.set_title(test_set)
        axes.set_xlabel("source words/s, ours")
    picture.axes[0].set_ylabel("BLEU, as published")
    handles = [
        Line2D([], [], linestyle="", marker=marker, color="black", label=f"{name}, {student['megabytes']:g} MB")
        for marker, (name, student) in zip(MARKERS, students.items(), strict=False)
    ]
    handles += [Line2D([], [], linestyle="", marker="o", color=COLORS[kind], label=LABELS[kind]) for kind in COLORS]
    style = {"alignment": "left", "ncols": 3, "fontsize": 8, "title_fontsize": 10}
    picture.legend(handles=handles, title=TITLE, loc="outside upper left", **style)
    figure.footnote(picture, note(front))
    return picture
