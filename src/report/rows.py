"""What the papers print beside what a study measured: every number of papers.csv, with a verdict.

Seconds are those of the paper's test set, as the source words per second of our run say; source tokens per USD follow
Marian's formula (report.published). Sizes are those of the weights at the paper's vocabulary, whatever was measured: 4
bytes a parameter in float32, 2 in int16, 1 in int8. BLEU is compared on the paper's test set only. What no measurement
of a study has, such as a ladder, can be given by hand (--values).
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common.errors import UserError, command
from common.files import read_json, write_json, write_text
from formats import measurement
from formats.measurement import Measurement
from formats.shape import registry, shape
from report import markdown, papers
from report.papers import DEVLIN, MARIAN, OPENNMT, Printed
from report.published import CPU, MACHINES, PRICES, SOURCE_TOKENS, words_per_usd

NOT_RUN, REACHED, MISSED, OTHER = "not run", "reached", "missed", "not comparable"
ENTRIES = {MARIAN: 36_000, OPENNMT: 32_000}  # of the papers' vocabularies
BYTES = {"float32": 4, "int16": 2, "int8": 1}
UNITS = {"MiB": 2**20, "MB": 10**6}
HIGHER = ("BLEU", "tokens/USD", "×", "%", "words/s")  # units of which more is better
TOLERANCE = 0.02  # share of a printed size that ours may exceed, for the papers round
TITLES = {
    MARIAN: "Marian at WNMT 2018", OPENNMT: "OpenNMT at WNMT 2018", DEVLIN: "Devlin 2017",
}  # fmt: skip

Row = dict[str, Any]


def numbers(paper: str) -> list[Printed]:
    """All numbers of a paper, and the source tokens per USD of Marian's, which its figures show. Raises UserError."""
    found = []
    for printed in papers.read():
        if printed.paper == paper:
            found.append(printed)
            if printed.quantity == "seconds" and (machine := MACHINES.get(printed.table)) and paper == MARIAN:
                cost = words_per_usd(SOURCE_TOKENS / printed.value, PRICES[machine])
                found.append(printed._replace(quantity="source tokens per USD", value=cost, unit="tokens/USD"))
    if not found:
        raise UserError(f"--paper {paper}: there are {', '.join(TITLES)}")
    return found


def rows(paper: str, records: list[Measurement], values: Iterable[Row] = ()) -> list[Row]:
    """A record for each number of a paper.

    values: numbers of ours with ``table``, ``row``, ``quantity``, ``value``, a ``reason``, which says how they were
    measured, and ``test_set`` where the paper has several. They go before measurements.
    """
    given = {(value["table"], value["row"], value["quantity"], value.get("test_set", "")): value for value in values}
    made = []
    for printed in numbers(paper):
        place = printed.table, printed.row, printed.quantity
        made.append(_row(printed, records, given.get((*place, printed.test_set)) or given.get((*place, ""))))
    return made


def _row(printed: Printed, records: list[Measurement], given: Row | None) -> Row:
    if given:
        ours, reason = given["value"], given.get("reason", "")
    elif printed.reason:
        ours, reason = None, printed.reason
    else:
        ours, reason = _ours(printed, records)
    return {
        "row": f"({printed.row}) {printed.system}",
        "source": "text" if printed.table == "text" else f"Table {printed.table}",
        "quantity": printed.quantity,
        "test_set": printed.test_set,
        "printed": printed.value,
        "ours": ours,
        "unit": printed.unit,
        "verdict": _verdict(printed, ours, reason),
        "reason": reason,
    }


def _verdict(printed: Printed, ours: float | None, reason: str) -> str:
    if ours is None:
        return NOT_RUN
    if reason.startswith(OTHER):
        return OTHER
    limit = printed.value * (1 + TOLERANCE) if printed.quantity == "size" else printed.value
    return REACHED if (ours >= limit if printed.unit in HIGHER else ours <= limit) else MISSED


def _ours(printed: Printed, records: list[Measurement]) -> tuple[float | None, str]:
    """Our number, and how it came about; or None, and why there is none."""
    if not printed.shape:
        return None, "no measurement was given"
    asked = shape(registry()[printed.shape])
    if printed.quantity == "size":
        size = asked.parameters(ENTRIES[printed.paper]) * BYTES[printed.type] / UNITS[printed.unit]
        return size, f"weights in {printed.type}"
    found = [record for record in records if record.shape == str(asked) and _matches(printed, record)]
    if printed.quantity == "BLEU":
        return _bleu(printed, found)
    return _time(printed, found)


def _matches(printed: Printed, record: Measurement) -> bool:
    """Whether a record is of the row's configuration, undisturbed and with all that the engine does by itself."""
    wanted = {"engine": printed.engine, "compute_type": printed.type, "beam_size": printed.beam}
    wanted |= {"vocabulary_map": printed.map}
    usual = record.rung is None and record.batch_sentences is None and not record.noisy
    return usual and all(getattr(record, name) == value for name, value in wanted.items() if value not in (None, ""))


def _bleu(printed: Printed, found: list[Measurement]) -> tuple[float | None, str]:
    scored = [record for record in found if record.bleu is not None and record.role == printed.role]
    if not scored:
        return None, "no model of this shape was trained and scored in this configuration"
    same = next((record for record in scored if record.test_set == printed.test_set), None)
    if same:
        return same.bleu, f"{same.system}"
    return scored[0].bleu, f"{OTHER}: {scored[0].system} on {scored[0].test_set}"


def _time(printed: Printed, found: list[Measurement]) -> tuple[float | None, str]:
    """Seconds, or source tokens per USD, on one core."""
    alone = [record for record in found if len(record.cores) == 1]
    if not alone:
        return None, "no model of this shape was timed in this configuration on one core"
    record = alone[0]
    weights = "untrained" if record.speed_only else record.system
    how = f"{weights}, {record.sentences:,} sentences of {record.test_set}, {record.cpu}"
    if printed.unit == "tokens/USD":
        return words_per_usd(record.source_words_per_second, PRICES[CPU]), f"at the price of {CPU}; {how}"
    if record.test_set == printed.test_set:
        return record.text_seconds, how
    if printed.test_set == "newstest2014":
        return SOURCE_TOKENS / record.source_words_per_second, f"for {SOURCE_TOKENS:,} words; {how}"
    return None, f"only {record.test_set} was timed"


def page(paper: str, made: list[Row]) -> str:
    """The rows as Markdown, and how many have which verdict."""
    counts = {verdict: sum(row["verdict"] == verdict for row in made) for verdict in (REACHED, MISSED, OTHER, NOT_RUN)}
    cells = [
        row | {"printed": _number(row["printed"]), "ours": "" if row["ours"] is None else _number(row["ours"])}
        for row in made
    ]
    left = [name for name in made[0] if name not in ("printed", "ours")]
    summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    shown = [{name: markdown.escaped(text) for name, text in row.items()} for row in cells]
    return markdown.document(TITLES[paper], f"{len(made)} numbers: {summary}.", markdown.table(shown, left=left))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}" if value >= 100 else f"{value:.4g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paper", required=True, choices=[*TITLES])
    parser.add_argument(
        "--measurements", type=Path, nargs="*", default=[], help="measurements.json, architectures.json"
    )
    parser.add_argument("--values", type=Path, help="JSON list of numbers of ours that are in no measurement")
    parser.add_argument("--output", type=Path, required=True, help="rows.json; the table is written beside it, as .md")
    args = parser.parse_args()
    records = [record for path in args.measurements for record in measurement.read(path)]
    made = rows(args.paper, records, read_json(args.values) if args.values else ())
    write_json(args.output, made)
    write_text(args.output.with_suffix(".md"), page(args.paper, made))


if __name__ == "__main__":
    command(main)
