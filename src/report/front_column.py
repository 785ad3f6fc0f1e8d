"""The front in one column of a paper: all systems, the staircase, its points by number, their names below.

The fastest point is 1, as on the interactive page. A ring marks the best model, which is chosen on the dev set.
"""

import textwrap
from operator import attrgetter

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, Locator, MaxNLocator

from formats import best_model, measurement, selection
from formats.measurement import Measurement
from report import figure, front, labels

read = measurement.read

HEIGHT = 3.2  # inches, without the legend
LEGEND_COLUMNS, LEGEND_ROW = 2, 0.14  # inches
NAME = 48  # characters of a name that fit into the column


def ticks(low: float, high: float) -> Locator:
    """Of a logarithmic axis: as many as fit beside one another."""
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)))
    for steps in ((1, 3), (1, 2, 5)):
        places = np.outer(powers, steps).ravel()
        if len(shown := places[(low <= places) & (places <= high)]) > 1:
            return FixedLocator(shown)
    return MaxNLocator(3)


@figure.in_column
def draw(measurements: list[Measurement], test_set: str | None = None) -> Figure:
    """The picture of one test set, the first one by default. Raises UserError where none has a score and a speed."""
    test_set = test_set or selection.test_sets(measurements)[0]
    records = front.scored(selection.of_test_set(measurements, test_set))
    best = selection.on_test_set(measurements, best_model.best(measurements), test_set)
    numbered = {str(number): record for number, record in enumerate(selection.on_front(records), 1)}
    plot = front.Plot(records, attrgetter("source_words_per_second"), "source words per second")
    picture = Figure(figsize=(figure.COLUMN, HEIGHT), layout="constrained")
    rows = figure.legend(picture, front.legend(plot.styles), "outside upper left", LEGEND_COLUMNS)
    points = [named(number, record, *plot.styles[record.system]) for number, record in numbered.items()]
    picture.legend(handles=points, loc="outside lower left")
    rows += sum(point.get_label().count("\n") + 1 for point in points)
    picture.set_figheight(HEIGHT + rows * LEGEND_ROW)
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
    label = "\n".join(textwrap.wrap(f"{number}  {record.system}, {front.name(record)}", NAME, drop_whitespace=False))
    fill = front.fill(record, color)
    return Line2D([], [], linestyle="", marker=marker, color=color, markerfacecolor=fill, label=label)
