"""The gap between teacher and students: BLEU by what they learned from, and by the length of the sentence."""

import argparse
import json
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from decode import figure
from formats.errors import UserError, command
from formats.files import read_json

COLORS = ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999933", "#882255"]


def read(path: Path) -> dict[str, Any]:
    """Read a gap.json. Raises UserError for another file."""
    try:
        gap = read_json(path)
        empty = [name for name, test_set in gap["test_sets"].items() if not test_set["beams"]]
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not made by decode.gap ({error!r})") from None
    if empty:
        raise UserError(f"{path}: no beam of the test set {empty[0]} was scored; make it again with decode.gap")
    return gap


def label(group: dict[str, Any]) -> str:
    return group["student"] if group["mixture"] is None else f"{group['student']}, {group['mixture']}"


@figure.styled
def draw(gap: dict[str, Any]) -> Figure:
    """A column for each test set. Above: greedy BLEU of every system, the mean of its seeds as a bar, the teacher as a
    line. Below: BLEU of the groups by the length of the source.
    """
    test_sets = gap["test_sets"]
    greedy = {name: next(iter(test_set["beams"].values())) for name, test_set in test_sets.items()}
    groups = [label(group) for group in max(greedy.values(), key=lambda found: len(found["groups"]))["groups"]]
    colors = {name: COLORS[number % len(COLORS)] for number, name in enumerate(groups)}
    size = (4.2 * len(test_sets) + 1.2, 3.6 + 0.3 * len(groups))
    picture = Figure(figsize=size, layout="constrained")
    heights = [0.6 + 0.3 * len(groups), 2.6]
    axes = picture.subplots(2, len(test_sets), squeeze=False, height_ratios=heights, sharey="row")
    for (name, found), (above, below) in zip(greedy.items(), axes.T, strict=True):
        beam = f"beam {gap['teacher_beam']}"
        teachers = test_sets[name]["beams"][beam]["systems"]
        best = next(row["bleu"] for row in teachers if row["system"] == gap["teacher"])
        bars(above, found, groups, colors)
        above.axvline(best, color="#000000", linestyle=":", linewidth=1)
        above.set(title=f"{name}: greedy; dotted: {gap['teacher']}, {beam}", xlabel="BLEU")
        lengths(below, found["systems"], colors)
    axes[1, 0].set_ylabel("BLEU")
    return picture


def bars(axes: Axes, found: dict[str, Any], groups: list[str], colors: dict[str, str]) -> None:
    lowest = min(group["bleu_min"] for group in found["groups"])
    for group in found["groups"]:
        place = groups.index(label(group))
        axes.barh(place, group["bleu"], height=0.55, color=colors[label(group)], alpha=0.45)
        axes.text(group["bleu_max"], place, f"  {group['bleu']:.2f}", va="center", fontsize=7.5)
    for row in found["systems"]:
        axes.plot(row["bleu"], groups.index(label(row)), marker="o", markersize=3.5, color=colors[label(row)])
    seen = {label(group): group["sentences"] for group in found["groups"]}
    axes.set_yticks(
        range(len(groups)), [f"{name}: {seen[name]:,} sentences" if seen.get(name) else name for name in groups]
    )
    axes.set_ylim(len(groups) - 0.4, -0.6)
    axes.set_xlim(left=max(0, lowest - 5))
    axes.grid(axis="y", visible=False)


def lengths(axes: Axes, rows: list[dict[str, Any]], colors: dict[str, str]) -> None:
    """Means over the seeds."""
    parts = [f"{part['words'][0]} to {part['words'][1]}" for part in rows[0]["by_length"]]
    for name, color in colors.items():
        same = [[part["bleu"] for part in row["by_length"]] for row in rows if label(row) == name]
        if same:
            axes.plot(
                [sum(values) / len(values) for values in zip(*same, strict=True)], marker="o", color=color, label=name
            )
    axes.set_xticks(range(len(parts)), parts)
    axes.set_xlabel("words of the source, four equal parts of the test set")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gap", type=Path, required=True, help="JSON of decode.gap")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    figure.save(draw(read(args.gap)), args.output)


if __name__ == "__main__":
    command(main)
