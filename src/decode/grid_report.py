"""The grid of decode.search_grid as a table and a picture: BLEU and CPU time over beam and batch."""

import functools
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from decode import figure
from decode.markdown import between, document, table
from decode.measurements import best_searches, loss, mark, marks, of_test_set, repeats
from decode.search_conditions import conditions

NOTE = """{system} ({shape}) with {type} weights in CTranslate2 {engine_version}, {map}, on one core of {cpu}: \
{test_set}, {sentences} sentences, {repeats}. CPU seconds are those of the whole process after loading, \
tokenization and detokenization included; batches are of so many sentences, sorted by length in windows of eight. \
BLEU: `{bleu_signature}`.

WNMT 2018 (Figure 3) found BLEU to rise with the beam up to 3 and, through the candidates of the map, a little with \
the batch; CPU time to fall with the batch for beam 1, and to rise for wider beams."""
MEASURES = {"bleu": ("BLEU", 2, "viridis"), "cpu_seconds": ("CPU seconds", 2, "viridis_r")}  # digits, colours

Grid = dict[tuple[int, int], dict[str, Any]]


def cells(records: list[dict[str, Any]]) -> Grid:
    """Records of the first test set by batch and beam, without the one that BLEU is lost against."""
    return {
        (record["batch_sentences"], record["beam_size"]): record
        for record in of_test_set(records, records[0]["test_set"])
        if record["batch_sentences"]
    }


def sides(grid: Grid) -> tuple[list[int], list[int]]:
    batches, beams = (sorted(set(values)) for values in zip(*grid, strict=True))
    return batches, beams


def cell(record: dict[str, Any], measure: str) -> str:
    _, digits, _ = MEASURES[measure]
    return f"{record[measure]:.{digits}f}" + ("" if measure == "bleu" else mark(record))


def markdown(records: list[dict[str, Any]]) -> str:
    grid = cells(records)
    batches, beams = sides(grid)
    first = records[0]
    mapped = "with its vocabulary map" if first["vocabulary_map"] else "without a vocabulary map"
    parts = [NOTE.format(**first, repeats=repeats(records), type=first["compute_type"], map=mapped)]
    columns = {title: functools.partial(cell, measure=name) for name, (title, _, _) in MEASURES.items()}
    timed = of_test_set(records, first["test_set"])
    if searches := best_searches(timed):
        parts.append(f"Loss: BLEU below the best search of the same weights in float32 without a map, {searches}.")
        columns["Loss of BLEU"] = lambda record: f"{loss(timed, record):z.2f}"
    columns["Source words a second, lowest and highest"] = functools.partial(
        between, name="source_words_per_second", digits=0
    )
    for title, shown in columns.items():
        rows = [
            {"batch": str(batch), **{f"beam {beam}": shown(grid[batch, beam]) for beam in beams}} for batch in batches
        ]
        parts += [f"## {title}", table(rows)]
    return document("Beam and batch", *parts, marks(records))


@figure.styled
def draw(records: list[dict[str, Any]]) -> Figure:
    """Two heat maps, batches upwards and beams to the right."""
    picture = Figure(figsize=(9.6, 4.2), layout="constrained")
    for axes, measure in zip(picture.subplots(1, 2), MEASURES, strict=True):
        heat(axes, cells(records), measure)
    first = records[0]
    figure.footnote(picture, conditions({**first, "model": first}, f"{first['sentences']:,} sentences"))
    return picture


def heat(axes: Axes, grid: Grid, measure: str) -> None:
    batches, beams = sides(grid)
    title, _, colors = MEASURES[measure]
    values = [[grid[batch, beam][measure] for beam in beams] for batch in batches]
    image = axes.imshow(values, cmap=colors, origin="lower", aspect="auto")
    middle = (image.norm.vmin + image.norm.vmax) / 2
    for y, batch in enumerate(batches):
        for x, beam in enumerate(beams):
            value = grid[batch, beam][measure]
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
