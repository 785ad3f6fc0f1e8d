"""OpenNMT-tf against the optimised configuration (``end_to_end``), beside Table 6: a table and a picture."""

import itertools
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from findings.captions import mark, once
from findings.comparison import BASELINE, CTRANSLATE2, NATIVE, spread, times_faster
from formats import measurement
from formats.measurement import Measurement
from formats.shape import registry, shape
from formats.spread import Spread
from report import claims, figure, table_parts

read = measurement.read

SHAPES = "wngt2020-base", "wngt2020-4-3-2xffn", "wngt2020-6-3", "wngt2020-4-3"  # rows 1 to 4 of table 6, then 5 to 8
PAPER = {  # by shape: seconds for newstest2019 on one core, OpenNMT-tf and optimised
    str(shape(registry()[name])): tuple(
        claims.value(claims.WNGT, "6", place, "total_seconds") for place in (row, row + len(SHAPES))
    )
    for row, name in enumerate(SHAPES, 1)
}
MEASURED = """Seconds for the whole test set from text to text, loading of the engine and the model included, the
median with the fastest and the slowest run; not included is a warm-up of a few sentences, in which TensorFlow builds
its graph. ×: times faster, run by run."""
NOTE = f"""
OpenNMT-tf with beam 4 against CTranslate2 in 8 bits with the vocabulary map, greedy, on the same cores{{native}}. Cells
are empty where an engine does not run a system. {MEASURED} "paper": on one core, in table 6 of WNGT 2020. "set": the
instructions that CTranslate2 is set to use; the others always choose the widest themselves. "candidates": pieces that
the output layer scores with the map, the mean of the batches. {{conditions}}
"""
OWN_NOTE = f"""
OpenNMT-tf with beam 4, on the same cores{{native}}. CTranslate2 runs none of these systems. {MEASURED} {{conditions}}
"""
NATIVE_NOTE = """; and against the native engine in 8 bits with the map of each sentence, greedy ("native"), whose
candidates are the mean of the sentences"""
TITLE = "The toolkit against the optimised configuration"
COLORS = {
    "OpenNMT-tf, beam 4": "#999999",
    "CTranslate2 in 8 bits with the vocabulary map, greedy": "#0072b2",
    "native engine, the same": "#d55e00",
}
WIDTH, ROW, AROUND = 9.0, 0.42, 1.7  # inches: the picture, a system on some cores, the space above and below
COLUMN = 1.02  # where BLEU stands, in widths of the axes


class Ways(NamedTuple):
    """One system on the same cores in all ways: in OpenNMT-tf, and in those of the other engines that run it."""

    baseline: Measurement
    optimized: Measurement | None
    native: Measurement | None = None

    @property
    def measured(self) -> list[Measurement]:
        return [record for record in self if record]


def ways(records: list[Measurement]) -> list[Ways]:
    """In the order of the records; each system on one core, then on all of them."""
    found: dict[tuple[str, int], dict[str, Measurement]] = {}
    for record in records:
        how = record.decoding
        if how.engine == BASELINE or how.vocabulary_map:  # else a search that BLEU is lost against
            found.setdefault((record.system.name, len(how.cores)), {})[how.engine] = record
    return [Ways(by[BASELINE], by.get(CTRANSLATE2), by.get(NATIVE)) for by in found.values()]


def table(records: list[Measurement]) -> str:
    systems = ways(records)
    parts = [[part(system, records) for system in systems] for part in (toolkit, optimised, native)]
    names = [list(next(filter(None, cells), {})) for cells in parts]  # none where no system has the engine
    rows = [
        {name: cells.get(name, "") for cells, of_part in zip(row, names, strict=True) for name in of_part}
        for row in zip(*parts, strict=True)
    ]
    peer, own = (any(getattr(system, field) for system in systems) for field in ("optimized", "native"))
    note = (NOTE if peer else OWN_NOTE).format(native=NATIVE_NOTE * own, conditions=table_parts.conditions(records))
    return table_parts.page(TITLE, rows, note, left=("system", "shape"))


def toolkit(system: Ways, records: list[Measurement]) -> dict[str, str]:
    """The cells of a system in OpenNMT-tf."""
    baseline = system.baseline
    return {
        "system": baseline.system.name,
        "shape": baseline.system.shape,
        "parameters": f"{baseline.system.parameters:,}",
        "cores": f"{len(baseline.decoding.cores)}",
        "OpenNMT-tf, s": seconds(baseline, records),
        "BLEU OpenNMT-tf": table_parts.bleu(baseline),
        "loss OpenNMT-tf": table_parts.loss(baseline, records),
    }


def optimised(system: Ways, records: list[Measurement]) -> dict[str, str]:
    """The cells of CTranslate2, where it runs the system."""
    baseline, record, _ = system
    if record is None:
        return {}
    paper = PAPER.get(record.system.shape) if len(record.decoding.cores) == 1 else None
    return {
        "optimised, s": seconds(record, records),
        "×": table_parts.times(record, baseline, 1, "total_seconds"),
        "paper": table_parts.paper(record, f"{paper[0] / paper[1]:.1f}" if paper else ""),
        "BLEU optimised": table_parts.bleu(record),
        "loss optimised": table_parts.loss(record, records),
        "set": record.conditions.forced_isa or "",
        "batch, tokens": f"{baseline.decoding.batch_tokens:,} → {record.decoding.batch_tokens:,}",
        "candidates": table_parts.candidates(record),
        "memory, MB": f"{table_parts.memory(baseline)} → {table_parts.memory(record)}",
        "on disk, MB": f"{table_parts.disk(baseline)} → {table_parts.disk(record)}",
    }


def native(system: Ways, records: list[Measurement]) -> dict[str, str]:
    """The cells of the native engine, where it runs the system."""
    baseline, peer, own = system
    if own is None:
        return {}
    return {
        "native, s": seconds(own, records),
        "native ×": table_parts.times(own, baseline, 1, "total_seconds"),
        "native × CTranslate2": table_parts.times(own, peer, 2, "total_seconds") if peer else "",
        "BLEU native": table_parts.bleu(own),
        "loss native": table_parts.loss(own, records),
        "native's candidates": table_parts.candidates(own),
        "native's batch, tokens": f"{own.decoding.batch_tokens:,}",
        "native's memory, MB": table_parts.memory(own),
        "native on disk, MB": table_parts.disk(own),
    }


def seconds(record: Measurement, records: list[Measurement]) -> str:
    return f"{total(record):,.1f}{mark(record)}{once(record, records)}"


@figure.styled
def draw(records: list[Measurement]) -> Figure:
    """Seconds for the test set in all ways, for each system on one core and on all."""
    systems = ways(records)
    picture = Figure(figsize=(WIDTH, AROUND + ROW * len(systems)), layout="constrained")
    axes = picture.add_subplot()
    for place, system in enumerate(systems):
        line(axes, place, system, records)
    table_parts.bar_axes(axes, range(len(systems)), [name(system) for system in systems])
    axes.set_ylim(len(systems) - 0.4, -0.7)
    figure.logarithmic(axes, "{x:,g}")
    axes.margins(x=0.16)
    axes.set_xlabel("seconds for the test set, with loading, logarithmic")
    shown = [any(records_of_way) for records_of_way in zip(*systems, strict=True)]
    table_parts.around(picture, TITLE, dict(itertools.compress(COLORS.items(), shown)), records)
    if any(record.scores.bleu is not None for record in records):
        beside = axes.get_yaxis_transform()
        axes.text(COLUMN, -0.6, "BLEU, loss", transform=beside, va="center", fontsize=8, weight="bold")
    return picture


def line(axes: Axes, place: float, system: Ways, records: list[Measurement]) -> None:
    """From the seconds of the baseline to the optimised ones; on the right BLEU and its loss."""
    ends = [total(record).middle for record in system.measured]
    axes.plot([max(ends), min(ends)], [place, place], color="#cccccc", linewidth=3, zorder=1)
    for record, color in zip(system, COLORS.values(), strict=True):
        if record is None:
            continue
        whiskers = figure.whiskers(total(record))
        axes.errorbar(total(record).middle, place, xerr=whiskers, fmt="o", color=color, elinewidth=1)
    for record, side in ((max(system.measured, key=total), "left"), (min(system.measured, key=total), "right")):
        seconds, points = total(record), 8 if side == "left" else -8
        text, end = f"{seconds.middle:,.1f} s{mark(record)}", seconds.high if side == "left" else seconds.low
        annotate(axes, text, (end, place), (points, 0), ha=side, va="center")
    ratios(axes, place, system)
    text = " → ".join(dict.fromkeys(map(table_parts.bleu, system.measured)))
    text += f", {lost}" if (lost := table_parts.loss(system.measured[-1], records)) else ""
    axes.text(COLUMN, place, text, transform=axes.get_yaxis_transform(), va="center", fontsize=8)


def total(record: Measurement) -> Spread:
    return spread(record, "total_seconds")


def ratios(axes: Axes, place: float, system: Ways) -> None:
    """Write how many times faster than the baseline: in the middle of the line, or with two engines above each point.

    The numbers of two points stand on their outer sides, so that those of close points do not overlap.
    """
    alone = len(system.measured) == 2
    aligned = ["center"] if alone else ["right", "left"]
    faster = sorted(system.measured[1:], key=total)
    for record, side in zip(faster, aligned, strict=True):
        ratio = times_faster(record, system.baseline, "total_seconds")
        own = total(record).middle
        at = (own * total(system.baseline).middle) ** 0.5 if alone else own
        annotate(axes, f"×{ratio.middle:.1f}", (at, place), (0, 3 if alone else 5), ha=side, va="bottom")


def annotate(axes: Axes, text: str, at: tuple[float, float], points: tuple[int, int], ha: str, va: str) -> None:
    axes.annotate(text, at, points, textcoords="offset points", fontsize=8, ha=ha, va=va)


def name(system: Ways) -> str:
    cores = len(system.baseline.decoding.cores)
    return f"{system.baseline.system.name}, {cores} core{'s' if cores > 1 else ''}"
