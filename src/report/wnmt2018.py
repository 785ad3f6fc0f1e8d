"""Figures of OpenNMT at WNMT 2018: BLEU and CPU time over beam and batch, and the shares of components."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from common.files import read_json, typed
from findings.captions import best_searches, cpu, engine_label, mark, marks, repeats
from findings.comparison import NATIVE, loss, of_test_set
from formats import measurement
from formats.experiments import Components, ComponentsRow, Share
from formats.measurement import COMPONENTS, FEW, OPERATORS, Measurement, Spread
from report import figure, markup, table_parts

read_grid = measurement.read

GRID_NOTE = """{first.system} ({first.shape}) with {first.compute_type} weights in {engine} {first.engine_version}, \
{map}, on one core of {cpu}: {first.test_set}, {first.sentences} sentences, {repeats}. CPU seconds are those of \
the whole process after loading, tokenization and detokenization included; batches are of so many sentences, sorted \
by length in windows of eight. BLEU: `{first.bleu_signature}`.

WNMT 2018 (Figure 3) found BLEU to rise with the beam up to 3 and, through the candidates of the map, a little with \
the batch; CPU time to fall with the batch for beam 1, and to rise for wider beams."""
OWN_MAP = " Here each sentence has candidates of its own, so that BLEU does not depend on the batch."
MEASURES = {"bleu": ("BLEU", 2, "viridis"), "cpu_seconds": ("CPU seconds", 2, "viridis_r")}  # digits, colours

Grid = dict[tuple[int, int], Measurement]  # by batch, in sentences, and beam

COMPONENTS_NOTE = """Share of the time of decoding by component, in per cent, {repeats}, with the lowest and \
highest, on one core of {cpu} ({isa}): {sentences:,} sentences of {test_set}, batches of {batch_tokens} tokens. After \
Figure 2 of WNMT 2018, where the generator was the largest part.

* **profiler**: measured. TensorFlow's own profiler noted every operation of OpenNMT-tf by its place in the model; \
*other* is TensorFlow between the operations. The profiler's own cost is in the last column."""
DIFFERENCES = """* **differences**: the wheel of CTranslate2 {version} is built without its profiler. *Encoder* is \
measured, running alone in the engine. The rest is inferred from what decoding costs less without a part: \
*attention* without the layers between decoder and encoder, *generator* with {few} candidates instead of the \
vocabulary (output layer, softmax, choice of the best pieces), *search* from beams against as many greedy rows (what \
reordering and bookkeeping cost more, zero for greedy search by definition), *decoder* is what is left. Every \
sentence has the same number of pieces ({steps}). A difference may be below zero where it is smaller than the \
spread; the picture leaves it out, and its other parts fill the bar."""
CLOCK = """* **clock**: measured. The native engine reads the CPU's clock around each of its steps. *Attention* is \
that between decoder and encoder with its keys and values, but without the projections of its queries and outputs, \
which are *decoder*; *generator* includes gathering the rows of the candidates. With a map, each sentence has its own \
candidates. Translations are as long as the engine makes them; what the clock costs is in the last column."""
BY_OPERATORS = """By operators, as the lower half of the paper's figure has it. *Linear* are products with weights, \
*attention* products of two states, *activations* sigmoid, tanh and the like. The native engine's attention includes \
its softmax, its activations the arithmetic of gates, layer normalisation and the rounding to integers, which in \
TensorFlow are *other*."""
NEGATIVE = "Parts below zero are not drawn; the others fill the bar."
PARTS = {"shares": COMPONENTS, "operators": OPERATORS}
COLORS = [*(style.color for style in figure.STUDENTS), "#999999"]


def places(records: list[Measurement]) -> Grid:
    """Records of the first test set, without those that BLEU is lost against."""
    return {
        (record.batch_sentences, record.beam_size): record
        for record in of_test_set(records, records[0].test_set)
        if record.batch_sentences
    }


def sides(grid: Grid) -> tuple[list[int], list[int]]:
    """All batches and all beams, in order."""
    batches, beams = (sorted(set(values)) for values in zip(*grid, strict=True))
    return batches, beams


def cell(record: Measurement, measure: str) -> str:
    _, digits, _ = MEASURES[measure]
    return f"{getattr(record, measure):.{digits}f}" + ("" if measure == "bleu" else mark(record))


def table_grid(records: list[Measurement]) -> str:
    """A table for each measure, batches downwards and beams to the right."""
    first, grid = records[0], places(records)
    mapped = "with its vocabulary map" if first.vocabulary_map else "without a vocabulary map"
    own = OWN_MAP * (first.vocabulary_map and first.engine == NATIVE)
    timed = of_test_set(records, first.test_set)
    searches = best_searches(timed)
    runs = repeats(record.runs for record in records)
    parts = [
        GRID_NOTE.format(first=first, engine=engine_label(first), cpu=cpu(first), repeats=runs, map=mapped) + own,
        f"Loss: BLEU below the best search of the same weights in float32 without a map, {searches}." * bool(searches),
    ]
    for name, (title, _, _) in MEASURES.items():
        parts += section(title, grid, lambda record, name=name: cell(record, name))
    if searches:
        parts += section("Loss of BLEU", grid, lambda record: f"{loss(timed, record):z.2f}")
    title = "Source words a second, lowest and highest"
    parts += section(title, grid, lambda record: f"{record.spread('source_words_per_second'):,.0f}")
    return markup.document("Beam and batch", *parts, marks(records))


def section(title: str, grid: Grid, text: Callable[[Measurement], str]) -> list[str]:
    batches, beams = sides(grid)
    rows = [{"batch": str(batch), **{f"beam {beam}": text(grid[batch, beam]) for beam in beams}} for batch in batches]
    return [f"## {title}", markup.table(rows)]


@figure.styled
def draw_grid(records: list[Measurement]) -> Figure:
    """Two heat maps, batches upwards and beams to the right."""
    picture = Figure(figsize=(9.6, 4.2), layout="constrained")
    for axes, measure in zip(picture.subplots(1, 2), MEASURES, strict=True):
        heat(axes, places(records), measure)
    first = records[0]
    conditions = table_parts.Conditions(first.system, first.shape, first.test_set, first.runs, first.cpu, first.isa)
    table_parts.document_footnote(picture, conditions, f"{first.sentences:,} sentences")
    return picture


def heat(axes: Axes, grid: Grid, measure: str) -> None:
    batches, beams = sides(grid)
    title, _, colors = MEASURES[measure]
    values = [[getattr(grid[batch, beam], measure) for beam in beams] for batch in batches]
    image = axes.imshow(values, cmap=colors, origin="lower", aspect="auto")
    middle = (image.norm.vmin + image.norm.vmax) / 2
    for y, batch in enumerate(batches):
        for x, beam in enumerate(beams):
            value = getattr(grid[batch, beam], measure)
            dark = (value < middle) == (colors == "viridis")
            text = cell(grid[batch, beam], measure)
            axes.text(x, y, text, ha="center", va="center", color="white" if dark else "black", fontsize=8)
    axes.set_xticks(range(len(beams)), [str(beam) for beam in beams])
    axes.set_yticks(range(len(batches)), [str(batch) for batch in batches])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("beam")
    axes.set_ylabel("sentences of a batch")
    axes.set_title(title)


def read_components(*paths: Path) -> Components:
    """Read the JSON of both experiments."""
    made = "not made by experiments.components or experiments.components_tf"
    return together([typed(read_json(path), Components, f"{path}: {made}") for path in paths])


def together(results: list[Components]) -> Components:
    """The rows of all results, under the conditions of the first."""
    return {**results[0], "rows": [row for result in results for row in result["rows"]]}


def name(row: ComponentsRow) -> str:
    mapped = ", map" if row["vocabulary_map"] else ""
    return f"{row.get('engine_label', row['engine'])}, {row['compute_type']}, beam {row['beam_size']}{mapped}"


def table_components(result: Components) -> str:
    rows, noise = result["rows"], result["noise"]
    notes = [COMPONENTS_NOTE.format(**result, repeats=repeats([result["runs"]]))]
    if inferred := next((row for row in rows if row["how"] == "differences"), None):
        notes.append(DIFFERENCES.format(version=inferred["engine_version"], few=FEW, steps=inferred["steps"]))
    notes += [CLOCK] * any(row["how"] == "clock" for row in rows)
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
def draw_components(result: Components) -> Figure:
    """A bar for each way to decode, by components and, below, by operators where there are any.

    Parts below zero are not drawn; the others fill the bar.
    """
    rows = result["rows"]
    panels = {"shares": rows, "operators": with_operators(rows)}
    panels = {key: shown for key, shown in panels.items() if shown}
    heights = [1.0 + 0.36 * len(shown) for shown in panels.values()]
    picture = Figure(figsize=(9.6, 0.4 + sum(heights)), layout="constrained")
    grid = picture.subplots(len(panels), height_ratios=heights, squeeze=False)
    for axes, (key, shown) in zip(grid.flat, panels.items(), strict=True):
        _bars(axes, shown, [row[key] for row in shown], PARTS[key])
    conditions = table_parts.Conditions.read(result)
    table_parts.document_footnote(picture, conditions, f"{result['sentences']:,} sentences", NEGATIVE)
    return picture


def _bars(axes: Axes, rows: list[ComponentsRow], spreads: list[dict[str, Share]], parts: tuple[str, ...]) -> None:
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
