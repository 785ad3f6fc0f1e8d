"""The rungs of experiments.ladder beside those of the paper, as a table and as bars."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formats import measurement
from formats.comparison import times_faster
from formats.experiments import BEAM, GREEDY, HELD, SEARCH
from formats.measurement import Measurement
from formats.selection import BASELINE
from formats.wording import mark, once, sizes
from report import figure, markdown, speed

read = measurement.read

PAPER = {  # table 5 of WNGT 2020: target tokens/s and BLEU of Base on one core of 2020
    GREEDY: (214.0, 26.00),
    "CTranslate2": (242.5, 26.00),
    "8 bits": (845.2, 25.88),
    "sorted batches": (1054.0, 25.88),
    "packed matrices": (1167.4, 25.84),
    "vocabulary map": (1687.1, 25.42),
}
NOTE = """
A row has the switches of all rows above it but for what it names; all but the first search greedily. Target tokens
over the time from text to text, the median with the slowest and the fastest run. ×: times faster, run by run, the
median with the lowest and the highest. "paper": × greedy in table 5 of WNGT 2020, and its BLEU, where Base was decoded
on a test set that is not public: compare what a row loses, not BLEU itself. The last row was chosen after it was
measured, by its median: {tried} target tokens/s with batches of so many tokens.
"candidates": pieces that the output layer scores, the mean of the batches, where it is not the whole vocabulary.
"told": the instructions that CTranslate2 is told to use; where it is not, and in OpenNMT-tf always, an engine chooses
them itself. {held}{conditions}
"""
HELD_NOTE = "CTranslate2 would take {held} by itself: the row that is held to it is denied what OpenNMT-tf has. "
APART = """
## On all cores

{table}

The last row of above with a worker on every core, and the best of the same sizes of batches: {tried}.
× one core is over the last row of above, which has the best size there; × beam 4 and × greedy are over OpenNMT-tf on
one core.
"""

TOOLKIT, EVERYWHERE = "OpenNMT-tf", "all cores"
PAPERS, BEYOND = "switches of table 5 of WNGT 2020", "switches beyond it"
COLORS = {TOOLKIT: "#999999", PAPERS: "#0072b2", BEYOND: "#009e73", EVERYWHERE: "#cc79a7"}
WIDTH, BAR, AROUND = 9.0, 0.34, 1.5  # inches: the picture, a bar, the space above and below the bars
GAP = 0.5  # in bars, between one core and all cores


def without_reference(records: list[Measurement]) -> list[Measurement]:
    """The rungs on one core and the one on all cores, without the search that BLEU is lost against."""
    return [record for record in records if record.rung != SEARCH]


# The table


def table(records: list[Measurement]) -> str:
    rungs = {record.rung: record for record in records}
    shown = without_reference(records)
    ladder = [record for record in shown if len(record.cores) == 1]
    rows = [row(record, above, rungs) for above, record in zip([None, *ladder], ladder, strict=False)]
    title = f"# What each optimisation is worth on one core: {speed.title(records[0])}\n"
    held = HELD_NOTE.format(held=HELD) if any(HELD in name for name in rungs) else ""
    note = NOTE.format(tried=sizes(ladder[-1]), held=held, conditions=speed.conditions(records))
    everywhere = [apart(record, ladder[-1], rungs) for record in shown[len(ladder) :]]
    return "\n".join([title, markdown.table(rows), note, *everywhere])


def row(record: Measurement, above: Measurement | None, rungs: dict[str, Measurement]) -> dict[str, str]:
    """The cells of a rung; ``above`` is the rung before it."""
    name = record.rung
    return {
        "": name,
        "target tokens/s": f"{speed.tokens_per_second(record):,.0f}{mark(record)}{once(record, [*rungs.values()])}",
        "× the row above": times(record, above, 2) if above else "",
        "× beam 4": times(record, rungs[BEAM], 1),
        "× greedy": times(record, rungs[GREEDY], 1),
        "paper": speed.paper(record, f"{PAPER[name][0] / PAPER[GREEDY][0]:.2f}" if name in PAPER else ""),
        "BLEU": speed.bleu(record),
        "loss": speed.loss(record, list(rungs.values())),
        "paper's BLEU": speed.paper(record, f"{PAPER[name][1]:.2f}" if name in PAPER else ""),
        "told": record.forced_isa or "",
        "candidates": speed.candidates(record),
        "CPU s": f"{record.cpu_seconds:.1f}",
        "memory, MB": f"{record.peak_rss_bytes / 1e6:,.0f}",
        "on disk, MB": f"{record.model_bytes / 1e6:,.1f}",
    }


def times(record: Measurement, other: Measurement, digits: int) -> str:
    return f"{times_faster(record, other):.{digits}f}{mark(record, other)}"


def apart(record: Measurement, best: Measurement, rungs: dict[str, Measurement]) -> str:
    """A section of its own for the rung on all cores; ``best`` is the last rung on one core."""
    cells = {
        name.replace("the row above", "one core"): cell
        for name, cell in row(record, best, rungs).items()
        if not name.startswith("paper")
    }
    return APART.format(table=markdown.table([cells]), tried=sizes(record))


# The picture


@figure.styled
def draw(records: list[Measurement]) -> Figure:
    """Target tokens a second, times faster than the baseline, and BLEU; the first rung is on top."""
    rungs = without_reference(records)
    picture = Figure(figsize=(WIDTH, AROUND + BAR * len(rungs)), layout="constrained")
    axes = picture.add_subplot()
    bars(axes, rungs, records)
    axes.set_yticks(places(rungs), [record.rung for record in rungs])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    longest = max(speed.tokens_per_second(record).high for record in rungs)
    axes.set_xlim(0, 1.42 * longest)  # the text of the longest bar ends before the column of BLEU
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel(f"target tokens per second, and times the speed of {BEAM} on one core", loc="right")
    kinds = {kind(record) for record in rungs}
    speed.heading(picture, speed.title(rungs[0]), {name: color for name, color in COLORS.items() if name in kinds})
    speed.footnote(picture, records)
    return picture


def bars(axes: Axes, rungs: list[Measurement], records: list[Measurement]) -> None:
    """Whiskers go from the slowest run to the fastest. ``records`` include the search that BLEU is lost against."""
    baseline = next(record for record in rungs if record.rung == BEAM)
    for place, record in zip(places(rungs), rungs, strict=True):
        rate = speed.tokens_per_second(record)
        style = {"color": COLORS[kind(record)], "error_kw": {"elinewidth": 0.9}}
        axes.barh(place, rate.middle, 0.66, xerr=figure.whiskers(rate), **style)
        ratio = f"×{times_faster(record, baseline).middle:.1f}{mark(record, baseline)}"
        text = f"{rate.middle:,.0f}{mark(record)}   {ratio}"
        axes.annotate(text, (rate.high, place), (5, 0), textcoords="offset points", va="center", fontsize=8)
        if not record.speed_only:
            beside(axes, place, speed.bleu(record), speed.loss(record, records))
    if not baseline.speed_only:
        beside(axes, -0.85, "BLEU", "loss", weight="bold")


def beside(axes: Axes, place: float, *cells: str, **style: str) -> None:
    """Write two narrow columns on the right."""
    style |= {"ha": "right", "va": "center", "fontsize": 8}
    for points, cell in zip((34, 66), cells, strict=True):
        at = (1, place), (points, 0), axes.get_yaxis_transform(), "offset points"
        axes.annotate(cell, *at, annotation_clip=False, **style)


def places(rungs: list[Measurement]) -> list[float]:
    """Of the bars, counted from the top; all cores stand apart."""
    return [place + GAP * (kind(record) == EVERYWHERE) for place, record in enumerate(rungs)]


def kind(record: Measurement) -> str:
    """What a bar's colour stands for."""
    if len(record.cores) > 1:
        return EVERYWHERE
    return TOOLKIT if record.engine == BASELINE else PAPERS if record.rung in PAPER else BEYOND
