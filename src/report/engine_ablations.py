"""What parts of the native engine add: the rows of experiments.switches, the rungs of experiments.identities."""

from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from common.files import read_json
from formats import measurement
from formats.measurement import EVERYTHING, Measurement
from report import figure, table_parts

read_switches = measurement.read

SWITCHES_NOTE = """
The native engine with everything, and without one thing at a time: in 8 bits with the map of each sentence, sorted
batches, overlapping stages, the widest instructions. × everything: times as fast as the row "everything" above it, run
by run, the median with the lowest and the highest; below 1 what was taken away had made it faster. Target tokens over
the time from text to text, the median with the slowest and the fastest run. "candidates": pieces that the output layer
scores, the mean of the sentences, or of the batches with a map of the batch. "set": the instructions in use.
{conditions}
"""
COLORS = {"everything": "#009e73", "without one thing": "#d55e00"}
WIDTH, BAR, AROUND = 9.0, 0.34, 1.5  # inches: the picture, a bar, the space above and below the bars
GAP = 0.5  # in bars, before each group

IDENTITIES_NOTE = """
A row has what all rows above it have; each but the last translates sentence by sentence, all with a beam of
{first.beam_size} on one core, {map}. Target tokens over the time from text to text, the median with the slowest and
the fastest run. ×: times faster, run by run, the median with the lowest and the highest. "same": translations that are
those of the first row. Devlin 2017 prints 4.4 times the speed of the baseline for a ladder with these rungs up to
"equal states once", where sigmoid and tanh are looked up, and over 99.9 % of translations that are the baseline's.
{conditions}
"""
COLOR = "#d55e00"


def groups(records: list[Measurement]) -> list[list[Measurement]]:
    """The records that are compared with one another; the first of each group has everything."""
    found: list[list[Measurement]] = []
    for record in records:
        if record.rung.startswith(EVERYTHING):
            found.append([])
        found[-1].append(record)
    return found


def table_switches(records: list[Measurement]) -> str:
    rows = [switches_row(record, group[0], records) for group in groups(records) for record in group]
    title = f"What each part of the native engine brings: {table_parts.title(records[0])}"
    return table_parts.page(title, rows, SWITCHES_NOTE.format(conditions=table_parts.conditions(records)))


def switches_row(record: Measurement, everything: Measurement, records: list[Measurement]) -> dict[str, str]:
    return {
        "": record.rung,
        "target tokens/s": table_parts.speed(record, records),
        "× everything": table_parts.times(record, everything) if record is not everything else "",
        "BLEU": table_parts.bleu(record),
        "set": record.forced_isa or "",
        "candidates": table_parts.candidates(record),
        **table_parts.resources(record),
    }


@figure.styled
def draw_switches(records: list[Measurement]) -> Figure:
    """Times as fast as everything of the same group; whiskers go from the lowest run to the highest."""
    found = groups(records)
    picture = Figure(figsize=(WIDTH, AROUND + BAR * (len(records) + GAP * len(found))), layout="constrained")
    axes = picture.add_subplot()
    places = [number + GAP * above for number, above in enumerate(n for n, group in enumerate(found) for _ in group)]
    pairs = [(record, group[0]) for group in found for record in group]
    colors = [COLORS["everything" if record is base else "without one thing"] for record, base in pairs]
    table_parts.ratio_bars(axes, pairs, places, colors)
    axes.axvline(1, color="#777777", linewidth=0.8)
    axes.set_xlabel("times as fast as everything", loc="right")
    table_parts.around(picture, table_parts.title(records[0]), COLORS, records)
    return picture


class Rung(NamedTuple):
    record: Measurement
    same: float  # share of the sentences whose translations are those of the first rung


def read_identities(path: Path) -> list[Rung]:
    """Records with the shares that ``report.keep`` has kept, or those of the translations that they name."""
    found = measurement.read(path)
    if shares(path).exists():
        return [*map(Rung, found, read_json(shares(path)))]
    outputs = [(path.parent / record.output).read_text(encoding="utf-8").splitlines() for record in found]
    same = [sum(map(str.__eq__, lines, outputs[0])) / len(outputs[0]) for lines in outputs]
    return [*map(Rung, found, same)]


def shares(path: Path) -> Path:
    """Where ``report.keep`` puts the shares of a file of records."""
    return path.with_suffix(".same.json")


def table_identities(rungs: list[Rung]) -> str:
    records = [rung.record for rung in rungs]
    above = [None, *records]
    rows = [identities_row(rung, before, records) for before, rung in zip(above, rungs, strict=False)]
    title = f"What a recurrent decoder need not compute: {table_parts.title(records[0])}"
    mapped = "with" if records[0].vocabulary_map else "without"
    note = IDENTITIES_NOTE.format(
        first=records[0], map=f"{mapped} a vocabulary map", conditions=table_parts.conditions(records)
    )
    return table_parts.page(title, rows, note)


def identities_row(rung: Rung, above: Measurement | None, records: list[Measurement]) -> dict[str, str]:
    """The cells of a rung; ``above`` is the record of the rung before it."""
    record = rung.record
    return {
        "": record.rung,
        "target tokens/s": table_parts.speed(record, records),
        "× the row above": table_parts.times(record, above) if above else "",
        "× all computed": table_parts.times(record, records[0]) if above else "",
        "same": f"{rung.same:.1%}",
        "BLEU": table_parts.bleu(record),
        **table_parts.resources(record),
    }


@figure.styled
def draw_identities(rungs: list[Rung]) -> Figure:
    """Times as fast as the first rung, which is on top; whiskers go from the lowest run to the highest."""
    records = [rung.record for rung in rungs]
    picture = Figure(figsize=(WIDTH, AROUND + BAR * len(rungs)), layout="constrained")
    axes = picture.add_subplot()
    pairs = [(record, records[0]) for record in records]
    table_parts.ratio_bars(axes, pairs, range(len(records)), [COLOR] * len(records))
    axes.set_xlabel("times as fast as the first row", loc="right")
    table_parts.around(picture, table_parts.title(records[0]), {"native engine": COLOR}, records)
    return picture
