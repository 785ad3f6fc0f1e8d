"""Quality against speed: all systems with the Pareto front, a panel for each, or in one column of a paper.

The fastest point is 1, as on the interactive page. A ring marks the best model, which is chosen on the dev set.
"""

import textwrap
from collections.abc import Callable
from operator import attrgetter

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, Locator, MaxNLocator

from findings import best_model, captions, comparison
from formats import measurement
from formats.measurement import Measurement
from nmt_frontier.errors import UserError
from report import figure, labels
from report.figure import Style

read = measurement.read

WIDTH, TOP, PANEL = 10.0, 4.6, 3.3  # inches: the figure, the panel of all systems, a row of panels
COLUMNS = 2
MARKER, RING = 6, 11  # points
LEGEND_COLUMNS = 5  # more than fit are cut off: names such as deep-original-seed1 are long

COLUMN_HEIGHT = 3.2  # inches, without the legend
COLUMN_LEGEND_COLUMNS, LEGEND_ROW = 2, 0.14  # inches
WIDE = 4  # powers of ten on an axis, above which these alone have numbers
NAME_CHARACTERS = 48  # characters of a name that fit into the column


@figure.styled
def draw(measurements: list[Measurement], test_set: str | None = None, remark: str = "") -> Figure:
    """The picture of one test set. Raises UserError where no measurement of it has both a score and a speed.

    test_set: by default the first one, which is timed in every run. remark: a last sentence below the picture.
    """
    test_set = test_set or comparison.test_sets(measurements)[0]
    records = scored(comparison.of_test_set(measurements, test_set))
    best = comparison.on_test_set(measurements, best_model.best(measurements), test_set)
    plot = Plot(records, attrgetter("words_per_second"), "source words per second")
    systems = list(comparison.systems(records))
    rows = -(-len(systems) // COLUMNS)
    picture = Figure(figsize=(WIDTH, TOP + PANEL * rows), layout="constrained")
    grid = picture.add_gridspec(rows + 1, COLUMNS, height_ratios=[TOP, *[PANEL] * rows])
    top = picture.add_subplot(grid[0, :])
    plot.overview(top)
    panels = {}
    for number, system in enumerate(systems):
        panels[system] = picture.add_subplot(grid[1 + number // COLUMNS, number % COLUMNS])
        plot.panel(panels[system], near(records, system))
    note = footnote(records)
    if best in records:
        plot.ring(top, best)
        plot.ring(panels[best.system.name], best)
        note += f"\nRing: the best model, {best_model.RULE}."
    note += f"\n{remark}" * bool(remark)
    figure.legend(picture, legend(plot.styles), "outside upper left", min(len(systems) + 2, LEGEND_COLUMNS))
    picture.supxlabel(note, **figure.FOOTNOTE)

    labels.freeze(picture)
    plot.names(top, records, headings(records))
    for system, axes in panels.items():
        shown = near(records, system)
        plot.names(axes, shown, {id(record): name(record) for record in shown})
    return picture


def scored(records: list[Measurement]) -> list[Measurement]:
    """Those that can be drawn. Raises UserError where none has both a score and a speed."""
    if not (drawn := comparison.drawn(records)):
        raise UserError("no measurement has both BLEU and a speed")
    return drawn


class Plot:
    """Panels with the same axis, a speed or proportional to one. A system looks the same in all of them.

    axis: of a record. label: of the axis.
    """

    def __init__(self, records: list[Measurement], axis: Callable[[Measurement], float], label: str):
        self.records, self.axis, self.label = records, axis, label
        self.styles = figure.styles({name: record.system.role for name, record in comparison.systems(records).items()})

    def place(self, record: Measurement) -> tuple[float, float]:
        return self.axis(record), comparison.number(record, "bleu")

    def spread(self, record: Measurement) -> list[list[float]]:
        """Distances of the slowest and the fastest run from the median, in units of the axis."""
        speed, low, high = record.timing.source_words_per_second
        scale = self.axis(record) / speed
        return [[max(speed - low, 0) * scale], [max(high - speed, 0) * scale]]

    def points(self, axes: Axes, records: list[Measurement]) -> None:
        """Filled for greedy search, hollow for beam search; bars from the slowest run to the fastest."""
        for record in records:
            color, marker = self.styles[record.system.name]
            axes.errorbar(
                *self.place(record),
                xerr=self.spread(record),
                fmt=marker,
                color=color,
                markerfacecolor=fill_panel(record, color),
                markersize=MARKER,
                elinewidth=0.9,
                zorder=3,
            )
        figure.logarithmic(axes, FuncFormatter(amount))  # last: error bars on such an axis start its limits at 1
        axes.set_xlabel(f"{self.label}, logarithmic")
        axes.set_ylabel("BLEU")

    def ring(self, axes: Axes, record: Measurement) -> None:
        """Around the best model."""
        axes.plot(*self.place(record), "o", markersize=RING, markerfacecolor="none", color="#222222", zorder=4)

    def staircase(self, axes: Axes) -> None:
        """The best quality at each speed or more."""
        front = [self.place(record) for record in reversed(comparison.on_front(self.records))]
        left, bottom = axes.get_xlim()[0], axes.get_ylim()[0]
        speeds, qualities = zip((left, front[0][1]), *front, (front[-1][0], bottom), strict=True)
        axes.plot(speeds, qualities, drawstyle="steps-pre", color="#888888", linewidth=1.2, zorder=1)
        axes.fill_between(speeds, qualities, bottom, step="pre", color="#f5f5f5", linewidth=0, zorder=0)
        axes.set_xlim(left=left)
        axes.set_ylim(bottom=bottom)

    def overview(self, axes: Axes) -> None:
        axes.margins(x=0.08, y=0.12)
        self.points(axes, self.records)
        self.staircase(axes)
        axes.set_title("All systems. The line is the Pareto front: nothing is both faster and better.")

    def panel(self, axes: Axes, records: list[Measurement]) -> None:
        """One system, enlarged."""
        axes.margins(x=0.22, y=0.18)
        self.points(axes, records)
        system = records[0].system
        axes.set_title(f"{system.name}: {system.shape}, {system.parameters / 1e6:.1f} M")

    def names(self, axes: Axes, shown: list[Measurement], names: dict[int, str]) -> None:
        """Write names beside the points that have one; ``names`` are by id of the record."""
        named = [(self.place(record), names[id(record)]) for record in shown if id(record) in names]
        labels.write(axes, named, [self.place(record) for record in shown])


def fill_panel(record: Measurement, color: str) -> str:
    """Of a marker: that of beam search is hollow."""
    return color if record.decoding.beam_size == 1 else "white"


def amount(value: float, _: int) -> str:
    """2,000 but 35 M, and 0.3."""
    if abs(value) < 1:
        return f"{value:.1g}"
    if abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value / 1e6:,.0f} M" if abs(value) >= 1e7 else f"{value / 1e6:.3g} M"


def near(records: list[Measurement], system: str) -> list[Measurement]:
    """The records of a system, without its far slower baseline if there are others."""
    own = [record for record in records if record.system.name == system]
    return [record for record in own if record.decoding.engine != comparison.BASELINE] or own


def headings(records: list[Measurement]) -> dict[int, str]:
    """Names of the records on the front and of the baselines, by id of the record."""
    baselines = [record for record in records if record.decoding.engine == comparison.BASELINE]
    named = [*comparison.on_front(records), *baselines]
    return {id(record): f"{record.system.name}: {name(record)}" for record in named}


def name(record: Measurement) -> str:
    """How the system was decoded; the baseline has one way only."""
    baseline = record.decoding.engine == comparison.BASELINE
    return captions.engine_label(record) if baseline else captions.configuration(record)


def legend(styles: dict[str, Style]) -> list[Line2D]:
    """A marker of each system, a filled and a hollow one."""
    markers = [(name, *style, style.color) for name, style in styles.items()]
    markers += [("filled: greedy", "#777777", "o", "#777777"), ("hollow: beam search", "#777777", "o", "white")]
    return [
        Line2D([], [], linestyle="", marker=marker, color=color, markerfacecolor=fill, label=label)
        for label, color, marker, fill in markers
    ]


def footnote(records: list[Measurement]) -> str:
    """What the numbers are: test set, signature, machine, runs."""
    first = records[0]
    cores = ", ".join(map(str, first.decoding.cores)) or "?"
    text = f"Study {first.study}, test set {first.test_set}. BLEU {first.scores.bleu_signature}.\n"
    text += captions.repeats(record.timing.runs for record in records).capitalize()
    text += ", bars from the slowest to the fastest" if max(record.timing.runs for record in records) > 1 else ""
    return f"{text}; core {cores} of {captions.cpu(first)}."


def ticks(low: float, high: float) -> Locator:
    """Of a logarithmic axis: as many as fit beside one another."""
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)))
    for steps in ((1,),) * (len(powers) > WIDE) + ((1, 3), (1, 2, 5)):
        places = np.outer(powers, steps).ravel()
        if len(shown := places[(low <= places) & (places <= high)]) > 1:
            return FixedLocator(shown.tolist())
    return MaxNLocator(3)


@figure.in_column
def draw_column(measurements: list[Measurement], test_set: str | None = None) -> Figure:
    """The picture of one test set, the first one by default. Raises UserError where none has a score and a speed."""
    test_set = test_set or comparison.test_sets(measurements)[0]
    records = scored(comparison.of_test_set(measurements, test_set))
    best = comparison.on_test_set(measurements, best_model.best(measurements), test_set)
    numbered = {str(number): record for number, record in enumerate(comparison.on_front(records), 1)}
    plot = Plot(records, attrgetter("words_per_second"), "source words per second")
    picture = Figure(figsize=(figure.COLUMN, COLUMN_HEIGHT), layout="constrained")
    rows = figure.legend(picture, legend(plot.styles), "outside upper left", COLUMN_LEGEND_COLUMNS)
    points = [named(number, record, *plot.styles[record.system.name]) for number, record in numbered.items()]
    picture.legend(handles=points, loc="outside lower left")
    rows += sum(str(point.get_label()).count("\n") + 1 for point in points)
    picture.set_figheight(COLUMN_HEIGHT + rows * LEGEND_ROW)
    axes = picture.add_subplot()
    axes.margins(x=0.08, y=0.12)
    plot.points(axes, records)
    plot.staircase(axes)
    if best in records:
        plot.ring(axes, best)
    axes.xaxis.set_major_locator(ticks(*axes.get_xlim()))
    labels.freeze(picture)
    plot.names(axes, records, {id(record): number for number, record in numbered.items()})
    return picture


def named(number: str, record: Measurement, color: str, marker: str) -> Line2D:
    """A point of the front for the legend, with its number, its system and how that was decoded."""
    text = f"{number}  {record.system.name}, {name(record)}"
    label = textwrap.fill(text, NAME_CHARACTERS, drop_whitespace=False)
    fill = fill_panel(record, color)
    return Line2D([], [], linestyle="", marker=marker, color=color, markerfacecolor=fill, label=label)
