"""Quality against speed: all systems with the Pareto front, and a panel for each in which every point is named.

A ring marks the best model, which the dev set decides.
"""

import argparse
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from decode import figure, labels, measurements
from decode.figure import Style
from decode.measurements import Record
from formats.errors import UserError, command

SPEED = "source_words_per_second"
WIDTH, TOP, PANEL = 10.0, 4.6, 3.3  # inches: the figure, the panel of all systems, a row of panels
COLUMNS = 2
MARKER, RING = 6, 11  # points


class Plot:
    """Panels of one axis, a speed or in proportion to one, in which equal systems look alike."""

    def __init__(self, records: list[Record], axis: str, label: str):
        self.records, self.axis, self.label = records, axis, label
        self.styles = figure.styles({name: record["role"] for name, record in measurements.systems(records).items()})

    def place(self, record: Record) -> tuple[float, float]:
        return record[self.axis], record["bleu"]

    def spread(self, record: Record) -> list[list[float]]:
        """Distance of the slowest and the fastest run from the median, in units of the axis."""
        speed = measurements.speed(record)
        low, high = (record.get(f"{SPEED}_{end}") or speed for end in ("min", "max"))
        scale = record[self.axis] / speed
        return [[max(speed - low, 0) * scale], [max(high - speed, 0) * scale]]

    def points(self, axes: Axes, records: list[Record]) -> None:
        """Filled for greedy search, hollow for beam search; bars from the slowest run to the fastest."""
        for record in records:
            color, marker = self.styles[record["system"]]
            fill = color if record["beam_size"] == 1 else "white"
            axes.errorbar(
                *self.place(record),
                xerr=self.spread(record),
                fmt=marker,
                color=color,
                markerfacecolor=fill,
                markersize=MARKER,
                elinewidth=0.9,
                zorder=3,
            )
        axes.set_xscale("log")  # not before: error bars on a logarithmic axis begin its limits at 1
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(FuncFormatter(amount))
        axes.set_xlabel(f"{self.label}, logarithmic")
        axes.set_ylabel("BLEU")

    def ring(self, axes: Axes, record: Record) -> None:
        """Around the best model."""
        axes.plot(*self.place(record), "o", markersize=RING, markerfacecolor="none", color="#222222", zorder=4)

    def staircase(self, axes: Axes) -> None:
        """The best quality to be had at a speed or more."""
        front = [self.place(record) for record in reversed(measurements.on_front(self.records))]
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

    def panel(self, axes: Axes, records: list[Record]) -> None:
        """One system from near by."""
        axes.margins(x=0.22, y=0.18)
        self.points(axes, records)
        axes.set_title(
            f"{records[0]['system']}: {records[0]['shape']}, {records[0]['parameters'] / 1e6:.1f} M parameters"
        )

    def names(self, axes: Axes, shown: list[Record], names: dict[int, str]) -> None:
        """Write names, by id of the record, beside their points."""
        named = [(self.place(record), names[id(record)]) for record in shown if id(record) in names]
        labels.write(axes, named, [self.place(record) for record in shown])


def amount(value: float, _: int) -> str:
    """2,000 but 35 M."""
    if abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value / 1e6:,.0f} M" if abs(value) >= 1e7 else f"{value / 1e6:.3g} M"


def near(records: list[Record], system: str) -> list[Record]:
    """The records of a system without its far-off baseline, if there are others."""
    mine = [record for record in records if record["system"] == system]
    return [record for record in mine if record["engine"] != measurements.BASELINE] or mine


def headings(records: list[Record]) -> dict[int, str]:
    """Names for what is on the front and for the baselines, by id of the record."""
    baselines = [record for record in records if record["engine"] == measurements.BASELINE]
    chosen = [*measurements.on_front(records), *baselines]
    return {id(record): f"{record['system']}: {name(record)}" for record in chosen}


def name(record: Record) -> str:
    """How the system was decoded; the baseline has one way only."""
    baseline = record["engine"] == measurements.BASELINE
    return measurements.ENGINES[record["engine"]] if baseline else measurements.configuration(record)


def legend(styles: dict[str, Style]) -> list[Line2D]:
    systems = [Line2D([], [], linestyle="", marker=s.marker, color=s.color, label=name) for name, s in styles.items()]
    fills = {"filled: greedy": "#777777", "hollow: beam search": "white"}
    return systems + [
        Line2D([], [], linestyle="", marker="o", color="#777777", markerfacecolor=fill, label=label)
        for label, fill in fills.items()
    ]


def footnote(records: list[Record]) -> str:
    """What the numbers are: test set, signature, machine, runs."""
    record = records[0]
    cores = ", ".join(map(str, record.get("cores", "?")))
    text = f"Study {record['study']}, test set {record['test_set']}. BLEU {record.get('bleu_signature')}.\n"
    text += measurements.repeats(records).capitalize()
    text += ", bars from the slowest to the fastest" if max(one.get("runs", 1) for one in records) > 1 else ""
    return f"{text}; core {cores} of {record.get('cpu')}."


@figure.styled
def draw(records: list[Record], best: Record | None = None, remark: str = "") -> Figure:
    """The figure of the records of one test set. Raises UserError where none has both a score and a speed.

    best: the one of them that gets a ring, if it is shown; remark: a last sentence below.
    """
    if not (records := measurements.drawn(records)):
        raise UserError("no measurement has both BLEU and a speed")
    plot, systems = Plot(records, SPEED, "source words per second"), list(measurements.systems(records))
    best = best if best in records else None
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
    if best:
        plot.ring(top, best)
        plot.ring(panels[best["system"]], best)
        note += f"\nRing: the best model, {measurements.RULE}."
    note += f"\n{remark}" * bool(remark)
    picture.legend(handles=legend(plot.styles), loc="outside upper left", ncols=len(systems) + 2)
    picture.supxlabel(note, **figure.FOOTNOTE)

    picture.draw_without_rendering()
    picture.set_layout_engine("none")  # names are fitted into axes that stay where they are
    plot.names(top, records, headings(records))
    for system, axes in panels.items():
        shown = near(records, system)
        plot.names(axes, shown, {id(record): name(record) for record in shown})
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measurements", type=Path, required=True, help="measurements.json of a study")
    parser.add_argument("--test-set", required=True)
    parser.add_argument("--remark", default="", help="a sentence below the picture")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    everything = measurements.read(args.measurements)
    records = measurements.of_test_set(everything, args.test_set)
    best = measurements.on_test_set(everything, measurements.best(everything), args.test_set)
    figure.save(draw(records, best, args.remark), args.output)


if __name__ == "__main__":
    command(main)
