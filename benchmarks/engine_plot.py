"""The ratios of benchmarks/engine.py as a table, and the speeds over the size of batches as a picture."""

import argparse
import math
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from common.errors import command
from common.files import read_json, write_text
from decode.engines import ENGINES
from formats.spread import Spread
from report import figure, markdown

SIZES = {"1": "1 sentence", "8": "8", "32": "32", "512t": "512 tokens"}
COLORS = {"float32": "#999999", "int16": "#e69f00", "int8": "#0072b2"}
NOTE = """Target tokens per second of CPU time on one core of {cpu}, native engine with {isa}, {sentences}; medians of
{runs} runs in turn. Solid: the native engine; dashed: CTranslate2 with the same weights, map and batches{others}."""
LINES = {"ctranslate2": "--", "marian": ":", "opennmt-tf": "-."}
OTHERS = {"marian": "dotted: Marian, likewise", "opennmt-tf": "dash-dotted: OpenNMT-tf, likewise, without a map"}
COLUMNS = 3
TITLE = "The native engine against CTranslate2 on one core"

Row = dict[str, Any]


def name(row: Row) -> str:
    return row["model"] if row["beam_size"] == 1 else f"{row['model']}, beam {row['beam_size']}"


def table(rows: list[Row]) -> str:
    """A line for each model and type: the ratio and its spread, and in brackets the share of the limit."""
    lines: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        line = lines.setdefault((name(row), row["compute_type"], row["peer"]), {})
        line["model"], line["type"], line["against"] = name(row), row["compute_type"], ENGINES[row["peer"]].label
        share = f" [{row['share_of_limit']:.0%}]" if "share_of_limit" in row else ""
        line[SIZES[row["batch"]]] = f"{Spread.read(row, 'ratio'):.2f}{share}"
    return markdown.table([*lines.values()])


def components(rows: list[Row]) -> str:
    """A line for each model and type in batches of 32 sentences: the share of each component."""
    shown = [row for row in rows if row["batch"] == "32" and "components" in row]
    return markdown.table(
        [
            {"model": name(row), "type": row["compute_type"]}
            | {component: f"{share:.0%}" for component, share in row["components"].items()}
            for row in shown
        ]
    )


def panel(axes: Axes, rows: list[Row]) -> None:
    for kind, color in COLORS.items():
        for peer, line in LINES.items():
            shown = [row for row in rows if row["compute_type"] == kind and row["peer"] == peer]
            places = [[*SIZES].index(row["batch"]) for row in shown]
            looks = {"marker": "o", "markersize": 3, "color": color}
            if shown and peer == "ctranslate2":
                axes.plot(places, [row["tokens_per_cpu_second"] for row in shown], "-", label=kind, **looks)
            axes.plot(places, [row["peer_tokens_per_cpu_second"] for row in shown], line, **looks)
    axes.set_xticks(range(len(SIZES)), SIZES.values())
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(name(rows[0]))


@figure.styled
def draw(rows: list[Row]) -> Figure:
    names = [*dict.fromkeys(map(name, rows))]
    lines = math.ceil(len(names) / COLUMNS)
    picture = Figure(figsize=(3.4 * min(len(names), COLUMNS), 0.6 + 3 * lines), layout="constrained")
    grid = picture.subplots(lines, min(len(names), COLUMNS), squeeze=False)
    for axes, shown in zip(grid.flat, names, strict=False):
        panel(axes, [row for row in rows if name(row) == shown])
    for axes in [*grid.flat][len(names) :]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel("target tokens per CPU second")
    max(picture.axes, key=lambda axes: len(axes.get_legend_handles_labels()[0])).legend()  # one with all types
    picture.suptitle(TITLE, x=0.01, ha="left", fontsize=10)
    first = rows[0]
    others = "".join(f"; {text}" for peer, text in OTHERS.items() if any(row["peer"] == peer for row in rows))
    known = {key: first[key] for key in ("cpu", "isa", "runs")}
    text = NOTE.format(sentences=f"sentences of {first['test_set']}", others=others, **known)
    figure.footnote(picture, text)
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--result", type=Path, required=True, help="JSON of benchmarks/engine.py")
    parser.add_argument("--output", type=Path, required=True, help=".md, .svg or .png")
    args = parser.parse_args()
    rows = read_json(args.result)
    if args.output.suffix == ".md":
        write_text(args.output, markdown.document(TITLE, table(rows), components(rows)))
    else:
        figure.save(draw(rows), args.output)


if __name__ == "__main__":
    command(main)
