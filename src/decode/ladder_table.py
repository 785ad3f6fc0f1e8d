"""The rungs of decode.ladder as a table, beside those of the paper."""

import argparse
from pathlib import Path

from decode import speed
from decode.ladder import BEAM, GREEDY, HELD, SEARCH
from decode.measurements import Record, mark, once, sizes, times_faster
from formats.errors import command
from formats.files import read_json, write_text

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
APART = """
## On all cores

{table}

The last row of above with a worker on every core, and the best of the same sizes of batches: {tried}.
× one core is over the last row of above, which has the best size there; × beam 4 and × greedy are over OpenNMT-tf on
one core.
"""
HELD_NOTE = "CTranslate2 would take {held} by itself: the row that is held to it is denied what OpenNMT-tf has. "


def times(record: Record, other: Record, digits: int) -> str:
    return f"{times_faster(record, other):.{digits}f}{mark(record, other)}"


def without_reference(records: list[Record]) -> list[Record]:
    """The rungs and what stands apart."""
    return [record for record in records if record["rung"] != SEARCH]


def row(record: Record, before: Record | None, rungs: dict[str, Record]) -> dict[str, str]:
    """One rung; ``before`` is the one above it."""
    name = record["rung"]
    return {
        "": name,
        "target tokens/s": f"{speed.tokens_per_second(record):,.0f}{mark(record)}{once(record, [*rungs.values()])}",
        "× the row above": times(record, before, 2) if before else "",
        "× beam 4": times(record, rungs[BEAM], 1),
        "× greedy": times(record, rungs[GREEDY], 1),
        "paper": speed.paper(record, f"{PAPER[name][0] / PAPER[GREEDY][0]:.2f}" if name in PAPER else ""),
        "BLEU": speed.bleu(record),
        "loss": speed.loss(record, list(rungs.values())),
        "paper's BLEU": speed.paper(record, f"{PAPER[name][1]:.2f}" if name in PAPER else ""),
        "told": record["forced_isa"] or "",
        "candidates": speed.candidates(record),
        "CPU s": f"{record['cpu_seconds']:.1f}",
        "memory, MB": f"{record['peak_rss_bytes'] / 1e6:,.0f}",
        "on disk, MB": f"{record['model_bytes'] / 1e6:,.1f}",
    }


def markdown(records: list[Record]) -> str:
    rungs = {record["rung"]: record for record in records}
    shown = without_reference(records)
    ladder = [record for record in shown if len(record["cores"]) == 1]
    rows = [row(record, before, rungs) for before, record in zip([None, *ladder], ladder, strict=False)]
    title = f"# What each optimisation is worth on one core: {speed.title(records[0])}\n"
    held = HELD_NOTE.format(held=HELD) if any(HELD in name for name in rungs) else ""
    note = NOTE.format(tried=sizes(ladder[-1]), held=held, conditions=speed.conditions(records))
    everywhere = [apart(record, ladder[-1], rungs) for record in shown[len(ladder) :]]
    return "\n".join([title, speed.layout(rows), note, *everywhere])


def apart(record: Record, best: Record, rungs: dict[str, Record]) -> str:
    """What is not on one core, in a table of its own."""
    cells = {
        name.replace("the row above", "one core"): cell
        for name, cell in row(record, best, rungs).items()
        if not name.startswith("paper")
    }
    return APART.format(table=speed.layout([cells]), tried=sizes(record))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, required=True, help="of decode.ladder, with scores")
    parser.add_argument("--output", type=Path, required=True, help="Markdown to write")
    args = parser.parse_args()
    write_text(args.output, markdown(read_json(args.records)))


if __name__ == "__main__":
    command(main)
