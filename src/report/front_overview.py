"""A front without details, for a page or a slide: each system is named once, right of the axes."""

import textwrap
from operator import attrgetter

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from findings import captions, comparison
from formats import measurement
from formats.measurement import Measurement
from nmt_frontier.errors import UserError
from report import figure, front

read = measurement.read

AXES = {"speed": "source words per second", "usd": "source words per USD"}
SIZE = (7.2, 4.8)  # inches
LARGE = {"font.size": 13, "axes.labelsize": 13}
MOST = 8  # systems, if none are named
NOTE_CHARACTERS = 110  # of a line below the picture
GAP = 0.062  # between two names, as a share of the height of the axes


def words_per_usd(record: Measurement) -> float:
    """Raises UserError for a record without a price."""
    if not record.usd_per_million_words:
        raise UserError(f"{record.system.name} has no USD ({record.conditions.price}); report.price adds them")
    return 1e6 / record.usd_per_million_words


@figure.styled
def draw(
    measurements: list[Measurement], systems: str = "", test_set: str | None = None, axis: str = "speed"
) -> Figure:
    """The picture of one test set, the first one by default.

    systems: their names, separated by commas; by default the first MOST. axis: of AXES. Raises UserError for an unknown
    one.
    """
    if axis not in AXES:
        raise UserError(f"--axis: {axis!r} is none of {', '.join(AXES)}")
    records = comparison.of_test_set(measurements, test_set or comparison.test_sets(measurements)[0])
    names = systems.split(",") if systems else list(comparison.systems(records))[:MOST]
    if unknown := set(names) - {record.system.name for record in records}:
        raise UserError(f"{min(unknown)} was not measured; there are {', '.join(comparison.systems(records))}")
    shown = front.scored([record for record in records if record.system.name in names])
    plot = front.Plot(shown, words_per_usd if axis == "usd" else attrgetter("words_per_second"), AXES[axis])
    with matplotlib.rc_context(LARGE):
        picture = Figure(figsize=SIZE, layout="constrained")
        axes = picture.add_subplot()
        axes.margins(x=0.06, y=0.12)
        plot.points(axes, shown)
        plot.staircase(axes)
        axes.xaxis.set_major_locator(front.ticks(*axes.get_xlim()))
        if baseline := comparison.baseline(shown, names[0]):
            text = f"↓ {baseline.system.name} in {captions.engine_label(baseline)}"
            axes.annotate(text, plot.place(baseline), (-5, 15), textcoords="offset points")
        name_systems(axes, plot, {system: fastest(shown, system) for system in plot.styles})
        cores = "One core" if len(shown[0].decoding.cores) == 1 else f"{len(shown[0].decoding.cores)} cores"
        axes.set_title("Filled: greedy search; hollow: beam search. The line is the front.", fontsize=11)
        axes.set_ylabel(f"BLEU, {shown[0].test_set}")
        note = f"{cores} of {captions.cpu(shown[0])}"
        if axis == "usd":
            price = f"{note}. Price: {shown[0].conditions.price}"
            note = textwrap.fill(price, NOTE_CHARACTERS)
        picture.supxlabel(note, **figure.FOOTNOTE | {"fontsize": 9})
    return picture


def fastest(records: list[Measurement], system: str) -> Measurement:
    return max(comparison.matching(records, system=system), key=attrgetter("words_per_second"))


def name_systems(axes: Axes, plot: front.Plot, ends: dict[str, Measurement]) -> None:
    """Write each name right of the axes, beside the last point of its system."""
    low, high = axes.get_ylim()
    wanted = {system: (comparison.number(record, "bleu") - low) / (high - low) for system, record in ends.items()}
    for system, height in apart(wanted).items():
        axes.annotate(
            f"{system}\n{what}" if (what := kind(ends[system])) else system,
            plot.place(ends[system]),
            (1.05, height),
            textcoords="axes fraction",
            va="center",
            color=plot.styles[system].color,
            fontweight="bold",
            arrowprops={"arrowstyle": "-", "color": plot.styles[system].color, "linewidth": 0.8, "shrinkB": 4},
        )


def kind(record: Measurement) -> str:
    """What a system is that is no model of a study, in short lines."""
    http = record.decoding.engine == comparison.HTTP
    return captions.engine_label(record).replace(", ", ",\n") if http else ""


def apart(heights: dict[str, float]) -> dict[str, float]:
    """The same heights, moved up as far as needed for a GAP between each two."""
    placed, floor = {}, float("-inf")
    for system, height in sorted(heights.items(), key=lambda item: item[1]):
        placed[system] = floor = max(height, floor + GAP)
    return placed
