"""The rungs of decode.ladder as bars: target tokens a second, times faster than the baseline, and BLEU."""

import argparse
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from decode import figure, speed
from decode.ladder import BEAM
from decode.ladder_table import PAPER, without_reference
from decode.measurements import BASELINE, Record, mark, times_faster
from formats.errors import command
from formats.files import read_json

TOOLKIT, EVERYWHERE = "OpenNMT-tf", "all cores"
PAPERS, BEYOND = "switches of table 5 of WNGT 2020", "switches beyond it"
COLORS = {TOOLKIT: "#999999", PAPERS: "#0072b2", BEYOND: "#009e73", EVERYWHERE: "#cc79a7"}
WIDTH, BAR, AROUND = 9.0, 0.34, 1.5  # inches: the picture, a bar, what is above and below
APART = 0.5  # bars between those on one core and those on all


def kind(record: Record) -> str:
    if len(record["cores"]) > 1:
        return EVERYWHERE
    return TOOLKIT if record["engine"] == BASELINE else PAPERS if record["rung"] in PAPER else BEYOND


def places(records: list[Record]) -> list[float]:
    """From the top; what is not on one core stands apart."""
    return [place + APART * (kind(record) == EVERYWHERE) for place, record in enumerate(records)]


def bars(axes: Axes, records: list[Record], everything: list[Record]) -> None:
    """The first rung on top; whiskers from the slowest run to the fastest. everything: with what a loss is against."""
    baseline = next(record for record in records if record["rung"] == BEAM)
    for place, record in zip(places(records), records, strict=True):
        rate = speed.tokens_per_second(record)
        whiskers = [[rate.middle - rate.low], [rate.high - rate.middle]]
        axes.barh(place, rate.middle, 0.66, color=COLORS[kind(record)], xerr=whiskers, error_kw={"elinewidth": 0.9})
        times = f"×{times_faster(record, baseline).middle:.1f}{mark(record, baseline)}"
        text = f"{rate.middle:,.0f}{mark(record)}   {times}"
        axes.annotate(text, (rate.high, place), (5, 0), textcoords="offset points", va="center", fontsize=8)
        if not record["speed_only"]:
            beside(axes, place, speed.bleu(record), speed.loss(record, everything))
    if not baseline["speed_only"]:
        beside(axes, -0.85, "BLEU", "loss", weight="bold")


def beside(axes: Axes, place: float, *cells: str, **style: str) -> None:
    """Two narrow columns on the right."""
    style |= {"ha": "right", "va": "center", "fontsize": 8}
    for points, cell in zip((34, 66), cells, strict=True):
        at = (1, place), (points, 0), axes.get_yaxis_transform(), "offset points"
        axes.annotate(cell, *at, annotation_clip=False, **style)


@figure.styled
def draw(everything: list[Record]) -> Figure:
    records = without_reference(everything)
    picture = Figure(figsize=(WIDTH, AROUND + BAR * len(records)), layout="constrained")
    axes = picture.add_subplot()
    bars(axes, records, everything)
    axes.set_yticks(places(records), [record["rung"] for record in records])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    longest = max(speed.tokens_per_second(record).high for record in records)
    axes.set_xlim(0, 1.42 * longest)  # the text of the longest bar ends before the column of BLEU
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel(f"target tokens per second, and times the speed of {BEAM} on one core", loc="right")
    shown = {kind(record) for record in records}
    speed.heading(picture, speed.title(records[0]), {name: color for name, color in COLORS.items() if name in shown})
    speed.footnote(picture, everything)
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, required=True, help="of decode.ladder, with scores")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    figure.save(draw(read_json(args.records)), args.output)


if __name__ == "__main__":
    command(main)
