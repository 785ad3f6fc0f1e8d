"""Draw the speeds of benchmarks/marian.py: a bar for each way, a panel for each number of cores."""

import argparse
from pathlib import Path
from typing import Any

from marian import BEAMS, RATE
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from common.errors import command
from common.files import read_json
from formats.measurement import Measurement
from formats.wording import marks
from report import figure

COLORS = {"opennmt-tf": "#999999", "marian": "#d55e00", "ctranslate2": "#0072b2"}
BAR, AROUND = 0.26, 1.5  # inches: a bar, what is above and below
NOTE = """{first.sentences:,} sentences of {first.test_set}, {first.runs} runs in turn, {first.cpu} ({first.isa}).
Bars are medians, whiskers the slowest and the fastest run; ×: times faster than {beams}, run by run, the median.
CTranslate2 and Marian decode the same weights; OpenNMT-tf's are others, of the same shape ({first.shape}): compare its
speed alone. {marks}"""


def panel(axes: Axes, rows: list[dict[str, Any]]) -> None:
    for place, row in enumerate(rows):
        middle, low, high = (row[f"{RATE}{end}"] for end in ("", "_min", "_max"))
        whiskers = [[middle - low], [high - middle]]
        axes.barh(place, middle, 0.66, color=COLORS[row["engine"]], xerr=whiskers, error_kw={"elinewidth": 0.9})
        ratio = row["times_faster"][BEAMS]
        text = f"{middle:,.0f}{row['mark']}   ×{ratio['middle']:.1f}{ratio['mark']}"
        axes.annotate(text, (high, place), (5, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [row["way"] for row in rows])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.25)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("source words per second")
    axes.set_title(f"{rows[0]['cores']} core{'s' if rows[0]['cores'] > 1 else ''}")


@figure.styled
def draw(result: dict[str, Any]) -> Figure:
    rows, records = result["ratios"], [Measurement(**record) for record in result["records"]]
    cores = sorted({row["cores"] for row in rows})
    panels = [[row for row in rows if row["cores"] == count] for count in cores]
    picture = Figure(figsize=(6.2 * len(cores), AROUND + BAR * max(map(len, panels))), layout="constrained")
    for axes, shown in zip(picture.subplots(1, len(cores), squeeze=False)[0], panels, strict=True):
        panel(axes, shown)
    picture.suptitle("CTranslate2 and Marian with the same weights, and OpenNMT-tf", x=0.01, ha="left", fontsize=10)
    figure.footnote(picture, NOTE.format(first=records[0], beams=BEAMS, marks=marks(records)))
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--result", type=Path, required=True, help="JSON of benchmarks/marian.py")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    figure.save(draw(read_json(args.result)), args.output)


if __name__ == "__main__":
    command(main)
