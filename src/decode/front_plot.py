"""Quality against speed or cost: all systems with the Pareto front, and one panel a system in which each point is named.

After figures 1 and 2 of Junczys-Dowmunt et al. 2018: the logarithmic plot shows everything, the linear one the systems
around and above the best student.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
from adjustText import adjust_text
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from decode import figure, measurements
from decode.figure import Style
from decode.measurements import Record
from formats.errors import UserError, command

AXES = {
    "source_words_per_second": "source words per second",
    "source_words_per_usd": "source words per USD",
}
AROUND = 3.0  # BLEU below the best student that the linear plot still shows
WIDTH, TOP, PANEL = 10.0, 4.9, 3.1  # inches: the figure, the panel of all systems, a row of panels
COLUMNS = 2
NAMES = {"fontsize": 7.5, "color": "#222222"}


def x(record: Record, axis: str) -> float:
    return record[axis]


def spread(record: Record, axis: str) -> list[list[float]]:
    """Distance of the slowest and the fastest run from the median, in units of the axis."""
    speed = measurements.speed(record)
    low, high = (record.get(f"source_words_per_second_{end}") or speed for end in ("min", "max"))
    scale = x(record, axis) / speed
    return [[max(speed - low, 0) * scale], [max(high - speed, 0) * scale]]


def around_the_best(records: list[Record]) -> list[Record]:
    """The records around and above the best student (of any system where there is no student)."""
    qualities = [r["bleu"] for r in records if r["role"] == "student"] or [r["bleu"] for r in records]
    return [record for record in records if record["bleu"] >= max(qualities) - AROUND]


def points(axes: Axes, records: list[Record], axis: str, styles: dict[str, Style]) -> None:
    """Filled for greedy search, hollow for beam search; bars from the slowest run to the fastest."""
    for record in records:
        color, marker = styles[record["system"]]
        axes.errorbar(
            x(record, axis),
            record["bleu"],
            xerr=spread(record, axis),
            fmt=marker,
            color=color,
            markerfacecolor=color if record["beam_size"] == 1 else "white",
            markersize=6,
            elinewidth=0.9,
            zorder=3,
        )


def names(axes: Axes, records: list[Record], labels: list[str], axis: str) -> None:
    """Write a label beside each point, where it covers no point and no other label."""
    places = [x(record, axis) for record in records], [record["bleu"] for record in records]
    texts = [axes.text(*place, label, **NAMES) for *place, label in zip(*places, labels, strict=True)]
    adjust_text(
        texts,
        *places,
        ax=axes,
        expand=(1.15, 1.5),
        force_text=(0.3, 0.6),
        arrowprops={"arrowstyle": "-", "color": "#999999", "linewidth": 0.6},
    )


def staircase(axes: Axes, records: list[Record], axis: str) -> None:
    """The best quality to be had at a speed or more."""
    front = sorted(measurements.on_front(records), key=lambda record: x(record, axis))
    left, bottom = axes.get_xlim()[0], axes.get_ylim()[0]
    steps = [left, *(x(record, axis) for record in front), x(front[-1], axis)]
    heights = [front[0]["bleu"], *(record["bleu"] for record in front), bottom]
    axes.plot(steps, heights, drawstyle="steps-pre", color="#888888", linewidth=1.2, zorder=1)
    axes.fill_between(steps, heights, bottom, step="pre", color="#f5f5f5", linewidth=0, zorder=0)
    axes.set_xlim(left=left)
    axes.set_ylim(bottom=bottom)


def scaled(axes: Axes, scale: str) -> None:
    """Linear or logarithmic, with plain numbers; a logarithmic axis has its 1, 2, 5 written."""
    axes.set_xscale(scale)
    if scale == "log":
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: amount(value)))


def amount(value: float) -> str:
    """2,000 but 35 M."""
    return f"{value / 1e6:,.3g} M" if abs(value) >= 1e6 else f"{value:,.0f}"


def overview(axes: Axes, records: list[Record], axis: str, scale: str, styles: dict[str, Style]) -> None:
    """All systems, the front, and names for what is on the front and for the baselines."""
    scaled(axes, scale)
    points(axes, records, axis, styles)
    axes.margins(x=0.06, y=0.1)
    staircase(axes, records, axis)
    front = measurements.on_front(records)
    baselines = [r for r in records if r["engine"] == measurements.BASELINE and r not in front]
    labels = [f"{record['system']}: {measurements.configuration(record)}" for record in front + baselines]
    names(axes, front + baselines, labels, axis)
    axes.set_title("All systems. The line is the Pareto front: nothing is both faster and better.")
    axes.set_xlabel(f"{AXES[axis]}{' (logarithmic)' if scale == 'log' else ''}")
    axes.set_ylabel("BLEU")


def panel(axes: Axes, records: list[Record], axis: str, scale: str, styles: dict[str, Style]) -> None:
    """One system near by, without its far-off baseline, each point named."""
    near = [record for record in records if record["engine"] != measurements.BASELINE] or records
    scaled(axes, scale)
    points(axes, near, axis, styles)
    axes.margins(x=0.15, y=0.2)
    names(axes, near, [measurements.configuration(record) for record in near], axis)
    axes.set_title(f"{near[0]['system']} ({near[0]['shape']}, {near[0]['parameters'] / 1e6:.1f} M parameters)")
    axes.set_xlabel(AXES[axis])
    axes.set_ylabel("BLEU")


def legend(styles: dict[str, Style]) -> list[Line2D]:
    systems = [Line2D([], [], linestyle="", marker=s.marker, color=s.color, label=name) for name, s in styles.items()]
    fills = {"filled: greedy": "#777777", "hollow: beam search": "white"}
    return systems + [
        Line2D([], [], linestyle="", marker="o", color="#777777", markerfacecolor=fill, label=label)
        for label, fill in fills.items()
    ]


def footnote(records: list[Record], axis: str) -> str:
    """What the numbers are: test set, signature, machine, runs and price."""
    first = records[0]
    text = f"{first['study']}, {first['test_set']}. BLEU {first.get('bleu_signature')}.\nMedians and extremes of "
    text += f"{first.get('runs')} runs, core {','.join(map(str, first.get('cores', ['?'])))} of {first.get('cpu')}"
    return text + (f", {first['usd_per_hour']} USD an hour." if axis == "source_words_per_usd" else ".")


def draw(records: list[Record], axis: str, scale: str) -> Figure:
    """The figure of the records of one test set. Raises UserError where none has both a score and a speed."""
    if not (records := [record for record in measurements.drawn(records) if record.get(axis)]):
        raise UserError(f"no measurement has both BLEU and {axis}")
    if scale == "linear":
        records = around_the_best(records)
    systems = list(measurements.systems(records))
    styles = figure.styles(systems)
    lines = -(-len(systems) // COLUMNS)
    picture = plt.figure(figsize=(WIDTH, TOP + PANEL * lines), layout="constrained")
    grid = picture.add_gridspec(lines + 1, COLUMNS, height_ratios=[TOP, *[PANEL] * lines])
    top = picture.add_subplot(grid[0, :])
    panels = [picture.add_subplot(grid[1 + number // COLUMNS, number % COLUMNS]) for number in range(len(systems))]
    picture.legend(handles=legend(styles), loc="outside upper left", ncols=7)
    picture.supxlabel(footnote(records, axis), fontsize=7, color="#555555", x=0.01, ha="left")
    picture.draw_without_rendering()  # the final places of the axes, which labels are fitted into
    picture.set_layout_engine("none")
    overview(top, records, axis, scale, styles)
    for axes, system in zip(panels, systems, strict=True):
        panel(axes, [record for record in records if record["system"] == system], axis, scale, styles)
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measurements", type=Path, required=True, help="measurements.json of a study")
    parser.add_argument("--test-set", required=True)
    parser.add_argument("--x", choices=AXES, default="source_words_per_second")
    parser.add_argument("--scale", choices=["log", "linear"], default="log")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    records = measurements.of_test_set(measurements.read(args.measurements), args.test_set)
    with plt.rc_context(figure.STYLE):
        figure.save(draw(records, args.x, args.scale), args.output)


if __name__ == "__main__":
    command(main)
