"""The speeds of benchmarks/engine_recurrent.py as a table with the goals, and as bars."""

import argparse
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from common.errors import command
from common.files import read_json, write_text
from formats.spread import Spread
from report import figure, markdown

LABELS = {"native": "native", "onnxruntime": "onnxruntime", "marian": "Marian"}
COLORS = {"native": "#d55e00", "onnxruntime": "#56b4e9", "marian": "#e69f00"}
TITLE = "Recurrent, averaging and simple recurrent decoders on one core"
NOTE = """Target tokens per second of CPU time on one core of {cpu}, native engine with {isa}; {compute_type}, {pieces}
pieces in and out, {candidates:,} candidates, untrained weights; medians of {runs} runs in turn, with the lowest and the
highest."""

Row = dict[str, Any]


def rate(row: Row) -> Spread:
    return Spread.read(row, "tokens_per_cpu_second")


def verdict(row: Row) -> str:
    """Whether the median reaches the goal; empty where there is none."""
    if row.get("goal") is None:
        return ""
    return "reached" if row["native_times_faster"] >= row["goal"] else "missed"


def cells(row: Row) -> dict[str, str]:
    found = {"shape": row["shape"], "sentences": f"{row['batch']}", "engine": LABELS[row["engine"]]}
    found["tokens/s"] = f"{rate(row):,.0f}"
    peer = "native_times_faster" in row
    found["native × faster"] = f"{Spread.read(row, 'native_times_faster'):.2f}" if peer else ""
    found["goal"] = f"{row.get('goal') or ''}"
    return found | {"verdict": verdict(row)}


def note(rows: list[Row]) -> str:
    return " ".join(NOTE.format(**rows[0]).split())


def table(rows: list[Row]) -> str:
    shown = markdown.table([cells(row) for row in rows], left=("shape", "engine", "verdict"))
    return markdown.document(TITLE, shown, note(rows))


@figure.styled
def draw(rows: list[Row]) -> Figure:
    """A panel for each size of batch, and bars of the engines for each shape."""
    sizes, shapes = ([*dict.fromkeys(row[key] for row in rows)] for key in ("batch", "shape"))
    picture = Figure(figsize=(4.4 * len(sizes), 0.9 + 0.8 * len(shapes)), layout="constrained")
    panels = picture.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for axes, size in zip(panels, sizes, strict=True):
        for place, name in enumerate(LABELS):
            shown = [row for row in rows if (row["engine"], row["batch"]) == (name, size)]
            spreads = [rate(row) for row in shown]
            heights = [shapes.index(row["shape"]) + (place - 1) * 0.26 for row in shown]
            looks = {"height": 0.24, "color": COLORS[name], "label": LABELS[name], "xerr": figure.whiskers(*spreads)}
            axes.barh(heights, [spread.middle for spread in spreads], **looks)
        axes.set_title(f"{size} sentence{'s' if size > 1 else ''}")
        axes.set_xlabel("target tokens per CPU second")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.grid(axis="y", visible=False)
    panels[0].set_yticks(range(len(shapes)), shapes)
    panels[0].invert_yaxis()
    panels[-1].legend()
    picture.suptitle(TITLE, x=0.01, ha="left", fontsize=10)
    figure.footnote(picture, note(rows))
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--result", type=Path, required=True, help="JSON of benchmarks/engine_recurrent.py")
    parser.add_argument("--output", type=Path, required=True, help=".md, .svg or .png")
    args = parser.parse_args()
    rows = read_json(args.result)
    if args.output.suffix == ".md":
        write_text(args.output, table(rows))
    else:
        figure.save(draw(rows), args.output)


if __name__ == "__main__":
    command(main)
