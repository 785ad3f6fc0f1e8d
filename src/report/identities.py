"""The rungs of experiments.identities beside those of Devlin 2017, as a table and as bars."""

from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from common.files import read_json
from formats import measurement
from formats.comparison import times_faster
from formats.measurement import Measurement
from formats.wording import mark, once
from report import figure, markdown, speed

NOTE = """
A row has what all rows above it have; each but the last translates sentence by sentence, all with a beam of
{first.beam_size} on one core, {map}. Target tokens over the time from text to text, the median with the slowest and
the fastest run. ×: times faster, run by run, the median with the lowest and the highest. "same": translations that are
those of the first row. Devlin 2017 prints 4.4 times the speed of the baseline for a ladder with these rungs up to
"equal states once", where sigmoid and tanh are looked up, and over 99.9 % of translations that are the baseline's.
{conditions}
"""
COLOR = "#d55e00"
WIDTH, BAR, AROUND = 9.0, 0.34, 1.5  # inches: the picture, a bar, the space above and below the bars


class Rung(NamedTuple):
    record: Measurement
    same: float  # share of the sentences whose translations are those of the first rung


def read(path: Path) -> list[Rung]:
    """Records and, beside them, the translations that they name, or of a study that is kept the shares."""
    found = measurement.read(path)
    if shares(path).exists():
        return [*map(Rung, found, read_json(shares(path)))]
    said = [(path.parent / record.output).read_text(encoding="utf-8").splitlines() for record in found]
    same = [sum(map(str.__eq__, lines, said[0])) / len(said[0]) for lines in said]
    return [*map(Rung, found, same)]


def shares(path: Path) -> Path:
    """Where ``report.keep`` puts the shares of a file of records."""
    return path.with_suffix(".same.json")


# The table


def table(rungs: list[Rung]) -> str:
    records = [rung.record for rung in rungs]
    above = [None, *records]
    rows = [row(rung, before, records) for before, rung in zip(above, rungs, strict=False)]
    title = f"# What a recurrent decoder need not compute: {speed.title(records[0])}\n"
    mapped = "with" if records[0].vocabulary_map else "without"
    note = NOTE.format(first=records[0], map=f"{mapped} a vocabulary map", conditions=speed.conditions(records))
    return "\n".join([title, markdown.table(rows), note])


def row(rung: Rung, above: Measurement | None, records: list[Measurement]) -> dict[str, str]:
    """The cells of a rung; ``above`` is the record of the rung before it."""
    record = rung.record
    return {
        "": record.rung,
        "target tokens/s": f"{speed.tokens_per_second(record):,.0f}{mark(record)}{once(record, records)}",
        "× the row above": times(record, above) if above else "",
        "× all computed": times(record, records[0]) if above else "",
        "same": f"{rung.same:.1%}",
        "BLEU": speed.bleu(record),
        "CPU s": f"{record.cpu_seconds:.1f}",
        "memory, MB": f"{record.peak_rss_bytes / 1e6:,.0f}",
        "on disk, MB": f"{record.model_bytes / 1e6:,.1f}",
    }


def times(record: Measurement, other: Measurement) -> str:
    return f"{times_faster(record, other):.2f}{mark(record, other)}"


# The picture


@figure.styled
def draw(rungs: list[Rung]) -> Figure:
    """Times as fast as the first rung, which is on top; whiskers go from the lowest run to the highest."""
    records = [rung.record for rung in rungs]
    picture = Figure(figsize=(WIDTH, AROUND + BAR * len(rungs)), layout="constrained")
    axes = picture.add_subplot()
    speed.ratio_bars(axes, [(record, records[0]) for record in records], range(len(records)), [COLOR] * len(records))
    axes.set_xlabel("times as fast as the first row", loc="right")
    speed.heading(picture, speed.title(records[0]), {"native engine": COLOR})
    speed.footnote(picture, records)
    return picture
