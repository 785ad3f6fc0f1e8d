"""BLEU and CPU time over beam and batch (Figure 3), from the records of ``beam_batch``: tables and heat maps."""

from collections.abc import Callable
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from findings.captions import best_searches, cpu, engine_label, mark, marks, repeats
from findings.comparison import NATIVE, loss, of_test_set
from formats import measurement
from formats.measurement import Measurement
from report import figure, markup, table_parts

read = measurement.read

NOTE = """{first.system.name} ({first.system.shape}) with {first.decoding.compute_type} weights in {engine} \
{first.decoding.engine_version}, {map}, on one core of {cpu}: {first.test_set}, {first.decoding.sentences} sentences, \
{repeats}. CPU seconds are those of \
the whole process after loading, tokenization and detokenization included; batches are of so many sentences, sorted \
by length in windows of eight. {bleu}

WNMT 2018 (Figure 3) found BLEU to rise with the beam up to 3 and, through the candidates of the map, a little with \
the batch; CPU time to fall with the batch for beam 1, and to rise for wider beams."""
OWN_MAP = " Here each sentence has candidates of its own, so that BLEU does not depend on the batch."
MEASURES = {"bleu": ("BLEU", 2, "viridis"), "cpu_seconds": ("CPU seconds", 2, "viridis_r")}  # digits, colours

SPEED_ONLY = "Untrained weights are for speed only, there is no BLEU."

Grid = dict[tuple[int, int], Measurement]  # by batch, in sentences, and beam


def measures(records: list[Measurement]) -> dict[str, tuple[str, int, str]]:
    """Those that the records have."""
    return {name: about for name, about in MEASURES.items() if records[0].value(name) is not None}


def places(records: list[Measurement]) -> Grid:
    """Records of the first test set, without those that BLEU is lost against."""
    return {
        (record.decoding.batch_sentences, record.decoding.beam_size): record
        for record in of_test_set(records, records[0].test_set)
        if record.decoding.batch_sentences
    }


def sides(grid: Grid) -> tuple[list[int], list[int]]:
    """All batches and all beams, in order."""
    batches, beams = (sorted(set(values)) for values in zip(*grid, strict=True))
    return batches, beams


def cell(record: Measurement, measure: str) -> str:
    _, digits, _ = MEASURES[measure]
    return f"{record.value(measure):.{digits}f}" + ("" if measure == "bleu" else mark(record))


def table(records: list[Measurement]) -> str:
    """A table for each measure, batches downwards and beams to the right."""
    first, grid = records[0], places(records)
    mapped = "with its vocabulary map" if first.decoding.vocabulary_map else "without a vocabulary map"
    own = OWN_MAP * (first.decoding.vocabulary_map and first.decoding.engine == NATIVE)
    timed = of_test_set(records, first.test_set)
    searches = best_searches(timed)
    runs = repeats(record.timing.runs for record in records)
    bleu = f"BLEU: `{signature}`." if (signature := first.scores.bleu_signature) else SPEED_ONLY
    parts = [
        NOTE.format(first=first, engine=engine_label(first), cpu=cpu(first), repeats=runs, map=mapped, bleu=bleu) + own,
        f"Loss: BLEU below the best search of the same weights in float32 without a map, {searches}." * bool(searches),
    ]
    for name, (title, _, _) in measures(records).items():
        parts += section(title, grid, partial(cell, measure=name))
    if searches:
        parts += section("Loss of BLEU", grid, lambda record: f"{loss(timed, record):z.2f}")
    title = "Source words a second, lowest and highest"
    parts += section(title, grid, lambda record: f"{record.timing.source_words_per_second:,.0f}")
    return markup.document("Beam and batch", *parts, marks(records))


def section(title: str, grid: Grid, text: Callable[[Measurement], str]) -> list[str]:
    batches, beams = sides(grid)
    rows = [{"batch": str(batch), **{f"beam {beam}": text(grid[batch, beam]) for beam in beams}} for batch in batches]
    return [f"## {title}", markup.table(rows)]


@figure.styled
def draw(records: list[Measurement]) -> Figure:
    """A heat map of each measure, batches upwards and beams to the right."""
    shown = measures(records)
    picture = Figure(figsize=(4.8 * len(shown), 4.2), layout="constrained")
    for axes, measure in zip(picture.subplots(1, len(shown), squeeze=False).flat, shown, strict=True):
        heat(axes, places(records), measure)
    first = records[0]
    table_parts.document_footnote(picture, first.as_json(), f"{first.decoding.sentences:,} sentences")
    return picture


def heat(axes: Axes, grid: Grid, measure: str) -> None:
    batches, beams = sides(grid)
    title, _, colors = MEASURES[measure]
    values = [[grid[batch, beam].value(measure) for beam in beams] for batch in batches]
    axes.imshow(values, cmap=colors, origin="lower", aspect="auto")
    middle = (min(map(min, values)) + max(map(max, values))) / 2
    for y, batch in enumerate(batches):
        for x, beam in enumerate(beams):
            value = grid[batch, beam].value(measure)
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
