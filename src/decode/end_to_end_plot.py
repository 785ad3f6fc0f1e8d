"""Seconds for a test set from OpenNMT-tf to the optimised configuration, for each system on one core and on all."""

import argparse
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from decode import figure, speed
from decode.end_to_end_table import Pair, pairs
from decode.measurements import Record, mark
from formats.errors import command
from formats.files import read_json

COLORS = {"OpenNMT-tf, beam 4": "#999999", "CTranslate2 in 8 bits with the vocabulary map, greedy": "#0072b2"}
WIDTH, ROW, AROUND = 9.0, 0.42, 1.7  # inches: the picture, a system on some cores, what is above and below
COLUMN = 1.02  # where BLEU stands, right of the axes


def line(axes: Axes, place: float, pair: Pair, records: list[Record]) -> None:
    """From the baseline to the optimised seconds, with the ratio above; beside it BLEU, and its loss in the end."""
    ends = [record["total_seconds"] for record in pair]
    axes.plot(ends, [place, place], color="#cccccc", linewidth=3, zorder=1)
    for record, color in zip(pair, COLORS.values(), strict=True):
        middle, low, high = (record[f"total_seconds{end}"] for end in ("", "_min", "_max"))
        axes.errorbar(middle, place, xerr=[[middle - low], [high - middle]], fmt="o", color=color, elinewidth=1)
        text = f"{middle:,.1f} s{mark(record)}"
        side, way, end = ("left", 8, high) if record is pair.baseline else ("right", -8, low)
        axes.annotate(text, (end, place), (way, 0), textcoords="offset points", ha=side, va="center", fontsize=8)
    centre = (ends[0] * ends[1]) ** 0.5  # on a logarithmic axis
    times = f"×{pair.times_faster.middle:.1f}"
    axes.annotate(times, (centre, place), (0, 3), textcoords="offset points", ha="center", va="bottom", fontsize=8)
    both = dict.fromkeys(map(speed.bleu, pair))
    text = " → ".join(both)
    text += f", {lost}" if (lost := speed.loss(pair.optimized, records)) else ""
    axes.text(COLUMN, place, text, transform=axes.get_yaxis_transform(), va="center", fontsize=8)


def name(pair: Pair) -> str:
    cores = len(pair.optimized["cores"])
    return f"{pair.optimized['system']}, {cores} core{'s' if cores > 1 else ''}"


@figure.styled
def draw(records: list[Record]) -> Figure:
    found = pairs(records)
    picture = Figure(figsize=(WIDTH, AROUND + ROW * len(found)), layout="constrained")
    axes = picture.add_subplot()
    for place, pair in enumerate(found):
        line(axes, place, pair, records)
    axes.set_yticks(range(len(found)), [name(pair) for pair in found])
    axes.set_ylim(len(found) - 0.4, -0.7)
    axes.set_xscale("log")
    axes.margins(x=0.16)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("seconds for the test set, with loading, logarithmic")
    speed.heading(picture, "The toolkit against the optimised configuration", COLORS)
    if any(record["bleu"] is not None for record in records):
        style = {"va": "center", "fontsize": 8, "weight": "bold"}
        axes.text(COLUMN, -0.6, "BLEU, loss", transform=axes.get_yaxis_transform(), **style)
    speed.footnote(picture, records)
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, required=True, help="of decode.end_to_end, with scores")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    figure.save(draw(read_json(args.records)), args.output)


if __name__ == "__main__":
    command(main)
