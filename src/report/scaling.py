"""Workers against threads (experiments.scaling) by the number of cores: a table, and bars of speed-up and memory."""

from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formats import measurement
from formats.comparison import times_faster
from formats.measurement import Measurement
from formats.wording import mark, once, sizes
from report import figure, labels, markdown, speed

read = measurement.read

NOTE = """
Workers decode a batch each on one thread; threads share the work of one batch. The weights are in memory once. ×:
times faster than one worker with one thread, run by run, the median with the lowest and the highest, from text to
text without loading. Memory is the peak of the whole process. Every row was measured with batches of the same sizes,
and has the one that was fastest by its median, the row of one core, too: {tried}.
{conditions}
"""
WAYS = {"threads": "#d55e00", "workers": "#0072b2"}
LABELS = {"threads": "threads inside the batch", "workers": "workers over the file"}
BAR = 0.36  # of the distance between two numbers of cores


# The table


def table(records: list[Measurement]) -> str:
    rows = [row(record, records) for record in records]
    tried = "; ".join(f"{record.workers} × {record.threads}: {sizes(record)}" for record in records)
    note = NOTE.format(
        tried=f"workers × threads: target tokens/s (tokens of a batch); {tried}", conditions=speed.conditions(records)
    )
    return "\n".join([f"# Workers and threads: {speed.title(records[0])}\n", markdown.table(rows, left=()), note])


def row(record: Measurement, records: list[Measurement]) -> dict[str, str]:
    """The cells of a record; the first of ``records`` is on one core."""
    single = records[0]
    memory, base = record.peak_rss_bytes / 1e6, single.peak_rss_bytes / 1e6
    return {
        "cores": f"{len(record.cores)}",
        "workers": f"{record.workers}",
        "threads": f"{record.threads}",
        "batch, tokens": f"{record.batch_tokens:,}",
        "candidates": speed.candidates(record),
        "target tokens/s": f"{speed.tokens_per_second(record):,.0f}{mark(record)}{once(record, records)}",
        "×": f"{times_faster(record, single):.2f}{mark(record, single)}",
        "CPU s": f"{record.cpu_seconds:.1f}",
        "memory, MB": f"{memory:,.0f}",
        "more memory, MB": f"{memory - base:+,.0f}",
    }


# The picture


@figure.styled
def draw(records: list[Measurement]) -> Figure:
    picture = Figure(figsize=(9.0, 4.2), layout="constrained")
    counts = cores(records)
    for axes, panel in zip(picture.subplots(1, 2), (speed_up, memory), strict=True):
        panel(axes, records)
        axes.set_xticks(range(len(counts)), counts)
        axes.grid(axis="x", visible=False)
        axes.margins(y=0.12)
        axes.set_xlabel("cores")
    speed.heading(picture, speed.title(records[0]), {LABELS[way]: color for way, color in WAYS.items()})
    speed.footnote(picture, records)
    return picture


def speed_up(axes: Axes, records: list[Measurement]) -> None:
    """Bars with whiskers, and a dotted line at the ideal, as many times as cores."""
    for place, count in enumerate(cores(records)):
        axes.hlines(count, place - 0.45, place + 0.45, color="#777777", linestyle=":", linewidth=1)
    for place, color, record in bars(records):
        ratio = times_faster(record, records[0])
        text = f"{ratio.middle:.2f}{mark(record, records[0])}"
        bar(axes, place, color, ratio.middle, text, figure.whiskers(ratio))
    axes.set_title("times faster than on one core (dotted: ideal)")


def memory(axes: Axes, records: list[Measurement]) -> None:
    for place, color, record in bars(records):
        amount = record.peak_rss_bytes / 1e6
        bar(axes, place, color, amount, f"{amount:,.0f}", None)
    axes.set_title("peak memory of the process, MB")


def bars(records: list[Measurement]) -> Iterator[tuple[float, str, Measurement]]:
    """Place, colour and record of each bar: both ways side by side for each number of cores."""
    counts = cores(records)
    for side, (way, color) in zip((-1, 1), WAYS.items(), strict=True):
        for record in records:
            if getattr(record, way) == len(record.cores):  # one core is the same in both ways
                yield counts.index(len(record.cores)) + side * BAR / 2, color, record


def cores(records: list[Measurement]) -> list[int]:
    return sorted({len(record.cores) for record in records})


def bar(axes: Axes, place: float, color: str, height: float, text: str, whiskers: list[list[float]] | None) -> None:
    axes.bar(place, height, BAR, color=color, yerr=whiskers, error_kw={"elinewidth": 0.9})
    top = height + (whiskers[1][0] if whiskers else 0)
    over = {"textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": 8}
    axes.annotate(text, (place, top), (0, 3), bbox=labels.GROUND, **over)
