"""The rungs of ``ladder`` beside those of Table 5, or of Table 3 of OpenNMT at WNMT 2018: a table and bars."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from findings import comparison
from findings.captions import engine_label, mark, sizes
from findings.comparison import times_faster
from formats import measurement
from formats.measurement import Measurement
from formats.shape import registry, shape
from papers.wngt2020.rungs import (
    BEAM,
    BEST,
    EXACT,
    GREEDY,
    HELD,
    HELD_PEER,
    INT8,
    INT16,
    LABELS,
    MAP,
    NATIVE,
    OVERLAPPING,
    PACKED,
    PEER,
    SEARCH,
    SORTING,
)
from report import claims, figure, markup, table_parts

read = measurement.read

RUNGS = (GREEDY, PEER, INT8, SORTING, PACKED, MAP)  # of the paper
PAPER = {  # table 5 of WNGT 2020: target tokens/s and BLEU of Base on one core of 2020
    rung: tuple(claims.value(claims.WNGT, "5", row, quantity) for quantity in ("target_tokens_per_second", "BLEU"))
    for row, rung in enumerate(RUNGS, 1)
}
TINY = {  # table 3 of OpenNMT at WNMT 2018: seconds of newstest2014 on one core, and BLEU of "Tiny", by its rungs
    rung: tuple(claims.value(claims.WNMT, "3", row, quantity, "newstest2014") for quantity in ("seconds", "BLEU"))
    for row, rung in enumerate((EXACT, INT16, MAP), 7)
}
TINY_SHAPE = str(shape(registry()["wnmt2018-rnn-tiny"]))
NOTE = """
A row has the switches of all rows above it but for what it names; all but the first search greedily. Target tokens
over the time from text to text, the median with the slowest and the fastest run. ×: times faster, run by run, the
median with the lowest and the highest. {paper}The {chosen} chosen after
measuring, by the median: {tried} target tokens/s with batches of so many tokens.
"candidates": pieces that the output layer scores, where it is not the whole vocabulary: the mean of the batches, and
with a map of each sentence that of the sentences. "set": the instructions that CTranslate2 is set to use, or that
the native engine reports; without, an engine chooses them itself. {native}{held}{conditions}
"""
PAPER_NOTE = """"paper": × greedy in table 5 of WNGT 2020, and its BLEU, where Base was decoded on a test set that is
not public: compare what a row loses, not BLEU itself. """
TINY_NOTE = """"paper": × its first row in table 3 of WNMT 2018, where Tiny was decoded in float32, then in 16 bits,
then so with a map, whose row is here in 8 bits; and its BLEU. """
NATIVE_NOTE = """"{name}" decodes the same weights, in the native engine of this project, with the settings of
"{below}", and × the row above is over that row. """
HELD_NOTE = "CTranslate2 would take {held} by itself: the row that is held to it is denied what OpenNMT-tf has. "
BESIDE = "paper", "paper's BLEU"  # columns
APART = """
## On all cores

{table}

The last row {of} with a worker on every core, and the best of the same sizes of batches: {tried}.
× one core is over {that}, which has the best size there; × beam 4 and × greedy are over OpenNMT-tf on
one core.
"""

TOOLKIT, OWN, EVERYWHERE = "OpenNMT-tf", "native engine", "all cores"
PAPERS, BEYOND = "switches of table 5 of WNGT 2020", "switches beyond it"
COLORS = {TOOLKIT: "#999999", PAPERS: "#0072b2", BEYOND: "#009e73", OWN: "#d55e00", EVERYWHERE: "#cc79a7"}
GAP = 0.5  # in bars, between one core and all cores


def without_reference(records: list[Measurement]) -> list[Measurement]:
    """The rungs on one core and those on all cores, without the search that BLEU is lost against."""
    return [record for record in records if record.place.row != SEARCH]


def label(record: Measurement) -> str:
    """The name of a rung for people."""
    how = record.decoding
    if record.place.row != BEST:
        return LABELS[record.place.row]
    name = f"best of {len(record.tried or ())} sizes of batches: {how.batch_tokens:,} tokens"
    workers = f"{how.workers} workers on {len(how.cores)} cores, " if how.workers > 1 else ""
    engine = f"{LABELS[NATIVE]}, " if how.engine == comparison.NATIVE else ""
    return engine + workers + name


def paper_of(record: Measurement, rungs: dict[str, Measurement]) -> tuple[float, float] | None:
    """Speed-up over the first row, and BLEU, of the paper's row for this rung; None if it has none."""
    rung = record.place.row
    if PEER in rungs and rung in PAPER:
        return PAPER[rung][0] / PAPER[GREEDY][0], PAPER[rung][1]
    if PEER not in rungs and record.system.shape == TINY_SHAPE and rung in TINY:
        return TINY[EXACT][0] / TINY[rung][0], TINY[rung][1]
    return None


def table(records: list[Measurement]) -> str:
    rungs = {record.place.row: record for record in records}
    shown = without_reference(records)
    ladder = [record for record in shown if len(record.decoding.cores) == 1]
    above = zip([None, *ladder], ladder, strict=False)
    rows = [
        row(record, rungs[OVERLAPPING] if record.place.row == NATIVE else before, rungs) for before, record in above
    ]
    title = f"What each optimisation brings on one core: {table_parts.title(records[0])}"
    best = [record for record in ladder if record.tried]
    beside = (PAPER_NOTE if PEER in rungs else TINY_NOTE) * any(paper_of(record, rungs) for record in ladder)
    note = NOTE.format(
        paper=beside,
        chosen="last row was" if len(best) == 1 else "last row of each engine was",
        tried=tried(best),
        native=NATIVE_NOTE.format(name=LABELS[NATIVE], below=LABELS[OVERLAPPING]) if NATIVE in rungs else "",
        held=HELD_NOTE.format(held=HELD) if HELD_PEER in rungs else "",
        conditions=table_parts.conditions(records),
    )
    everywhere = [apart(shown[len(ladder) :], best, rungs)] if len(shown) > len(ladder) else []
    return "\n".join([table_parts.page(title, rows, note), *everywhere])


def tried(best: list[Measurement]) -> str:
    """What the best of the sizes were chosen from, with the engine's name where there are several."""
    if len(best) == 1:
        return sizes(best[0])
    return "; ".join(f"{engine_label(record)}: {sizes(record)}" for record in best)


def row(
    record: Measurement, above: Measurement | None, rungs: dict[str, Measurement], over: str = "the row above"
) -> dict[str, str]:
    """The cells of a rung; ``above`` is the rung before it, which the table names ``over``."""
    paper = paper_of(record, rungs)
    return {
        "": label(record),
        "target tokens/s": table_parts.speed(record, [*rungs.values()]),
        f"× {over}": table_parts.times(record, above) if above else "",
        "× beam 4": table_parts.times(record, rungs[BEAM], 1),
        "× greedy": table_parts.times(record, rungs[GREEDY], 1),
        BESIDE[0]: table_parts.paper(record, f"{paper[0]:.2f}" if paper else ""),
        "BLEU": table_parts.bleu(record),
        "loss": table_parts.loss(record, list(rungs.values())),
        BESIDE[1]: table_parts.paper(record, f"{paper[1]:.2f}" if paper else ""),
        "set": record.conditions.forced_isa or "",
        "candidates": table_parts.candidates(record),
        **table_parts.resources(record),
    }


def apart(records: list[Measurement], best: list[Measurement], rungs: dict[str, Measurement]) -> str:
    """The section of the rungs on all cores, one of each engine; ``best`` are their last rungs on one core."""
    cells = [
        {name: cell for name, cell in row(record, one_core, rungs, "one core").items() if name not in BESIDE}
        for record, one_core in zip(records, best, strict=True)
    ]
    alone = len(records) == 1
    of, that = ("of above", "the last row of above") if alone else ("of each engine above", "that row of its engine")
    return APART.format(table=markup.table(cells), tried=tried(records), of=of, that=that)


@figure.styled
def draw(records: list[Measurement]) -> Figure:
    """Target tokens a second, times faster than the baseline, and BLEU; the first rung is on top."""
    rungs = without_reference(records)
    picture, axes = table_parts.bar_picture(len(rungs))
    bars(axes, rungs, records)
    table_parts.bar_axes(axes, places(rungs), [*map(label, rungs)])
    axes.invert_yaxis()
    longest = max(table_parts.tokens_per_second(record).high for record in rungs)
    axes.set_xlim(0, 1.42 * longest)  # the text of the longest bar ends before the column of BLEU
    axes.xaxis.set_major_locator(MaxNLocator(5))  # long names leave little room
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel(f"target tokens per second, and times the speed of {LABELS[BEAM]} on one core", loc="right")
    kinds = {kind(record) for record in rungs}
    colors = {name: color for name, color in COLORS.items() if name in kinds}
    table_parts.around(picture, table_parts.title(rungs[0]), colors, records)
    return picture


def bars(axes: Axes, rungs: list[Measurement], records: list[Measurement]) -> None:
    """Whiskers go from the slowest run to the fastest. ``records`` include the search that BLEU is lost against."""
    baseline = next(record for record in rungs if record.place.row == BEAM)
    for place, record in zip(places(rungs), rungs, strict=True):
        rate = table_parts.tokens_per_second(record)
        color, whiskers = COLORS[kind(record)], figure.whiskers(rate)
        axes.barh(place, rate.middle, 0.66, xerr=whiskers, color=color, error_kw={"elinewidth": 0.9})
        ratio = f"×{times_faster(record, baseline).middle:.1f}{mark(record, baseline)}"
        text = f"{rate.middle:,.0f}{mark(record)}   {ratio}"
        axes.annotate(text, (rate.high, place), (5, 0), textcoords="offset points", va="center", fontsize=8)
        if not record.speed_only:
            beside(axes, place, table_parts.bleu(record), table_parts.loss(record, records))
    if not baseline.speed_only:
        beside(axes, -0.85, "BLEU", "loss", weight="bold")


def beside(axes: Axes, place: float, *cells: str, weight: str = "normal") -> None:
    """Write two narrow columns on the right."""
    for points, cell in zip((34, 66), cells, strict=True):
        at = (1, place), (points, 0), axes.get_yaxis_transform(), "offset points"
        axes.annotate(cell, *at, annotation_clip=False, ha="right", va="center", fontsize=8, weight=weight)


def places(rungs: list[Measurement]) -> list[float]:
    """Of the bars, counted from the top; all cores stand apart."""
    return [place + GAP * (kind(record) == EVERYWHERE) for place, record in enumerate(rungs)]


def kind(record: Measurement) -> str:
    """What a bar's colour stands for."""
    if len(record.decoding.cores) > 1:
        return EVERYWHERE
    color = {comparison.BASELINE: TOOLKIT, comparison.NATIVE: OWN}.get(record.decoding.engine)
    return color or (PAPERS if record.place.row in PAPER else BEYOND)
