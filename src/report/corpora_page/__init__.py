"""One HTML page about the corpora of a study: counts, funnel, lengths, and samples of the dropped lines by reason.

``python -m report`` draws its pictures, the cleaning funnel and the lengths of sentences before and after it.
"""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from formats.counts import Cleaned
from nmt_frontier.errors import UserError
from nmt_frontier.files import document
from report import figure

KEPT = "#bbbbbb"
REASONS = {  # in the order of the checks; colours of Okabe and Ito, then of Tol's muted scheme
    "not_sampled": "#dddddd",
    "empty": "#000000",
    "control_characters": "#882255",
    "too_long": "#e69f00",
    "length_ratio": "#56b4e9",
    "identical": "#999933",
    "wrong_script": "#cc6677",
    "digit_mismatch": "#44aa99",
    "repeated_ngram": "#332288",
    "terminal_punctuation": "#aa4499",
    "held_out": "#d55e00",
    "language": "#009e73",
    "duplicate": "#0072b2",
    "near_duplicate": "#88ccee",
    "low_score": "#117733",
}
OTHER = "#cc79a7"
NOTE_WIDTH = 50  # characters above a bar
LEGEND_COLUMNS = 3

BEFORE, AFTER = "#bbbbbb", "#0072b2"
BIN_WORDS = 5  # width of a bin; corpora.funnel counts in these


def read_funnel(*paths: Path) -> list[Cleaned]:
    """Read the JSON beside each cleaned corpus. Raises UserError for a file without its counts."""
    problem = "not the counts of a cleaned corpus; give corpora/clean/*.json"
    return [document(path, Cleaned, problem) for path in paths]


@figure.in_column
def draw_funnel(corpora: list[Cleaned]) -> Figure:
    """Above: lines kept and dropped, to scale. Below: the dropped lines alone, enlarged to one length."""
    colors = {"kept": KEPT, **REASONS}
    notes = [dropped(counts) for counts in corpora]
    lines = max(note.count("\n") + 1 for note in notes)
    heights = [0.5 * len(corpora), (0.3 + 0.2 * lines) * len(corpora)]
    picture = Figure(figsize=(figure.COLUMN, sum(heights) + 1.6), layout="constrained")
    above, below = picture.subplots(2, 1, height_ratios=heights)
    bars(above, [{"kept": c["lines_out"], **ordered(c)} for c in corpora], [kept(c) for c in corpora], colors)
    bars(below, [percent(ordered(c)) for c in corpora], notes, colors)
    for axes in (above, below):
        axes.set_yticks(range(len(corpora)), [f"{counts['name']}\n({counts['role']})" for counts in corpora])
    above.xaxis.set_major_locator(MaxNLocator(4))  # more numbers of millions would touch
    above.xaxis.set_major_formatter("{x:,.0f}")
    below.xaxis.set_major_formatter("{x:.0f} %")
    above.set_xlabel("lines")
    below.set_xlabel("share of the dropped lines")
    below.set_xlim(0, 105)
    used = [name for name in colors if name == "kept" or any(c["dropped"].get(name) for c in corpora)]
    handles = [Patch(color=colors[name], label=name.replace("_", " ")) for name in used]
    picture.legend(handles=handles, loc="outside upper left", ncols=LEGEND_COLUMNS)
    return picture


def bars(axes: Axes, corpora: Sequence[Mapping[str, float]], notes: list[str], colors: dict[str, str]) -> None:
    """A stacked bar for each corpus, with a note above it."""
    for place, (parts, note) in enumerate(zip(corpora, notes, strict=True)):
        left = 0.0
        for reason, count in parts.items():
            axes.barh(place, count, left=left, height=0.5, color=colors.get(reason, OTHER))
            left += count
        # Kept out of the layout, which would narrow the bars to make room for it.
        axes.text(0, place - 0.3, note, fontsize=6, va="bottom", linespacing=1.1).set_in_layout(False)
    axes.set_ylim(len(corpora) - 0.6, -0.8)
    axes.grid(axis="y", visible=False)


def kept(counts: Cleaned) -> str:
    share = counts["lines_out"] / max(counts["lines_in"], 1)
    return f"{counts['lines_out']:,} of {counts['lines_in']:,} lines kept ({share:.2%})"


def dropped(counts: Cleaned) -> str:
    """The counts in words; some bars are too short to be seen."""
    parts = [f"{count:,} {reason.replace('_', ' ')}" for reason, count in counts["dropped"].items() if count]
    return textwrap.fill(f"dropped: {', '.join(parts) or 'none'}", NOTE_WIDTH)


def ordered(counts: Cleaned) -> dict[str, int]:
    """The dropped lines by reason, in the order of the checks; reasons that REASONS lacks come last."""
    return {reason: counts["dropped"].get(reason, 0) for reason in {**REASONS, **counts["dropped"]}}


def percent(parts: dict[str, int]) -> dict[str, float]:
    total = max(sum(parts.values()), 1)
    return {reason: 100 * count / total for reason, count in parts.items()}


def read_lengths(*paths: Path) -> list[Cleaned]:
    """Read the JSON beside each cleaned corpus. Raises UserError for a file without histograms."""
    found = read_funnel(*paths)
    if missing := [path for path, counts in zip(paths, found, strict=True) if not counts.get("lengths")]:
        raise UserError(f"{missing[0]}: no histograms of lengths; give corpora/clean/*.json of a finished run")
    return found


@figure.in_column
def draw_lengths(corpora: list[Cleaned]) -> Figure:
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
