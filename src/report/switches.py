"""The rows of experiments.switches beside *everything* of their group, as a table and as bars."""

from matplotlib.figure import Figure

from formats import measurement
from formats.comparison import times_faster
from formats.experiments import EVERYTHING
from formats.measurement import Measurement
from formats.wording import mark, once
from report import figure, markdown, speed

read = measurement.read

NOTE = """
The native engine with everything, and without one thing at a time: in 8 bits with the map of each sentence, sorted
batches, overlapping stages, the widest instructions. × everything: times as fast as the row "everything" above it, run
by run, the median with the lowest and the highest; below 1 what was taken away was worth something. Target tokens over
the time from text to text, the median with the slowest and the fastest run. "candidates": pieces that the output layer
scores, the mean of the sentences, or of the batches with a map of the batch. "set": the instructions in use.
{conditions}
"""
COLORS = {"everything": "#009e73", "without one thing": "#d55e00"}
WIDTH, BAR, AROUND = 9.0, 0.34, 1.5  # inches: the picture, a bar, the space above and below the bars
GAP = 0.5  # in bars, before each group


def groups(records: list[Measurement]) -> list[list[Measurement]]:
    """The records that are compared with one another; the first of each group has everything."""
    found: list[list[Measurement]] = []
    for record in records:
        if record.rung.startswith(EVERYTHING):
            found.append([])
        found[-1].append(record)
    return found


# The table


def table(records: list[Measurement]) -> str:
    rows = [row(record, group[0], records) for group in groups(records) for record in group]
    title = f"# What each part of the native engine is worth: {speed.title(records[0])}\n"
    return "\n".join([title, markdown.table(rows), NOTE.format(conditions=speed.conditions(records))])


def row(record: Measurement, everything: Measurement, records: list[Measurement]) -> dict[str, str]:
    ratio = f"{times_faster(record, everything):.2f}{mark(record, everything)}" if record is not everything else ""
    return {
        "": record.rung,
        "target tokens/s": f"{speed.tokens_per_second(record):,.0f}{mark(record)}{once(record, records)}",
        "× everything": ratio,
        "BLEU": speed.bleu(record),
        "set": record.forced_isa or "",
        "candidates": speed.candidates(record),
        "CPU s": f"{record.cpu_seconds:.1f}",
        "memory, MB": f"{record.peak_rss_bytes / 1e6:,.0f}",
        "on disk, MB": f"{record.model_bytes / 1e6:,.1f}",
    }


# The picture


@figure.styled
def draw(records: list[Measurement]) -> Figure:
    """Times as fast as everything of the same group; whiskers go from the lowest run to the highest."""
    found = groups(records)
    picture = Figure(figsize=(WIDTH, AROUND + BAR * (len(records) + GAP * len(found))), layout="constrained")
    axes = picture.add_subplot()
    places = [number + GAP * above for number, above in enumerate(n for n, group in enumerate(found) for _ in group)]
    pairs = [(record, group[0]) for group in found for record in group]
    colors = [COLORS["everything" if record is base else "without one thing"] for record, base in pairs]
    speed.ratio_bars(axes, pairs, places, colors)
    axes.axvline(1, color="#777777", linewidth=0.8)
    axes.set_xlabel("times as fast as everything", loc="right")
    speed.heading(picture, speed.title(records[0]), COLORS)
    speed.footnote(picture, records)
    return picture
