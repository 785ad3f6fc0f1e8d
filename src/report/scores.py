"""Histograms of the scores of corpora, before and after the bounds on them."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from formats.counts import Cleaned
from nmt_frontier.errors import UserError
from report import figure
from report.corpora_page import AFTER, BEFORE, read_funnel


def read(*paths: Path) -> list[Cleaned]:
    """Read the JSON beside each corpus that has scores. Raises UserError where one has none."""
    found = read_funnel(*paths)
    if missing := [path for path, counts in zip(paths, found, strict=True) if not counts.get("scores")]:
        raise UserError(f"{missing[0]}: no scores; give corpora/clean/*.json of corpora with `score`")
    return found


@figure.in_column
def draw(corpora: list[Cleaned]) -> Figure:
    """A row for each score of each corpus. Grey: before all bounds; blue: kept; a line at its own bound."""
    rows = [(counts["name"], name, scores) for counts in corpora for name, scores in counts["scores"].items()]
    picture = Figure(figsize=(figure.COLUMN, 0.6 + 1.1 * len(rows)), layout="constrained")
    grid = picture.subplots(len(rows), 1, squeeze=False)[:, 0]
    for axes, (corpus, name, scores) in zip(grid, rows, strict=True):
        edges = np.linspace(
            scores["low"], max(scores["high"], np.nextafter(scores["low"], np.inf)), 1 + len(scores["before"])
        )
        axes.stairs(scores["before"], edges, fill=True, color=BEFORE, label="after all rules")
        axes.stairs(scores["after"], edges, fill=True, color=AFTER, label="kept")
        if scores["bound"] is not None:
            axes.axvline(scores["bound"], color="black", linewidth=0.8, label="bound")
        axes.set_ylim(0)
        axes.set_title(f"{corpus}, {name} ({scores['better']} is better)")
        axes.yaxis.set_major_formatter("{x:,.0f}")
    handles = {label: handle for axes in grid for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    picture.legend([*handles.values()], [*handles], loc="outside upper right", ncols=3)
    return picture
