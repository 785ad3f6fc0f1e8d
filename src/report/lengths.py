"""Lengths of the sentences of each corpus before and after cleaning, in whitespace tokens."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from common.errors import UserError
from common.files import read_json
from report import figure

BEFORE, AFTER = "#bbbbbb", "#0072b2"
BIN_WORDS = 5  # width of a bin; corpora.funnel counts in these


def read(*paths: Path) -> list[dict[str, Any]]:
    """Read the JSON beside each cleaned corpus. Raises UserError for a file without histograms."""
    return [read_histograms(path) for path in paths]


def read_histograms(path: Path) -> dict[str, Any]:
    counts = read_json(path)
    if not counts.get("lengths"):
        raise UserError(f"{path}: no histograms of lengths; give corpora/clean/*.json of a finished run")
    return counts


@figure.in_column
def draw(corpora: list[dict[str, Any]]) -> Figure:
    """A row for each corpus, a column for each side. Grey: before cleaning; blue: kept."""
    picture = Figure(figsize=(figure.COLUMN, 0.6 + 1.1 * len(corpora)), layout="constrained")
    grid = picture.subplots(len(corpora), 2, squeeze=False, sharex="row")
    for row, counts in zip(grid, corpora, strict=True):
        for axes, side in zip(row, ("source", "target"), strict=True):
            histogram = counts["lengths"].get(side)
            if histogram is None:  # monolingual text
                axes.set_axis_off()
                continue
            before, after = np.array(histogram["in"]), np.array(histogram["out"])
            shown = np.flatnonzero(before).max(initial=0) + 1
            edges = BIN_WORDS * np.arange(shown + 1)
            axes.stairs(before[:shown], edges, fill=True, color=BEFORE, label="before cleaning")
            axes.stairs(after[:shown], edges, fill=True, color=AFTER, label="kept")
            axes.set_yscale("symlog", linthresh=10)
            axes.set_ylim(0)
            axes.set_title(f"{counts['name']}, {side}")
    for axes in grid[-1]:
        axes.set_xlabel("whitespace tokens")
    picture.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return picture
