"""Draw the figures of benchmarks/cleaning.py: speed and memory against size, and how many times as fast as others."""

import argparse
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from common.errors import command
from common.files import read_json
from report import figure

OURS, GATHER = "#0072b2", "#009e73"


@figure.styled
def draw(result: dict[str, Any]) -> Figure:
    picture = Figure(figsize=(11, 3.4), layout="constrained")
    speed, memory, ratio = picture.subplots(1, 3)
    scaling = result["scaling"]
    sizes = [point["pairs"] / 1e6 for point in scaling]

    speed.plot(sizes, [point["pairs_per_second"] / 1000 for point in scaling], "o-", color=OURS)
    speed.set_title("whole chain on two cores, start included")
    speed.set_ylabel("thousand pairs a second")

    for key, label, color in (("clean", "clean, a process", OURS), ("gather", "gather", GATHER)):
        memory.plot(sizes, [p[f"{key}_peak_rss_bytes"] / 1e6 for p in scaling], "o-", color=color, label=label)
    memory.set_title("peak memory")
    memory.set_ylabel("MB")
    memory.legend(loc="center right")
    for axes in (speed, memory):
        axes.set_xlabel("million pairs")
        axes.set_xlim(0)
        axes.set_ylim(0)

    names = list(result["ratios"])[::-1]
    bars = ratio.barh([name.replace(", ", ",\n") for name in names], [result["ratios"][n] for n in names], color=OURS)
    ratio.bar_label(bars, fmt=" %g×")
    ratio.set_xscale("log")
    ratio.set_xlim(1, 10 * max(result["ratios"].values()))
    ratio.set_title("times as fast as")
    ratio.grid(axis="y", visible=False)
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--result", type=Path, required=True, help="JSON of benchmarks/cleaning.py")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    figure.save(draw(read_json(args.result)), args.output)


if __name__ == "__main__":
    command(main)
