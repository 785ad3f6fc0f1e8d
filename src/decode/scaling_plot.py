"""Workers against threads (decode.scaling): speed-up and peak memory by the number of cores."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from decode import figure, labels, speed
from decode.measurements import Record, mark, times_faster
from formats.errors import command
from formats.files import read_json

WAYS = {"threads": "#d55e00", "workers": "#0072b2"}
LABELS = {"threads": "threads inside the batch", "workers": "workers over the file"}
BAR = 0.36  # of the distance between two numbers of cores


def shown(records: list[Record], way: str) -> list[Record]:
    """One core, which is the same in both ways, and this way on more cores."""
    return [record for record in records if record[way] == len(record["cores"])]


def bar(axes: Axes, place: float, color: str, height: float, text: str, whiskers: list[list[float]] | None) -> None:
    axes.bar(place, height, BAR, color=color, yerr=whiskers, error_kw={"elinewidth": 0.9})
    top = height + (whiskers[1][0] if whiskers else 0)
    over = {"textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": 8}
    axes.annotate(text, (place, top), (0, 3), bbox=labels.GROUND, **over)


def bars(records: list[Record]) -> Iterator[tuple[float, str, Record]]:
    """Place, colour and record of each bar: both ways side by side for each number of cores."""
    counts = cores(records)
    for side, (way, color) in zip((-1, 1), WAYS.items(), strict=True):
        for record in shown(records, way):
            yield counts.index(len(record["cores"])) + side * BAR / 2, color, record


def cores(records: list[Record]) -> list[int]:
    return sorted({len(record["cores"]) for record in records})


def speed_up(axes: Axes, records: list[Record]) -> None:
    """Bars with whiskers, and a dotted line at the ideal, as many times as cores."""
    for place, count in enumerate(cores(records)):
        axes.hlines(count, place - 0.45, place + 0.45, color="#777777", linestyle=":", linewidth=1)
    for place, color, record in bars(records):
        ratio = times_faster(record, records[0])
        whiskers = [[ratio.middle - ratio.low], [ratio.high - ratio.middle]]
        bar(axes, place, color, ratio.middle, f"{ratio.middle:.2f}{mark(record, records[0])}", whiskers)
    axes.set_title("times faster than on one core (dotted: ideal)")


def memory(axes: Axes, records: list[Record]) -> None:
    for place, color, record in bars(records):
        amount = record["peak_rss_bytes"] / 1e6
        bar(axes, place, color, amount, f"{amount:,.0f}", None)
    axes.set_title("peak memory of the process, MB")


@figure.styled
def draw(records: list[Record]) -> Figure:
    picture = Figure(figsize=(9.0, 4.2), layout="constrained")
    counts = cores(records)
    for axes, panel in zip(picture.subplots(1, 2), (speed_up, memory), strict=True):
        panel(axes, records)
        axes.set_xticks(range(len(counts)), counts)
        axes.grid(axis="x", visible=False)
        axes.margins(y=0.12)
        axes.set_xlabel("cores")
    speed.heading(picture, speed.title(records[0]), {LABELS[way]: color for way, color in WAYS.items()})
    speed.footnote(picture, records)
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, required=True, help="of decode.scaling, with scores")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    figure.save(draw(read_json(args.records)), args.output)


if __name__ == "__main__":
    command(main)
