"""Our systems among those that were published: quality against what a dollar buys.

Figures 1 (logarithmic) and 2 (linear, around and above 26 BLEU) of Junczys-Dowmunt et al. 2018. Grey: what the paper
prints in its tables 3 and 4, newstest2014 English-German, at its own prices; in colour: our measurements at ours.
Costs can be compared. BLEU cannot where the test sets differ, which is why each side has its own front. What is cheap
now would push all of 2018 to one side of the linear figure, so that has a panel of its own, cut behind the cheapest.
"""

import argparse
import csv
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from decode import figure, labels, measurements
from decode.cost import words_per_usd
from decode.front import pareto
from decode.front_plot import AXES, Plot, around_the_best, footnote, legend
from decode.measurements import Record
from formats.errors import UserError, command
from formats.prices import prices

TABLES = Path(__file__).with_name("published.csv")
SOURCE_TOKENS = 62_954  # of newstest2014, section 5 of the paper
AXIS = "source_words_per_usd"
ABOVE = 25.5  # BLEU of "around and above 26"
GREY = "#9a9a9a"
NOTE = """Grey: Junczys-Dowmunt et al. 2018, tables 3 and 4: newstest2014, other data, their prices. Compare the cost;
BLEU of different test sets says nothing."""
MARKERS = {"m5.large-2018": ("o", "2018, m5.large"), "p3.2xlarge-2018": ("^", "2018, p3.2xlarge")}


class Published(NamedTuple):
    """A printed row: name, machine, source tokens per USD, BLEU."""

    name: str
    machine: str
    tokens_per_usd: float
    bleu: float

    @property
    def place(self) -> tuple[float, float]:
        return self.tokens_per_usd, self.bleu


def published() -> list[Published]:
    with open(TABLES, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Published(
            f"({row['number']}) {row['system']}",
            row["machine"],
            words_per_usd(SOURCE_TOKENS / float(row["seconds"]), prices()[row["machine"]]),
            float(row["bleu"]),
        )
        for row in rows
    ]


def grey(axes: Axes, systems: list[Published]) -> list[Published]:
    """Draw them with the staircase of their front, which is returned."""
    for system in systems:
        axes.plot(*system.place, MARKERS[system.machine][0], color=GREY, markersize=4.5, zorder=2)
    flags = pareto([system.place for system in systems])
    front = sorted((system for system, on in zip(systems, flags, strict=True) if on), key=lambda system: system.place)
    places = [(0 if axes.get_xscale() == "linear" else front[0].place[0], front[0].bleu), *(s.place for s in front)]
    axes.plot(*zip(*places, strict=True), drawstyle="steps-pre", color=GREY, linewidth=0.9, zorder=1)
    return front


@figure.styled
def draw(records: list[Record], scale: str, price: str | None = None) -> Figure:
    """The figure of the records of one test set. Raises UserError where none has both a score and a cost."""
    if not (records := [record for record in measurements.drawn(records) if record.get(AXIS)]):
        raise UserError("no measurement has both BLEU and a cost")
    systems = published()
    if scale == "linear":
        records, systems = around_the_best(records), [system for system in systems if system.bleu >= ABOVE]
    plot = Plot(records, AXIS, scale)
    panels = {"": None} if scale == "log" else {"up to the cheapest published system": cheapest(systems), "all": None}
    picture = Figure(figsize=(10, 6), layout="constrained")
    drawn = picture.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    fronts = [panel(axes, plot, systems, *one) for axes, one in zip(drawn, panels.items(), strict=True)]
    handles = [
        Line2D([], [], linestyle="", marker=marker, color=GREY, label=label) for marker, label in MARKERS.values()
    ]
    picture.legend(handles=[*legend(plot.styles), *handles], loc="outside upper left", ncols=5)
    picture.supxlabel(f"{footnote(records[0], AXIS, price)}\n{NOTE}", **figure.FOOTNOTE)
    picture.draw_without_rendering()
    picture.set_layout_engine("none")  # names are fitted into axes that stay where they are
    names(drawn[0], plot, systems, fronts[0])
    for axes in drawn[1:]:  # where the published ones are too close together
        names(axes, plot, systems, [])
    return picture


def cheapest(systems: list[Published]) -> float:
    """Where the panel of the published systems ends."""
    return 1.05 * max(system.tokens_per_usd for system in systems)


def panel(axes: Axes, plot: Plot, systems: list[Published], title: str, end: float | None) -> list[Published]:
    """All points and both fronts, up to ``end``; the published front is returned."""
    axes.margins(x=0.08, y=0.08)
    plot.points(axes, plot.records)
    front = grey(axes, systems)
    if plot.scale == "linear":
        axes.set_xlim(0, end)
    plot.staircase(axes)
    axes.set_xlabel(f"{AXES[AXIS]}{', logarithmic' if plot.scale == 'log' else ''} (of the paper: source tokens)")
    axes.set_title(title)
    axes.label_outer()
    return front


def names(axes: Axes, plot: Plot, systems: list[Published], front: list[Published]) -> None:
    """Write the names of our cheapest and of the published front, as far as they are in the panel."""
    ours = [(plot.place(record), record["system"]) for record in fastest(plot.records)]
    named = [*ours, *((system.place, system.name) for system in front)]
    points = [*map(plot.place, plot.records), *(system.place for system in systems)]
    end = axes.get_xlim()[1]
    inside = [name for name in named if name[0][0] <= end]
    labels.write(axes, inside, [point for point in points if point[0] <= end])


def fastest(records: list[Record]) -> list[Record]:
    """Of each system the cheapest configuration on the front of all, for its name."""
    found: dict[str, Record] = {}
    for record in measurements.on_front(records):
        found.setdefault(record["system"], record)
    return list(found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measurements", type=Path, required=True, help="measurements.json of a study")
    parser.add_argument("--test-set", required=True)
    parser.add_argument("--scale", choices=["log", "linear"], default="log")
    parser.add_argument("--price", help="whose price the cost was reckoned with")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    records = measurements.of_test_set(measurements.read(args.measurements), args.test_set)
    figure.save(draw(records, args.scale, args.price), args.output)


if __name__ == "__main__":
    command(main)
