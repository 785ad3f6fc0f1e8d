"""Our systems among the 24 of Junczys-Dowmunt et al. 2018: quality against what a dollar bought then.

After figure 1 of the paper. Grey: what it prints in its tables 3 and 4, newstest2014 English-German, a row for each way
to run a system. In colour: our measurements, as if they had been made on the paper's m5.large. Its prices serve this
picture only: they are not those of any machine of today. BLEU cannot be compared where the test sets differ, which is
why each side has its own front.
"""

import argparse
import csv
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from decode import figure, labels, measurements
from decode.cost import SECONDS_PER_HOUR
from decode.front import pareto
from decode.front_plot import Plot, footnote, legend
from decode.measurements import Record
from formats.errors import UserError, command

TABLES = Path(__file__).with_name("published.csv")
SOURCE_TOKENS = 62_954  # of newstest2014, section 5 of the paper
PRICES = {"m5.large": 0.102, "p3.2xlarge": 3.259}  # USD an hour of a dedicated instance, section 5 of the paper
OURS, CORES = "m5.large", 2  # the machine our runs are priced as, and its virtual cores
AXIS = "words_per_usd"
GREY = "#9a9a9a"
TITLE = f"""At the prices of Junczys-Dowmunt et al. 2018, for this picture only: \
m5.large {PRICES["m5.large"]}, p3.2xlarge {PRICES["p3.2xlarge"]} USD an hour"""
NOTE = f"""In colour: our runs on this CPU, priced as the paper's {OURS}; a run on one core or two pays for all of it.
Grey: tables 3 and 4 of the paper: newstest2014, other data. BLEU of different test sets cannot be compared."""
MARKERS = {"m5.large": ("o", "2018, m5.large (CPU)"), "p3.2xlarge": ("^", "2018, p3.2xlarge (GPU)")}


class Published(NamedTuple):
    """A printed row: name, machine, source tokens per USD, BLEU."""

    name: str
    machine: str
    tokens_per_usd: float
    bleu: float

    @property
    def place(self) -> tuple[float, float]:
        return self.tokens_per_usd, self.bleu


def words_per_usd(words_per_second: float, usd_per_hour: float) -> float:
    """Section 5 of the paper."""
    return words_per_second * SECONDS_PER_HOUR / usd_per_hour


def published() -> list[Published]:
    with open(TABLES, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Published(
            f"({row['number']}) {row['system']}",
            row["machine"],
            words_per_usd(SOURCE_TOKENS / float(row["seconds"]), PRICES[row["machine"]]),
            float(row["bleu"]),
        )
        for row in rows
    ]


def priced(record: Record) -> Record:
    """The record with what a dollar buys on as many of the paper's machines as have its cores."""
    machines = -(-len(record.get("cores", [0])) // CORES)
    return record | {AXIS: words_per_usd(measurements.speed(record), machines * PRICES[OURS])}


def grey(axes: Axes, systems: list[Published]) -> list[Published]:
    """Draw them with the staircase of their front, which is returned."""
    for system in systems:
        axes.plot(*system.place, MARKERS[system.machine][0], color=GREY, markersize=4.5, zorder=2)
    flags = pareto([system.place for system in systems])
    front = sorted((system for system, on in zip(systems, flags, strict=True) if on), key=lambda system: system.place)
    places = [(front[0].place[0], front[0].bleu), *(system.place for system in front)]
    axes.plot(*zip(*places, strict=True), drawstyle="steps-pre", color=GREY, linewidth=0.9, zorder=1)
    return front


@figure.styled
def draw(records: list[Record]) -> Figure:
    """The figure of the records of one test set. Raises UserError where none has both a score and a speed."""
    if not (records := [priced(record) for record in measurements.drawn(records)]):
        raise UserError("no measurement has both BLEU and a speed")
    systems, plot = published(), Plot(records, AXIS, "source words per USD of 2018 (of the paper: source tokens)")
    picture = Figure(figsize=(10, 6.5), layout="constrained")
    axes = picture.add_subplot()
    axes.margins(x=0.08, y=0.08)
    plot.points(axes, records)
    front = grey(axes, systems)
    plot.staircase(axes)
    axes.set_title(TITLE)
    handles = [
        Line2D([], [], linestyle="", marker=marker, color=GREY, label=label) for marker, label in MARKERS.values()
    ]
    picture.legend(handles=[*legend(plot.styles), *handles], loc="outside upper left", ncols=5)
    picture.supxlabel(f"{footnote(records)}\n{NOTE}", **figure.FOOTNOTE)
    picture.draw_without_rendering()
    picture.set_layout_engine("none")  # names are fitted into axes that stay where they are
    names(axes, plot, systems, front)
    return picture


def names(axes: Axes, plot: Plot, systems: list[Published], front: list[Published]) -> None:
    """Write the names of our cheapest and of the published front."""
    ours = [(plot.place(record), record["system"]) for record in cheapest(plot.records)]
    points = [*map(plot.place, plot.records), *(system.place for system in systems)]
    labels.write(axes, [*ours, *((system.place, system.name) for system in front)], points)


def cheapest(records: list[Record]) -> list[Record]:
    """Of each system the cheapest configuration on the front of all, for its name."""
    found: dict[str, Record] = {}
    for record in measurements.on_front(records):
        found.setdefault(record["system"], record)
    return list(found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measurements", type=Path, required=True, help="measurements.json of a study")
    parser.add_argument("--test-set", required=True)
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    records = measurements.of_test_set(measurements.read(args.measurements), args.test_set)
    figure.save(draw(records), args.output)


if __name__ == "__main__":
    command(main)
