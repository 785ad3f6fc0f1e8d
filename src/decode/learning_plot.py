"""Learning curves of all systems: training loss, and quality on the dev set, against the batches read.

Batches, not updates, as a phase may add up the gradients of many batches for an update (figure 1 of WNGT 2020).
"""

import argparse
import itertools
import re
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from decode import figure
from formats.errors import UserError, command
from formats.files import read_json

LEGEND_COLUMNS = 6


def read(path: Path) -> dict[str, Any]:
    """Read a learning.json. Raises UserError for a file without the curve of a system."""
    try:
        learning = read_json(path)
        return {key: learning[key] for key in ("system", "role", "training", "validation", "phases")}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not a learning curve ({error}); give the learning.json of a system") from None


def batches(step: int, phases: list[dict[str, int]]) -> int:
    """Those read for the updates up to ``step``."""
    total = start = 0
    for phase in phases:
        total += max(min(step, phase["end"]) - start, 0) * phase["accumulate"]
        start = phase["end"]
    return total


def series(system: dict[str, Any], kind: str, quantity: str) -> tuple[list[int], list[float]]:
    """Batches, and the values that were measured after them; kind: training or validation."""
    known = [point for point in system[kind] if point.get(quantity) is not None]
    return [batches(point["step"], system["phases"]) for point in known], [point[quantity] for point in known]


def group(system: str) -> str:
    """The name of a system without its seed."""
    return re.sub(r"-seed\d+$", "", system)


@figure.styled
def draw(learning: list[dict[str, Any]]) -> Figure:
    """Two panels: loss, and BLEU on the dev set. The seeds of a system have one colour."""
    groups = dict.fromkeys(group(system["system"]) for system in learning)
    styles = dict(zip(groups, itertools.cycle(figure.MANY), strict=False))
    picture = Figure(figsize=(10, 3.8), layout="constrained")
    left, right = picture.subplots(1, 2, sharex=True)
    for system in learning:
        color, marker = styles[group(system["system"])]
        left.plot(*series(system, "training", "loss"), color=color)
        right.plot(*series(system, "validation", "bleu"), color=color, marker=marker)
        for phase in system["phases"][:-1]:
            right.axvline(batches(phase["end"], system["phases"]), color=color, linestyle=":", linewidth=1)
    left.set(title="Loss on the training data", xlabel="batches", ylabel="loss, nats per token")
    right.set(title="BLEU on the dev set", xlabel="batches; a phase ends at a dotted line", ylabel="BLEU")
    left.xaxis.set_major_formatter("{x:,.0f}")
    handles = [Line2D([], [], color=style.color, marker=style.marker, label=name) for name, style in styles.items()]
    picture.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), LEGEND_COLUMNS))
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learning", type=Path, nargs="+", required=True, help="learning.json of each system")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    figure.save(draw([read(path) for path in args.learning]), args.output)


if __name__ == "__main__":
    command(main)
