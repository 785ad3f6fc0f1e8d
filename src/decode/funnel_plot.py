"""The cleaning funnel: of each corpus the lines kept, and the lines dropped by reason."""

import argparse
import textwrap
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from decode import figure
from formats.errors import UserError, command
from formats.files import read_json

KEPT = "#bbbbbb"
REASONS = {  # in the order in which they are checked; the colours of Okabe and Ito, then of Tol's muted scheme
    "not_sampled": "#dddddd",
    "empty": "#000000",
    "control_characters": "#882255",
    "too_long": "#e69f00",
    "length_ratio": "#56b4e9",
    "identical": "#999933",
    "wrong_script": "#cc6677",
    "digit_mismatch": "#44aa99",
    "repeated_ngram": "#332288",
    "held_out": "#d55e00",
    "language": "#009e73",
    "duplicate": "#0072b2",
    "near_duplicate": "#88ccee",
}
OTHER = "#cc79a7"
NOTE_WIDTH = 72  # characters above a bar
LEGEND_COLUMNS = 7


def read(path: Path) -> dict[str, Any]:
    """Read the counts of a corpus. Raises UserError for a file without them."""
    try:
        counts = read_json(path)
        return {key: counts[key] for key in ("name", "role", "lines_in", "lines_out", "dropped")}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not the counts of a cleaned corpus ({error}); give corpora/clean/*.json") from None


def kept(counts: dict[str, Any]) -> str:
    share = counts["lines_out"] / max(counts["lines_in"], 1)
    return f"{counts['lines_out']:,} of {counts['lines_in']:,} lines kept ({share:.2%})"


def dropped(counts: dict[str, Any]) -> str:
    """The counts in words, as some bars are too short to be seen."""
    parts = [f"{count:,} {reason.replace('_', ' ')}" for reason, count in counts["dropped"].items() if count]
    return textwrap.fill(f"dropped: {', '.join(parts) or 'none'}", NOTE_WIDTH)


def bars(axes: Axes, corpora: list[dict[str, int]], notes: list[str], colors: dict[str, str]) -> None:
    """A stacked bar for each corpus, with a note above."""
    for place, (parts, note) in enumerate(zip(corpora, notes, strict=True)):
        left = 0
        for reason, count in parts.items():
            axes.barh(place, count, left=left, height=0.5, color=colors.get(reason, OTHER))
            left += count
        # Not in the layout, which would make the bars narrower for the sake of a note.
        axes.text(0, place - 0.3, note, fontsize=7.5, va="bottom", linespacing=1.1).set_in_layout(False)
    axes.set_ylim(len(corpora) - 0.6, -0.7)
    axes.grid(axis="y", visible=False)


@figure.styled
def draw(corpora: list[dict[str, Any]]) -> Figure:
    """Left: lines kept and dropped, to scale. Right: the dropped lines alone, enlarged to one length."""
    colors = {"kept": KEPT, **REASONS}
    picture = Figure(figsize=(10, 1.5 + 0.85 * len(corpora)), layout="constrained")
    left, right = picture.subplots(1, 2, sharey=True)
    bars(left, [{"kept": c["lines_out"], **ordered(c)} for c in corpora], [kept(c) for c in corpora], colors)
    bars(right, [percent(ordered(c)) for c in corpora], [dropped(c) for c in corpora], colors)
    left.set_yticks(range(len(corpora)), [f"{counts['name']}\n({counts['role']})" for counts in corpora])
    left.xaxis.set_major_formatter("{x:,.0f}")
    right.xaxis.set_major_formatter("{x:.0f} %")
    left.set_xlabel("lines")
    right.set_xlabel("share of the dropped lines")
    right.set_xlim(0, 105)
    used = [name for name in colors if name == "kept" or any(c["dropped"].get(name) for c in corpora)]
    handles = [Patch(color=colors[name], label=name.replace("_", " ")) for name in used]
    picture.legend(handles=handles, loc="outside upper left", ncols=LEGEND_COLUMNS)
    return picture


def ordered(counts: dict[str, Any]) -> dict[str, int]:
    """The dropped lines by reason, known reasons in the order in which they are checked."""
    return {reason: counts["dropped"].get(reason, 0) for reason in {**REASONS, **counts["dropped"]}}


def percent(parts: dict[str, int]) -> dict[str, float]:
    total = max(sum(parts.values()), 1)
    return {reason: 100 * count / total for reason, count in parts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", type=Path, nargs="+", required=True, help="JSON beside each cleaned corpus")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .svg or .png")
    args = parser.parse_args()
    figure.save(draw([read(path) for path in args.counts]), args.output)


if __name__ == "__main__":
    command(main)
