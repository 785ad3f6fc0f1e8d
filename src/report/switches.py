"""What each part of the native engine brings, from the rows of experiments.switches: a table and bars."""

import itertools

from matplotlib.figure import Figure

from formats import measurement
from formats.measurement import Measurement
from report import figure, table_parts

read = measurement.read

NOTE = """
The native engine with everything, and without one thing at a time: in 8 bits with the map of each sentence, sorted
batches, overlapping stages, the widest instructions. × everything: times as fast as the row "everything" above it, run
by run, the median with the lowest and the highest; below 1 what was taken away had made it faster. Target tokens over
the time from text to text, the median with the slowest and the fastest run. "candidates": pieces that the output layer
scores, the mean of the sentences, or of the batches with a map of the batch. "set": the instructions in use.
{conditions}
"""
COLORS = {"everything": "#009e73", "without one thing": "#d55e00"}
GAP = 0.5  # in bars, before each group


def groups(records: list[Measurement]) -> list[list[Measurement]]:
    """The records of the same search on as many cores, which are compared; the first of each group has everything."""
    same = itertools.groupby(records, key=lambda record: (record.decoding.beam_size, len(record.decoding.cores)))
    return [list(group) for _, group in same]


def table(records: list[Measurement]) -> str:
    rows = [row(record, group[0], records) for group in groups(records) for record in group]
    title = f"What each part of the native engine brings: {table_parts.title(records[0])}"
    return table_parts.page(title, rows, NOTE.format(conditions=table_parts.conditions(records)))


def row(record: Measurement, everything: Measurement, records: list[Measurement]) -> dict[str, str]:
    return {
        "": record.rung or "",
        "target tokens/s": table_parts.speed(record, records),
        "× everything": table_parts.times(record, everything) if record is not everything else "",
        "BLEU": table_parts.bleu(record),
        "set": record.conditions.forced_isa or "",
        "candidates": table_parts.candidates(record),
        **table_parts.resources(record),
    }


@figure.styled
def draw(records: list[Measurement]) -> Figure:
    """Times as fast as everything of the same group; whiskers go from the lowest run to the highest."""
    found = groups(records)
    picture, axes = table_parts.bar_picture(len(records) + GAP * len(found))
    places = [number + GAP * above for number, above in enumerate(n for n, group in enumerate(found) for _ in group)]
    pairs = [(record, group[0]) for group in found for record in group]
    colors = [COLORS["everything" if record is base else "without one thing"] for record, base in pairs]
    table_parts.ratio_bars(axes, pairs, places, colors)
    axes.axvline(1, color="#777777", linewidth=0.8)
    axes.set_xlabel("times as fast as everything", loc="right")
    table_parts.around(picture, table_parts.title(records[0]), COLORS, records)
    return picture
