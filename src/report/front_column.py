"""The front in one column of a paper: all systems, the staircase, and the names of its points."""

from operator import attrgetter

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from formats import measurement, selection
from formats.measurement import Measurement
from report import figure, front

read = measurement.read

WIDTH, HEIGHT = 3.3, 3.4  # inches; a column of two is 3.0 to 3.5 wide
SMALL = {"font.size": 7, "legend.columnspacing": 1, "legend.handletextpad": 0.2, "legend.borderpad": 0}
LEGEND_COLUMNS = 3


@figure.styled
@matplotlib.rc_context(SMALL)
def draw(measurements: list[Measurement], test_set: str | None = None) -> Figure:
    """The picture of one test set, the first one by default. Raises UserError where none has a score and a speed."""
    records = front.scored(selection.of_test_set(measurements, test_set or selection.test_sets(measurements)[0]))
    plot = front.Plot(records, attrgetter("source_words_per_second"), "source words per second")
    picture = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    axes = picture.add_subplot()
    axes.margins(x=0.08, y=0.12)
    plot.points(axes, records)
    plot.staircase(axes)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))  # more of them would touch
    picture.legend(handles=front.legend(plot.styles), loc="outside lower left", ncols=LEGEND_COLUMNS)
    picture.draw_without_rendering()
    picture.set_layout_engine("none")  # names are fitted into axes that stay where they are
    plot.names(axes, records, {id(record): front.name(record) for record in selection.on_front(records)})
    return picture
