"""Measured systems among the 24 of Junczys-Dowmunt et al. 2018: quality against source tokens per dollar of that time.

After figure 1 of the paper. Grey: its tables 3 and 4, newstest2014 English-German, a row for each way to run a system.
In colour: measurements, priced as if they had been made on the paper's m5.large. Its prices serve this picture only; no
machine costs that today. BLEU of different test sets cannot be compared, so each side has its own front.
"""

from collections import defaultdict
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from findings import comparison
from findings.comparison import pareto
from findings.cost import SECONDS_PER_HOUR
from formats import measurement
from formats.measurement import Measurement
from report import claims, figure, labels
from report.claims import Printed
from report.front import Plot, footnote, legend, scored

read = measurement.read

CPU, GPU = "m5.large", "p3.2xlarge"
MACHINES = {"3": GPU, "4": CPU}  # of the paper's tables
SOURCE_TOKENS = 62_954  # of newstest2014, section 5 of the paper; by Moses' tokenizer, a sixth more than its words
PRICES = {CPU: 0.102, GPU: 3.259}  # USD an hour of a dedicated instance, section 5 of the paper
CORES = 2  # virtual ones of CPU, the machine that measurements are priced as
GREY = "#9a9a9a"
TITLE = f"""At the prices of Junczys-Dowmunt et al. 2018, for this picture only: \
m5.large {PRICES[CPU]}, p3.2xlarge {PRICES[GPU]} USD an hour"""
NOTE = f"""In colour: runs on this CPU, priced as the paper's {CPU}; a run on one core or two pays for all of it.
Grey: tables 3 and 4 of the paper: newstest2014, other data. BLEU of different test sets cannot be compared."""
MARKERS = {CPU: ("o", "2018, m5.large (CPU)"), GPU: ("^", "2018, p3.2xlarge (GPU)")}


class Published(NamedTuple):
    """A row that the paper prints. printed: its seconds."""

    printed: Printed
    machine: str
    tokens_per_usd: float
    bleu: float

    @property
    def name(self) -> str:
        return f"({self.printed.row}) {self.printed.system}"

    @property
    def place(self) -> tuple[float, float]:
        return self.tokens_per_usd, self.bleu


def tokens_per_usd(tokens_per_second: float, usd_per_hour: float) -> float:
    """Tokens per second times seconds per hour over USD per hour (section 5 of the paper)."""
    return tokens_per_second * SECONDS_PER_HOUR / usd_per_hour


def published() -> list[Published]:
    """All rows of both tables."""
    rows: dict[tuple[str, str], dict[str, Printed]] = defaultdict(dict)
    for printed in claims.of_paper(claims.MARIAN):
        if printed.table in MACHINES:
            rows[MACHINES[printed.table], printed.row][printed.quantity] = printed
    found = []
    for (machine, _), of in rows.items():
        cost = tokens_per_usd(SOURCE_TOKENS / of["seconds"].value, PRICES[machine])
        found.append(Published(of["seconds"], machine, cost, of["BLEU"].value))
    return found


def priced(record: Measurement) -> float:
    """Source tokens per USD of a record, on as many of the paper's machines as it takes to have its cores."""
    machines = -(-max(len(record.decoding.cores), 1) // CORES)
    return tokens_per_usd(record.tokens_per_second, machines * PRICES[CPU])


def grey(axes: Axes, systems: list[Published]) -> list[Published]:
    """Draw systems with the staircase of their front; return the front."""
    for system in systems:
        axes.plot(*system.place, MARKERS[system.machine][0], color=GREY, markersize=4.5, zorder=2)
    flags = pareto([system.place for system in systems])
    front = sorted((system for system, on in zip(systems, flags, strict=True) if on), key=lambda system: system.place)
    places = [(front[0].place[0], front[0].bleu), *(system.place for system in front)]
    axes.plot(*zip(*places, strict=True), drawstyle="steps-pre", color=GREY, linewidth=0.9, zorder=1)
    return front


@figure.styled
def draw(measurements: list[Measurement], test_set: str | None = None) -> Figure:
    """The picture of one test set. Raises UserError where no measurement of it has both a score and a speed.

    test_set: by default the first one, which is timed in every run.
    """
    test_set = test_set or comparison.test_sets(measurements)[0]
    records = scored(comparison.of_test_set(measurements, test_set))
    systems, plot = published(), Plot(records, priced, "source tokens per USD of 2018")
    picture = Figure(figsize=(10, 6.5), layout="constrained")
    axes = picture.add_subplot()
    axes.margins(x=0.08, y=0.08)
    plot.points(axes, records)
    front = grey(axes, systems)
    plot.staircase(axes)
    axes.set_title(TITLE)
    handles = [
        Line2D([], [], linestyle="", marker=marker, color=GREY, label=label) for marker, label in MARKERS.values()
    ]
    figure.legend(picture, [*legend(plot.styles), *handles], "outside upper left", 5)
    picture.supxlabel(f"{footnote(records)}\n{NOTE}", **figure.FOOTNOTE)
    labels.freeze(picture)
    names(axes, plot, systems, front)
    return picture


def names(axes: Axes, plot: Plot, systems: list[Published], front: list[Published]) -> None:
    """Write the names of the cheapest measured systems and of the published front."""
    measured = [(plot.place(record), record.system.name) for record in cheapest(plot.records)]
    points = [*map(plot.place, plot.records), *(system.place for system in systems)]
    labels.write(axes, [*measured, *((system.place, system.name) for system in front)], points)


def cheapest(records: list[Measurement]) -> list[Measurement]:
    """Of each system the cheapest configuration on the front of all systems."""
    by_system: dict[str, Measurement] = {}
    for record in comparison.on_front(records):
        by_system.setdefault(record.system.name, record)
    return list(by_system.values())
