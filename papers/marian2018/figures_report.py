"""Cost-effectiveness against BLEU, as in figures 1 and 2 of Junczys-Dowmunt et al. 2018, with measured engines.

``marian_figure1`` and ``marian_figure2`` are the two pictures.

Hollow: tables 3 and 4 of the paper, newstest2014 English-German. Filled: models of the same shapes with random weights,
timed here. They have no BLEU, so each stands at the BLEU that the paper prints for the same system, on the CPU where it
does. All are priced as the paper's machines. A line connects the systems of a family. The paper's figures also have
other participants' submissions, which are in none of its tables.
"""

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from findings import captions
from findings.comparison import BASELINE, NATIVE, spread
from formats import measurement
from formats.measurement import Measurement
from formats.spread import Spread
from nmt_frontier.errors import UserError
from report import figure, labels
from report.front import amount
from report.our_number import timed
from report.published import CPU, GPU, PRICES, Published, published, tokens_per_usd

read = measurement.read

AROUND = 25.5  # BLEU: "around and above" 26, the quality that the paper aims at


class LineStyle(NamedTuple):
    """How the systems of one engine on one machine look."""

    label: str
    color: str
    linestyle: str
    filled: bool


LINES = {
    GPU: LineStyle(f"the paper's, {GPU} (GPU)", "#56b4e9", ":", False),
    CPU: LineStyle(f"the paper's, {CPU} (CPU)", "#0072b2", "--", False),
    NATIVE: LineStyle("native engine: cost measured, BLEU the paper's", "#d55e00", "-", True),
    BASELINE: LineStyle("OpenNMT-tf: cost measured, BLEU the paper's", "#e69f00", "-.", True),
}
MAPPED = {NATIVE: True, BASELINE: False}  # whether the records of an engine have a vocabulary map
BASELINES = "baselines"
MARKERS = {BASELINES: "X", "teachers": "D", "recurrent": "^", "averaging attention": "s", "Transformer": "o"}
ROWS = {  # of the paper's tables, by family
    BASELINES: "1 2",
    "teachers": "3 4",
    "recurrent": "18 19 20 21 22",
    "averaging attention": "11 12 13 13i 15 15i 16 16i 17 17i 23i 24i",
    "Transformer": "5 6 7 7i 8 9 10 10i 14 14i",
}
FAMILIES = {row: family for family, rows in ROWS.items() for row in rows.split()}
TITLE = "{} of Junczys-Dowmunt et al. 2018, {}. Hollow: the paper's. Filled: cost measured, BLEU the paper's"
NOTE = """Numbers: rows of the paper's tables; i: in 16 bits, 7i in 8. Measured: random weights, which have no BLEU, so
each stands at that of the paper's row; {} sentences of {}, {}, one core of {}, at the price of the paper's whole {}, {}
USD an hour (its GPU: {}). The machines are of different years: compare the order and the ratios of the systems of one
machine."""
SIZE = 10.0, 6.2  # inches
LEGEND = 0.25  # of the width
MARKER = 5.5  # points


class SystemPoint(NamedTuple):
    """A system. row: its number in the paper's tables. line: one of LINES. cost: source tokens per USD."""

    row: str
    line: str
    family: str
    bleu: float
    cost: Spread

    @property
    def place(self) -> tuple[float, float]:
        return self.bleu, self.cost.middle


def points(records: list[Measurement]) -> list[SystemPoint]:
    """All rows of the paper, and the records of their shapes. Raises UserError where no record has one."""
    systems = published()
    measured = [
        _point(system, line, _cost(record))
        for system in _greedy(systems)
        for line, mapped in MAPPED.items()
        if (record := timed(system.printed._replace(engine=line, map=mapped), records))
    ]
    if not measured:
        raise UserError("no record is of a system of Junczys-Dowmunt et al. 2018 (papers/marian2018/claims.csv)")
    return [_point(system, system.machine, Spread(*[system.tokens_per_usd] * 3)) for system in systems] + measured


def _point(system: Published, line: str, cost: Spread) -> SystemPoint:
    return SystemPoint(system.printed.row, line, FAMILIES[system.printed.row], system.bleu, cost)


def _greedy(systems: list[Published]) -> list[Published]:
    """Of each shape and type the last row with greedy search: the CPU's where there is one, Marian's, not Amun's."""
    greedy = [system for system in systems if system.printed.shape and system.printed.beam == 1]
    return list({(system.printed.shape, system.printed.type): system for system in greedy}.values())


def _cost(record: Measurement) -> Spread:
    """Source tokens per USD: the median with the slowest and the fastest run. Raises UserError without tokens."""
    middle, low, high = spread(record, "text_seconds")
    slower = middle / high, middle / low
    return Spread(*(tokens_per_usd(record.tokens_per_second * share, PRICES[CPU]) for share in (1.0, *slower)))


@figure.styled
def systems_picture(records: list[Measurement], number: str, what: str, scale: str, least: float = 0.0) -> Figure:
    """The systems with a BLEU of at least ``least``. Raises UserError where no record has a shape of the paper.

    number, what: of the paper's figure, for the title. scale: of the costs, one of matplotlib's.
    """
    shown = [point for point in points(records) if point.bleu >= least]
    picture = Figure(figsize=SIZE, layout="constrained")
    axes, side = picture.subplots(1, 2, width_ratios=[1 - LEGEND, LEGEND])
    for line, look in LINES.items():
        for family in MARKERS:
            _draw_family(axes, look, [point for point in shown if (point.line, point.family) == (line, family)])
    axes.set_yscale(scale)  # last: error bars on a logarithmic axis start its limits at 1
    axes.yaxis.set_major_formatter(FuncFormatter(amount))
    axes.set_xlabel("BLEU on newstest2014, as the paper prints it")
    axes.set_ylabel(f"source tokens per USD, {'logarithmic' if scale == 'log' else scale}")
    _legend(side, {point.row for point in shown})
    picture.suptitle(TITLE.format(number, what), x=0.01, ha="left", fontsize=10)
    figure.footnote(picture, _note(records))
    labels.freeze(picture)
    labels.write(axes, [(point.place, point.row) for point in shown], [point.place for point in shown])
    return picture


def _draw_family(axes: Axes, look: LineStyle, family: list[SystemPoint]) -> None:
    """The systems of a family on one line, from the dearest to the cheapest; baselines have none."""
    if not family:
        return
    ordered = sorted(family, key=lambda point: point.cost)
    name = ordered[0].family
    axes.errorbar(
        [point.bleu for point in ordered],
        [point.cost.middle for point in ordered],
        yerr=figure.whiskers(*(point.cost for point in ordered)),
        marker=MARKERS[name],
        color=look.color,
        markerfacecolor=look.color if look.filled else "white",
        markersize=MARKER,
        linestyle="" if name == BASELINES else look.linestyle,
        linewidth=1.1,
        elinewidth=0.9,
        capsize=2,
    )


def _note(records: list[Measurement]) -> str:
    first = records[0]
    runs = captions.repeats(record.timing.runs for record in records)
    return NOTE.format(
        f"{first.decoding.sentences:,}", first.test_set, runs, captions.cpu(first), CPU, PRICES[CPU], PRICES[GPU]
    )


def _legend(axes: Axes, rows: set[str]) -> None:
    """What colours and markers stand for, and below it the names of the rows."""
    axes.set_axis_off()
    lines = [
        Line2D([], [], color=c, linestyle=style, marker="o", markerfacecolor=c if filled else "white", label=label)
        for label, c, style, filled in LINES.values()
    ]
    families = [
        Line2D([], [], color="#555555", linestyle="", marker=marker, markerfacecolor="white", label=family)
        for family, marker in MARKERS.items()
    ]
    axes.legend(handles=[*lines, *families], loc="upper left", fontsize=7.5, borderaxespad=0, handlelength=3)
    names = {system.printed.row: system.printed.system for system in published()}
    text = "\n".join(f"{row:4}{name}" for row, name in sorted(names.items(), key=_numbers) if row in rows)
    axes.text(0, 0, text, transform=axes.transAxes, fontsize=7, va="bottom")


def _numbers(row: tuple[str, str]) -> tuple[int, str]:
    """7 before 7i before 10."""
    return int(row[0].removesuffix("i")), row[0]


def draw_figure1(records: list[Measurement]) -> Figure:
    """Raises UserError where none of the records is of a system of the paper."""
    return systems_picture(records, "Figure 1", "all systems", "log")


def draw_figure2(records: list[Measurement]) -> Figure:
    """Raises UserError where none of the records is of a system of the paper."""
    return systems_picture(records, "Figure 2", "systems around and above 26 BLEU", "linear", AROUND)
