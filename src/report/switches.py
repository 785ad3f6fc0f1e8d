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
LABELS = {  # by row and way of a place
    ("everything", ""): "everything",
    ("map_per_sentence", ""): "map of the batch",
    ("vocabulary_map", ""): "no map",
    ("sorting", ""): "unsorted batches",
    ("overlap", ""): "no overlapping stages",
    ("packed", ""): "weights packed for every product",
    ("remove_finished", ""): "finished sentences kept",
    ("everything", "beam"): "everything, beam {how.beam_size}",
    ("shared_cache", ""): "copies of the encoder's cache",
    ("blocked_ngram", ""): "no trigram twice, with vectors",
    ("parallel_scan", ""): "no trigram twice, place by place",
    ("everything", "workers"): "everything, {how.workers} workers on {how.workers} cores",
    ("everything", "threads"): "{how.threads} threads in place of workers",
}
SETTINGS = {"isa": "held to {}", "compute_type": "{}"}  # rows whose way is a value
COLORS = {"everything": "#009e73", "without one thing": "#d55e00"}
GAP = 0.5  # in bars, before each group


def groups(records: list[Measurement]) -> list[list[Measurement]]:
    """The records of the same search on as many cores, which are compared; the first of each group has everything."""
    same = itertools.groupby(records, key=lambda record: (record.decoding.beam_size, len(record.decoding.cores)))
    return [list(group) for _, group in same]


def label(record: Measurement) -> str:
    """The name of a row for people."""
    row, way = record.place.row, record.place.way
    return SETTINGS[row].format(way) if row in SETTINGS else LABELS[row, way].format(how=record.decoding)


def table(records: list[Measurement]) -> str:
    rows = [row(record, group[0], records) for group in groups(records) for record in group]
    title = f"What each part of the native engine brings: {table_parts.title(records[0])}"
    return table_parts.page(title, rows, NOTE.format(conditions=table_parts.conditions(records)))


def row(record: Measurement, everything: Measurement, records: list[Measurement]) -> dict[str, str]:
    return {
        "": label(record),
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
    table_parts.ratio_bars(axes, pairs, places, [*map(label, records)], colors)
    axes.axvline(1, color="#777777", linewidth=0.8)
    axes.set_xlabel("times as fast as everything", loc="right")
    table_parts.around(picture, table_parts.title(records[0]), COLORS, records)
    return picture
