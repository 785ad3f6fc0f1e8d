"""The shares of components in the time of decoding (Figure 2), by ``components`` and ``components_tf``."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from findings.captions import repeats
from formats.experiments import FEW, TimeShare
from formats.spread import Spread
from nmt_frontier.files import read_json, typed
from papers.wnmt2018.documents import CLOCK, COMPONENTS, DIFFERENCES, OPERATORS, Components, ComponentsRow
from report import figure, markup, table_parts

NOTE = """Share of the time of decoding by component, in per cent, {repeats}, with the lowest and \
highest, on one core of {cpu} ({isa}): {sentences:,} sentences of {test_set}, batches of {batch_tokens} tokens. After \
Figure 2 of WNMT 2018, where the generator was the largest part.

* **profiler**: measured. TensorFlow's own profiler noted every operation of OpenNMT-tf by its place in the model; \
*other* is TensorFlow between the operations. The profiler's own cost is in the last column."""
BY_DIFFERENCES = """* **differences**: the wheel of CTranslate2 {version} is built without its profiler. *Encoder* is \
measured, running alone in the engine. The rest is inferred from what decoding costs less without a part: \
*attention* without the layers between decoder and encoder, *generator* with {few} candidates instead of the \
vocabulary (output layer, softmax, choice of the best pieces), *search* from beams against as many greedy rows (what \
reordering and bookkeeping cost more, zero for greedy search by definition), *decoder* is what is left. Every \
sentence has the same number of pieces ({steps}). A difference may be below zero where it is smaller than the \
spread; the picture leaves it out, and its other parts fill the bar."""
BY_CLOCK = """* **clock**: measured. The native engine reads the CPU's clock around each of its steps. *Attention* is \
that between decoder and encoder with its keys and values, but without the projections of its queries and outputs, \
which are *decoder*; *generator* includes gathering the rows of the candidates. With a map, each sentence has its own \
candidates. Translations are as long as the engine makes them; what the clock costs is in the last column."""
BY_OPERATORS = """By operators, as the lower half of the paper's figure has it. *Linear* are products with weights, \
*attention* products of two states, *activations* sigmoid, tanh and the like. The native engine's attention includes \
its softmax, its activations the arithmetic of gates, layer normalisation and the rounding to integers, which in \
TensorFlow are *other*."""
NEGATIVE = "Parts below zero are not drawn; the others fill the bar."
Panel = tuple[list[ComponentsRow], list[dict[str, TimeShare]], tuple[str, ...]]  # rows, and their shares of these parts
COLORS = [*(style.color for style in figure.STUDENTS), "#999999"]


def read(*paths: Path) -> Components:
    """Read the JSON of both experiments."""
    made = "not made by papers.wnmt2018.components or papers.wnmt2018.components_tf"
    return together([typed(read_json(path), Components, f"{path}: {made}") for path in paths])


def together(results: list[Components]) -> Components:
    """The rows of all results, under the conditions of the first."""
    return {**results[0], "rows": [row for result in results for row in result["rows"]]}


def name(row: ComponentsRow) -> str:
    mapped = ", map" if row["vocabulary_map"] else ""
    return f"{row.get('engine_label', row['engine'])}, {row['compute_type']}, beam {row['beam_size']}{mapped}"


def table(result: Components) -> str:
    rows, noise = result["rows"], result["noise"]
    notes = [NOTE.format(**result, repeats=repeats([result["runs"]]))]
    if inferred := next((row for row in rows if row["how"] == DIFFERENCES), None):
        notes.append(BY_DIFFERENCES.format(version=inferred["engine_version"], few=FEW, steps=inferred["steps"]))
    notes += [BY_CLOCK] * any(row["how"] == CLOCK for row in rows)
    note = "\n".join(notes)
    cells = [row_cells(row, noise) for row in rows]
    operators = [operator_cells(row, noise) for row in with_operators(rows)]
    below = [BY_OPERATORS, markup.table(operators)] if operators else []
    return markup.document("Components", note, markup.table(cells), *below, table_parts.row_marks(rows, noise))


def row_cells(row: ComponentsRow, noise: float) -> dict[str, str]:
    return {
        "": name(row) + table_parts.row_mark(row, noise),
        "how": row["how"],
        **{part: f"{Spread.read(share, 'share', 100):,.1f}" for part, share in row["shares"].items()},
        "CPU s": f"{Spread.read(row, 'cpu_seconds'):,.2f}",
        "profiler's cost": f"{row['profiler_costs']:+.0%}" if "profiler_costs" in row else "",
    }


def with_operators(rows: list[ComponentsRow]) -> list[ComponentsRow]:
    """The rows whose clock tells operators apart."""
    return [row for row in rows if "operators" in row]


def operator_cells(row: ComponentsRow, noise: float) -> dict[str, str]:
    shares = row["operators"]
    return {"": name(row) + table_parts.row_mark(row, noise)} | {
        operator: f"{Spread.read(shares[operator], 'share', 100):,.1f}" if operator in shares else ""
        for operator in OPERATORS
    }


@figure.styled
def draw(result: Components) -> Figure:
    """A bar for each way to decode, by components and, below, by operators where there are any.

    Parts below zero are not drawn; the others fill the bar.
    """
    rows, below = result["rows"], with_operators(result["rows"])
    panels: list[Panel] = [(rows, [row["shares"] for row in rows], COMPONENTS)]
    panels += [(below, [row["operators"] for row in below], OPERATORS)] if below else []
    heights = [1.0 + 0.36 * len(shown) for shown, _, _ in panels]
    picture = Figure(figsize=(9.6, 0.4 + sum(heights)), layout="constrained")
    grid = picture.subplots(len(panels), height_ratios=heights, squeeze=False)
    for axes, panel in zip(grid.flat, panels, strict=True):
        _bars(axes, *panel)
    table_parts.document_footnote(picture, result, f"{result['sentences']:,} sentences", NEGATIVE)
    return picture


def _bars(axes: Axes, rows: list[ComponentsRow], spreads: list[dict[str, TimeShare]], parts: tuple[str, ...]) -> None:
    shares = [{part: max(share["share"], 0.0) for part, share in of_row.items()} for of_row in spreads]
    left = [0.0] * len(rows)
    for part, color in zip(parts, COLORS, strict=False):
        widths = [100 * of_row.get(part, 0.0) / sum(of_row.values()) for of_row in shares]
        axes.barh(range(len(rows)), widths, left=left, color=color, label=part, height=0.75)
        for y, (start, width) in enumerate(zip(left, widths, strict=True)):
            if width >= 5:
                axes.text(start + width / 2, y, f"{width:.0f}", ha="center", va="center", color="white", fontsize=8)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(rows)), [f"{name(row)} ({row['how']})" for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 100)
    axes.grid(visible=False)
    axes.set_xlabel("% of the time of decoding")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(parts))
