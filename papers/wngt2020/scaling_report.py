"""Workers against threads (``scaling``) by the number of cores: a table, and bars of speed-up and memory.

Each engine is compared with itself on one core.
"""

from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from findings.captions import engine_label, mark, sizes
from findings.comparison import matching, number, times_faster
from formats import measurement
from formats.measurement import Measurement
from report import figure, labels, table_parts

read = measurement.read

NOTE = """
Workers decode a batch each on one thread; threads share the work of one batch. The weights are in memory once. ×:
times faster than one worker with one thread of the same engine, run by run, the median with the lowest and the
highest, from text to text without loading. Memory is the peak of the whole process. Every row was measured with batches
of the same sizes, and has the one that was fastest by its median, the row of one core, too: {tried}.
{conditions}
"""
WAYS = {"threads": "#d55e00", "workers": "#0072b2"}
LABELS = {"threads": "threads inside the batch", "workers": "workers over the file"}
BAR = 0.36  # of the distance between two numbers of cores


def table(records: list[Measurement]) -> str:
    rows = [row(record, of_engine[0], records) for of_engine in by_engine(records) for record in of_engine]
    tried = "; ".join(
        f"{engine_label(of_engine[0])}: " * (len(of_engine) < len(records))
        + "; ".join(f"{record.decoding.workers} × {record.decoding.threads}: {sizes(record)}" for record in of_engine)
        for of_engine in by_engine(records)
    )
    note = NOTE.format(
        tried=f"workers × threads: target tokens/s (tokens of a batch); {tried}",
        conditions=table_parts.conditions(records),
    )
    return table_parts.page(f"Workers and threads: {table_parts.title(records[0])}", rows, note)


def by_engine(records: list[Measurement]) -> list[list[Measurement]]:
    """The records of each engine; the first of each is on one core."""
    return [matching(records, engine=name) for name in dict.fromkeys(record.decoding.engine for record in records)]


def row(record: Measurement, single: Measurement, records: list[Measurement]) -> dict[str, str]:
    """The cells of a record; ``single`` is the one of its engine on one core."""
    memory, base = (number(one, "peak_rss_bytes") / 1e6 for one in (record, single))
    return {
        "engine": engine_label(record),
        "cores": f"{len(record.decoding.cores)}",
        "workers": f"{record.decoding.workers}",
        "threads": f"{record.decoding.threads}",
        "batch, tokens": f"{record.decoding.batch_tokens:,}",
        "candidates": table_parts.candidates(record),
        "target tokens/s": table_parts.speed(record, records),
        "×": table_parts.times(record, single),
        "CPU s": f"{record.timing.cpu_seconds:.1f}",
        "memory, MB": f"{memory:,.0f}",
        "more memory, MB": f"{memory - base:+,.0f}",
    }


@figure.styled
def draw(records: list[Measurement]) -> Figure:
    """A row of panels for each engine."""
    engines, counts = by_engine(records), cores(records)
    picture = Figure(figsize=(9.0, 0.8 + 3.4 * len(engines)), layout="constrained")
    panels = picture.subplots(len(engines), 2, squeeze=False, sharey="col")
    for both, of_engine in zip(panels, engines, strict=True):
        for axes, panel in zip(both, (speed_up, memory), strict=True):
            panel(axes, of_engine)
            axes.set_xticks(range(len(counts)), counts)
            axes.grid(axis="x", visible=False)
            axes.margins(y=0.12)
            axes.set_xlabel("cores")
    colors = {LABELS[way]: color for way, color in WAYS.items()}
    table_parts.around(picture, table_parts.title(records[0]), colors, records)
    return picture


def speed_up(axes: Axes, records: list[Measurement]) -> None:
    """Bars with whiskers, and a dotted line at the ideal, as many times as cores."""
    for column, count in enumerate(cores(records)):
        axes.hlines(count, column - 0.45, column + 0.45, color="#777777", linestyle=":", linewidth=1)
    for place, color, record in bars(records):
        ratio = times_faster(record, records[0])
        text = f"{ratio.middle:.2f}{mark(record, records[0])}"
        bar(axes, place, color, ratio.middle, text, figure.whiskers(ratio))
    axes.set_title(f"{engine_label(records[0])}: times faster than on one core (dotted: ideal)")


def memory(axes: Axes, records: list[Measurement]) -> None:
    for place, color, record in bars(records):
        amount = number(record, "peak_rss_bytes") / 1e6
        bar(axes, place, color, amount, f"{amount:,.0f}", None)
    axes.set_title(f"{engine_label(records[0])}: peak memory of the process, MB")


def bars(records: list[Measurement]) -> Iterator[tuple[float, str, Measurement]]:
    """Place, colour and record of each bar: both ways side by side for each number of cores."""
    counts = cores(records)
    for side, (way, color) in zip((-1, 1), WAYS.items(), strict=True):
        for record in records:
            if record.value(way) == len(record.decoding.cores):  # one core is the same in both ways
                yield counts.index(len(record.decoding.cores)) + side * BAR / 2, color, record


def cores(records: list[Measurement]) -> list[int]:
    return sorted({len(record.decoding.cores) for record in records})


def bar(axes: Axes, place: float, color: str, height: float, text: str, whiskers: list[list[float]] | None) -> None:
    axes.bar(place, height, BAR, color=color, yerr=whiskers, error_kw={"elinewidth": 0.9})
    at = place, height + (whiskers[1][0] if whiskers else 0)
    where = at, (0, 3), "data", "offset points"
    axes.annotate(text, *where, bbox=labels.GROUND, ha="center", va="bottom", fontsize=8)
