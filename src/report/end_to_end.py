"""OpenNMT-tf against the optimised configuration (experiments.end_to_end), beside the paper: a table and a picture."""

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from formats import measurement
from formats.comparison import times_faster
from formats.measurement import Measurement
from formats.selection import BASELINE
from formats.spread import Spread
from formats.wording import mark, once
from report import figure, markdown, speed

read = measurement.read

PAPER = {  # table 6 of WNGT 2020, by shape: seconds for newstest2019 on one core, OpenNMT-tf and optimised
    "6:6 d512 ff2048 h8": (522.1, 39.5),
    "4:3 d256 ff2048 h8 shared": (251.5, 11.2),
    "6:3 d256 ff1024 h8 shared": (238.7, 10.1),
    "4:3 d256 ff1024 h8 shared": (238.0, 8.8),
}
NOTE = """
OpenNMT-tf with beam 4 against CTranslate2 in 8 bits with the vocabulary map, greedy, on the same cores. Seconds for
the whole test set from text to text, loading of the engine and the model included, the median with the fastest and
the slowest run; not included is a warm-up of a few sentences, in which TensorFlow builds its graph. ×: times
faster, run by run. "paper": on one core, in table 6 of WNGT 2020. "told": the instructions that CTranslate2 is told to
use; OpenNMT-tf always chooses the widest itself. "candidates": pieces that the output layer scores with the map, the
mean of the batches. {conditions}
"""
TITLE = "The toolkit against the optimised configuration"
COLORS = {"OpenNMT-tf, beam 4": "#999999", "CTranslate2 in 8 bits with the vocabulary map, greedy": "#0072b2"}
WIDTH, ROW, AROUND = 9.0, 0.42, 1.7  # inches: the picture, a system on some cores, the space above and below
COLUMN = 1.02  # where BLEU stands, in widths of the axes


class Pair(NamedTuple):
    """One system on the same cores in both ways."""

    baseline: Measurement
    optimized: Measurement

    @property
    def times_faster(self) -> Spread:
        return times_faster(self.optimized, self.baseline, "total_seconds")


def pairs(records: list[Measurement]) -> list[Pair]:
    """In the order of the records; each system on one core, then on all of them."""
    ways: dict[tuple[str, int], dict[bool, Measurement]] = {}
    for record in records:
        if record.engine != BASELINE and not record.vocabulary_map:  # a search that BLEU is lost against
            continue
        ways.setdefault((record.system, len(record.cores)), {})[record.engine == BASELINE] = record
    return [Pair(way[True], way[False]) for way in ways.values()]


# The table


def table(records: list[Measurement]) -> str:
    rows = [row(pair, records) for pair in pairs(records)]
    note = NOTE.format(conditions=speed.conditions(records))
    return "\n".join([f"# {TITLE}\n", markdown.table(rows, left=("system", "shape")), note])


def row(pair: Pair, records: list[Measurement]) -> dict[str, str]:
    baseline, optimized = pair
    paper = PAPER.get(optimized.shape) if len(optimized.cores) == 1 else None
    return {
        "system": optimized.system,
        "shape": optimized.shape,
        "parameters": f"{optimized.parameters:,}",
        "cores": f"{len(optimized.cores)}",
        "OpenNMT-tf, s": seconds(baseline, records),
        "optimised, s": seconds(optimized, records),
        "×": f"{pair.times_faster:.1f}{mark(baseline, optimized)}",
        "paper": speed.paper(optimized, f"{paper[0] / paper[1]:.1f}" if paper else ""),
        "BLEU OpenNMT-tf": speed.bleu(baseline),
        "loss OpenNMT-tf": speed.loss(baseline, records),
        "BLEU optimised": speed.bleu(optimized),
        "loss optimised": speed.loss(optimized, records),
        "told": optimized.forced_isa or "",
        "batch, tokens": f"{baseline.batch_tokens:,} → {optimized.batch_tokens:,}",
        "candidates": speed.candidates(optimized),
        "memory, MB": f"{baseline.peak_rss_bytes / 1e6:,.0f} → {optimized.peak_rss_bytes / 1e6:,.0f}",
        "on disk, MB": f"{baseline.model_bytes / 1e6:,.1f} → {optimized.model_bytes / 1e6:,.1f}",
    }


def seconds(record: Measurement, records: list[Measurement]) -> str:
    return f"{record.spread('total_seconds'):,.1f}{mark(record)}{once(record, records)}"


# The picture


@figure.styled
def draw(records: list[Measurement]) -> Figure:
    """Seconds for the test set in both ways, for each system on one core and on all."""
    systems = pairs(records)
    picture = Figure(figsize=(WIDTH, AROUND + ROW * len(systems)), layout="constrained")
    axes = picture.add_subplot()
    for place, pair in enumerate(systems):
        line(axes, place, pair, records)
    axes.set_yticks(range(len(systems)), [name(pair) for pair in systems])
    axes.set_ylim(len(systems) - 0.4, -0.7)
    axes.set_xscale("log")
    axes.margins(x=0.16)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("seconds for the test set, with loading, logarithmic")
    speed.heading(picture, TITLE, COLORS)
    if any(record.bleu is not None for record in records):
        style = {"va": "center", "fontsize": 8, "weight": "bold"}
        axes.text(COLUMN, -0.6, "BLEU, loss", transform=axes.get_yaxis_transform(), **style)
    speed.footnote(picture, records)
    return picture


def line(axes: Axes, place: float, pair: Pair, records: list[Measurement]) -> None:
    """From the seconds of the baseline to the optimised ones, the ratio above; on the right BLEU and its loss."""
    ends = [record.total_seconds for record in pair]
    axes.plot(ends, [place, place], color="#cccccc", linewidth=3, zorder=1)
    for record, color in zip(pair, COLORS.values(), strict=True):
        spread = record.spread("total_seconds")
        whiskers = figure.whiskers(spread)
        axes.errorbar(spread.middle, place, xerr=whiskers, fmt="o", color=color, elinewidth=1)
        text = f"{spread.middle:,.1f} s{mark(record)}"
        side, points, end = ("left", 8, spread.high) if record is pair.baseline else ("right", -8, spread.low)
        axes.annotate(text, (end, place), (points, 0), textcoords="offset points", ha=side, va="center", fontsize=8)
    centre = (ends[0] * ends[1]) ** 0.5  # on a logarithmic axis
    ratio = f"×{pair.times_faster.middle:.1f}"
    axes.annotate(ratio, (centre, place), (0, 3), textcoords="offset points", ha="center", va="bottom", fontsize=8)
    text = " → ".join(dict.fromkeys(map(speed.bleu, pair)))
    text += f", {lost}" if (lost := speed.loss(pair.optimized, records)) else ""
    axes.text(COLUMN, place, text, transform=axes.get_yaxis_transform(), va="center", fontsize=8)


def name(pair: Pair) -> str:
    cores = len(pair.optimized.cores)
    return f"{pair.optimized.system}, {cores} core{'s' if cores > 1 else ''}"
