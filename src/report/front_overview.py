"""The front of a few systems, for a README: large letters, and each system named once beside its fastest way."""

from operator import attrgetter

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from common.errors import UserError
from formats import measurement, selection, wording
from formats.measurement import Measurement
from report import figure, front
from report.front_column import ticks

read = measurement.read

SIZE = (7.2, 4.8)  # inches
LARGE = {"font.size": 13, "axes.labelsize": 13}
MOST = 8  # systems, if none are named
GAP = 0.062  # between two names, as a share of the height of the axes


@figure.styled
def draw(measurements: list[Measurement], systems: str = "", test_set: str | None = None) -> Figure:
    """The picture of one test set, the first one by default.

    systems: their names, separated by commas; by default the first MOST. Raises UserError for an unknown one.
    """
    records = selection.of_test_set(measurements, test_set or selection.test_sets(measurements)[0])
    names = systems.split(",") if systems else list(selection.systems(records))[:MOST]
    if unknown := set(names) - {record.system for record in records}:
        raise UserError(f"{min(unknown)} was not measured; there are {', '.join(selection.systems(records))}")
    shown = front.scored([record for record in records if record.system in names])
    plot = front.Plot(shown, attrgetter("source_words_per_second"), "source words per second")
    with figure.matplotlib.rc_context(LARGE):
        picture = Figure(figsize=SIZE, layout="constrained")
        axes = picture.add_subplot()
        axes.margins(x=0.06, y=0.12)
        plot.points(axes, shown)
        plot.staircase(axes)
        axes.xaxis.set_major_locator(ticks(*axes.get_xlim()))
        if baseline := selection.baseline(shown, names[0]):
            text = f"↓ {baseline.system} in {wording.engine_label(baseline)}"
            axes.annotate(text, plot.place(baseline), (-5, 15), textcoords="offset points")
        name(axes, plot, {system: fastest(shown, system) for system in plot.styles})
        cores = "One core" if len(shown[0].cores) == 1 else f"{len(shown[0].cores)} cores"
        axes.set_title("Filled: greedy search; hollow: beam search. The line is the front.", fontsize=11)
        axes.set_ylabel(f"BLEU, {shown[0].test_set}")
        picture.supxlabel(f"{cores} of {wording.cpu(shown[0])}", **figure.FOOTNOTE | {"fontsize": 9})
    return picture


def fastest(records: list[Measurement], system: str) -> Measurement:
    return max(selection.matching(records, system=system), key=attrgetter("source_words_per_second"))


def name(axes: Axes, plot: front.Plot, ends: dict[str, Measurement]) -> None:
    """Write each name right of the axes, beside the last point of its system."""
    low, high = axes.get_ylim()
    wanted = {system: (record.bleu - low) / (high - low) for system, record in ends.items()}
    for system, height in apart(wanted).items():
        axes.annotate(
            system,
            plot.place(ends[system]),
            (1.05, height),
            textcoords="axes fraction",
            va="center",
            color=plot.styles[system].color,
            fontweight="bold",
            arrowprops={"arrowstyle": "-", "color": plot.styles[system].color, "linewidth": 0.8, "shrinkB": 4},
        )


def apart(heights: dict[str, float]) -> dict[str, float]:
    """The same heights, moved up as far as needed for a GAP between each two."""
    placed, floor = {}, float("-inf")
    for system, height in sorted(heights.items(), key=lambda item: item[1]):
        placed[system] = floor = max(height, floor + GAP)
    return placed
