"""The rungs of ``identities``, and how many translations stay the same (section 4): a table and bars."""

from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from findings.comparison import BASELINE
from formats import measurement
from formats.measurement import Measurement
from papers.devlin2017.rungs import ALONE, POLYNOMIALS, TOGETHER
from report import claims, figure, markup, table_parts

NOTE = """
A row has what all rows above it have; each but the last translates sentence by sentence, all with a beam of
{beam_size} on one core, {map}. Target tokens over the time from text to text, the median with the slowest and
the fastest run. ×: times faster, run by run, the median with the lowest and the highest. "same": translations that are
those of the first row. Devlin 2017 prints 4.4 times the speed of the baseline for a ladder with these rungs up to
"equal states once", where sigmoid and tanh are looked up, and over 99.9 % of translations that are the baseline's.
{conditions}
"""
LABELS = {
    "float32": "float32, everything computed",
    "int16": "16 bits",
    "piece_products": "products of pieces looked up",
    "source_products": "products of the source once",
    POLYNOMIALS: "sigmoid and tanh by polynomials",
    TOGETHER: "equal states once",
    "int8": "8 bits",
    "batches": "batches of sentences",
}
LABELS_ALONE = LABELS | {POLYNOMIALS: "float32 with polynomials", BASELINE: "OpenNMT-tf"}
ALONE_NOTE = """
Each of the paper's ways by itself over float32 with polynomials, which is as fast as a library's, and all together{}.
"""
COLOR = "#d55e00"
PAPER = claims.value(claims.DEVLIN, "text", 1)
PAPERS = "#0072b2"


class Rung(NamedTuple):
    record: Measurement
    same: float  # share of the sentences whose translations are those of the first rung


def read(path: Path) -> list[Rung]:
    """Records with the shares that ``report.keep`` has kept, or those of the translations that they name."""
    return [*map(Rung, measurement.read(path), table_parts.same_translations(path))]


def ladder(rungs: list[Rung]) -> list[Rung]:
    """Those that stand one upon the other."""
    return [rung for rung in rungs if rung.record.place.way != ALONE]


def table(rungs: list[Rung]) -> str:
    alone = [rung for rung in rungs if rung not in ladder(rungs)]
    together = [rung for rung in ladder(rungs) if rung.record.place.row == TOGETHER]
    return ladder_table(ladder(rungs)) + (alone_table([*alone, *together]) if alone else "")


def alone_table(rungs: list[Rung]) -> str:
    """The ways by themselves; the first rung has none of them, the last one all."""
    records = [rung.record for rung in rungs]
    names = [*(LABELS_ALONE[record.place.row] for record in records[:-1]), "all of them"]
    rows = [
        {
            "alone": name,
            "target tokens/s": table_parts.speed(record, records),
            "× the first row": table_parts.times(record, records[0]) if record is not records[0] else "",
        }
        for name, record in zip(names, records, strict=True)
    ]
    toolkit = "; OpenNMT-tf decodes the same weights with the same beam, without a map" * any(
        record.decoding.engine == BASELINE for record in records
    )
    return f"\n{markup.table(rows)}\n{ALONE_NOTE.format(toolkit)}"


def ladder_table(rungs: list[Rung]) -> str:
    records = [rung.record for rung in rungs]
    above = [None, *records]
    rows = [row(rung, before, records) for before, rung in zip(above, rungs, strict=False)]
    title = f"What a recurrent decoder need not compute: {table_parts.title(records[0])}"
    how = records[0].decoding
    mapped = f"{'with' if how.vocabulary_map else 'without'} a vocabulary map"
    note = NOTE.format(beam_size=how.beam_size, map=mapped, conditions=table_parts.conditions(records))
    return table_parts.page(title, rows, note)


def row(rung: Rung, above: Measurement | None, records: list[Measurement]) -> dict[str, str]:
    """The cells of a rung; ``above`` is the record of the rung before it."""
    record = rung.record
    return {
        "": LABELS[record.place.row],
        "target tokens/s": table_parts.speed(record, records),
        "× the row above": table_parts.times(record, above) if above else "",
        "× all computed": table_parts.times(record, records[0]) if above else "",
        "same": f"{rung.same:.1%}",
        "BLEU": table_parts.bleu(record),
        **table_parts.resources(record),
    }


@figure.styled
def draw(rungs: list[Rung]) -> Figure:
    """Times as fast as the first rung, which is on top, and as the paper is; whiskers: lowest run to highest."""
    rungs = ladder(rungs)
    records = [rung.record for rung in rungs]
    picture, axes = table_parts.bar_picture(len(rungs))
    pairs = [(record, records[0]) for record in records]
    names = [LABELS[record.place.row] for record in records]
    table_parts.ratio_bars(axes, pairs, range(len(records)), names, [COLOR] * len(records))
    for place in (
        place for place, record in enumerate(records) if record.place.row == TOGETHER
    ):  # the paper's last rung
        axes.vlines(PAPER, place - 0.45, place + 0.45, color=PAPERS, linewidth=3)
    axes.set_xlabel("times as fast as the first row", loc="right")
    colors = {"native engine": COLOR, f'Devlin 2017: ×{PAPER:g} down to "{LABELS[TOGETHER]}"': PAPERS}
    table_parts.around(picture, table_parts.title(records[0]), colors, records)
    return picture
