"""Vocabulary maps: what they allow, and how much faster they make decoding, by the candidates they leave."""

import argparse
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from decode import figure
from decode.map_table import joined
from formats.errors import command
from formats.files import read_json

COLORS = {1: "#e69f00", 2: "#0072b2", 3: "#009e73"}  # by the longest n-gram
MARKERS = "os^vDPX"  # by the minimum frequency


@figure.styled
def draw(picked: str, maps: list[dict[str, Any]]) -> Figure:
    """Left: coverage of the model's own pieces (filled) and of the references' (hollow). Right: times faster than the
    whole vocabulary, in batches of each size. Dotted: the map that the study uses."""
    picture = Figure(figsize=(10.4, 4.4), layout="constrained")
    left, right = picture.subplots(1, 2)
    coverage(left, maps)
    speed(right, maps)
    chosen = next(row for row in maps if row["map"] == picked)
    for axes in (left, right):
        axes.axvline(chosen["candidates"], color="#000000", linestyle=":", linewidth=1)
        axes.set_xlabel("candidates of a sentence")
    left.set_title(
        f"dotted: n = {chosen['max_ngram']}, from {chosen['min_frequency']} times on, {chosen['meanings']} meanings"
    )
    return picture


def coverage(axes: Axes, maps: list[dict[str, Any]]) -> None:
    frequencies = sorted({row["min_frequency"] for row in maps})
    for row in maps:
        style = {
            "color": COLORS[row["max_ngram"]],
            "marker": MARKERS[frequencies.index(row["min_frequency"]) % len(MARKERS)],
        }
        axes.plot(row["candidates"], row["own"], linestyle="", markersize=5, **style)
        axes.plot(row["candidates"], row["reference"], linestyle="", markersize=5, markerfacecolor="none", **style)
    for ngram in sorted({row["max_ngram"] for row in maps}):
        axes.plot([], [], marker="o", linestyle="", color=COLORS[ngram], label=f"n-grams up to {ngram}")
    for frequency, marker in zip(frequencies, MARKERS, strict=False):
        axes.plot([], [], marker=marker, linestyle="", color="#777777", label=f"frequency from {frequency}")
    axes.plot([], [], marker="o", linestyle="", color="#777777", markerfacecolor="none", label="of the references'")
    axes.set_ylabel("% of the model's own pieces that are allowed")
    axes.legend(loc="lower right", fontsize=7.5)


def speed(axes: Axes, maps: list[dict[str, Any]]) -> None:
    for number, tokens in enumerate(maps[0]["timed"]):
        style = figure.STUDENTS[number % len(figure.STUDENTS)]
        label = "sentence by sentence" if tokens == 1 else f"batches of {tokens} pieces"
        points = [(row["candidates"], row["timed"][tokens]) for row in maps]
        places, rows = zip(*points, strict=True)
        middle = [row["times_faster"] for row in rows]
        below = [row["times_faster"] - row["times_faster_min"] for row in rows]
        above = [row["times_faster_max"] - row["times_faster"] for row in rows]
        axes.errorbar(
            places,
            middle,
            (below, above),
            linestyle="",
            marker=style.marker,
            markersize=4,
            color=style.color,
            elinewidth=0.6,
            label=label,
        )
    axes.axhline(1, color="#777777", linewidth=0.8)
    axes.set_ylabel("times faster than the whole vocabulary")
    axes.legend(fontsize=7.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dev", type=Path, required=True, help="JSON of export.coverage that picked the map")
    parser.add_argument("--coverage", type=Path, required=True, help="JSON of export.coverage, of the test set")
    parser.add_argument("--timing", type=Path, required=True, help="JSON of decode.map_timing, of the test set")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    dev, found, timing = map(read_json, (args.dev, args.coverage, args.timing))
    figure.save(draw(dev["picked"]["map"], joined(found, timing)), args.output)


if __name__ == "__main__":
    command(main)
