"""A picture of the ratios that a paper prints and of ours, row by row in the order of its tables, from its rows.json.

``python -m report.reproduction`` draws it for papers whose page has it.
"""

import itertools

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from formats.spread import Spread
from report import figure, table_parts
from report.claims import AGREES, OTHER, RATIO
from report.rows import Row

COLORS = {AGREES: "#009e73", OTHER: "#999999"}  # by verdict
OFF = "#d55e00"
LABELS = {"within the tolerance": COLORS[AGREES], "outside it": OFF, "not comparable": COLORS[OTHER]}
POINT: figure.Points = {"linestyle": "", "marker": "o"}
RING: figure.Points = {**POINT, "markerfacecolor": "none", "markersize": 8}
GAP = 0.6  # between two tables, in rows
NOTE = """Hollow: as printed. Filled: here, the median with the lowest and the highest run. A dotted line stands at 1,
where nothing is gained. The page says what was measured and on which machine ({machines})."""


def ratios_picture(rows: list[Row]) -> Figure:
    shown = [row for row in rows if row["unit"] == RATIO and row["ours"] is not None]
    return _picture(shown) if shown else figure.nothing("no ratio of the paper has a number of this project")


@figure.styled
def _picture(rows: list[Row]) -> Figure:
    tables = [row["source"] for row in rows]
    breaks = [before != table for before, table in itertools.pairwise(tables)]
    places = [place + GAP * sum(breaks[:place]) for place in range(len(rows))]
    picture, axes = table_parts.bar_picture(len(rows) + GAP * sum(breaks))
    for place, row in zip(places, rows, strict=True):
        _row(axes, place, row)
    table_parts.bar_axes(axes, places, _names(rows))
    axes.tick_params(axis="y", labelsize=7.5)
    axes.set_ylim(places[-1] + 0.7, -0.7)
    axes.axvline(1, color="#777777", linestyle=":", linewidth=1, zorder=0)
    figure.logarithmic(axes, "{x:,g}")
    axes.margins(x=0.08)
    axes.set_xlabel("how many times, logarithmic")
    handles = [Line2D([], [], color="black", label="the paper", **RING)]
    colors = {COLORS.get(row["verdict"], OFF) for row in rows}
    handles += [Line2D([], [], color=color, label=name, **POINT) for name, color in LABELS.items() if color in colors]
    figure.legend(picture, handles, "outside upper left", 4)
    machines = ", ".join(sorted({row["cpu"] for row in rows if row["cpu"]}))
    figure.footnote(picture, NOTE.format(machines=machines))
    return picture


def _names(rows: list[Row]) -> list[str]:
    """With the test set where the paper prints a ratio for several."""
    names = [f"{row['source']} {row['row']}, {row['quantity']}" for row in rows]
    sets = [f", {row['test_set']}" if names.count(name) > 1 else "" for name, row in zip(names, rows, strict=True)]
    return [f"{name}{test_set}" for name, test_set in zip(names, sets, strict=True)]


def _row(axes: Axes, place: float, row: Row) -> None:
    color = COLORS.get(row["verdict"], OFF)
    if (middle := row["ours"]) is None:
        return
    low, high = row["low"] or middle, row["high"] or middle
    axes.plot([row["printed"], middle], [place, place], color="#cccccc", linewidth=2, zorder=1)
    whiskers = figure.whiskers(Spread(middle, low, high))
    axes.errorbar(middle, place, xerr=whiskers, fmt="o", color=color, elinewidth=1, zorder=3)
    axes.plot(row["printed"], place, color="black", zorder=4, **RING)
