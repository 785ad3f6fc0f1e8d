"""What the papers print beside what was measured: every number of claims.csv, with its verdict, as rows.json.

    python -m report.rows

writes papers/*/rows.json: of each paper from the measurements that its paper.yaml names and its values.json.

Times of two machines cannot be compared: seconds have no verdict. What can be compared is the ratio of two systems of
the paper and that of two records that were timed in turn, run by run. Sizes are those of the weights at the paper's
vocabulary, whatever was measured: 4 bytes a parameter in float32, 2 in int16, 1 in int8. BLEU is compared on the
paper's test set only. Seconds are scaled to the tokens of the paper's test set, as its tokenizer counts them.

A record with the row's place was measured for that row (experiments.table_rows). Else one matches if it has the
row's shape and configuration, is undisturbed, on one core (on all of them where the row says so), and no ablation: what
only the speed tables switch has its default. So rungs of a ladder match, too. If several records match, the fastest is
taken; files are searched in the order given. Numbers that are in no measurement, such as those of an experiment, are
given by hand (values.json). ``timings`` names the records that a number is from, so that one timing can count once.

A number without a measurement is *not run here* where it needs what is not here (``report.claims.NEEDS``), and *not run
yet* where a CPU could give it.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

from formats import measurement
from report import claims
from report.claims import GAIN, MARIAN, NOT_RUN, OPEN, OTHER, NumberKey, Printed, Tolerance, tolerance_of
from report.our_number import PER_USD, OurNumber, RecordedRun, ours
from report.published import MACHINES, PRICES, SOURCE_TOKENS, tokens_per_usd

REFERENCE = Path("results/reference")

Hand = Mapping[str, Any]  # an entry of values.json


class Row(TypedDict):
    """A number of a paper beside ours, in ``rows.json``."""

    row: str
    source: str
    page: str
    quantity: str
    test_set: str
    printed: float
    ours: float | None
    low: float | None
    high: float | None
    unit: str
    ratio: float | None
    tolerance: str
    verdict: str
    needs: str
    explained: bool
    reason: str
    command: str
    cpu: str
    date: str
    timings: list[str]


def numbers(paper: str) -> Iterator[Printed]:
    """All numbers of a paper, the ratios of two of them, and what Marian's figures show: source tokens per USD.

    Raises UserError for an unknown paper.
    """
    for printed in claims.of_paper(paper):
        yield printed
        yield from claims.ratios(printed)
        if printed.quantity == "seconds" and (machine := MACHINES.get(printed.table)) and paper == MARIAN:
            cost = tokens_per_usd(SOURCE_TOKENS / printed.value, PRICES[machine])
            yield printed._replace(quantity=PER_USD, value=cost, unit="tokens/USD")


def rows(paper: str, runs: list[RecordedRun], values: Iterable[Hand] = ()) -> list[Row]:
    """A record for each number of a paper.

    values: by hand with those fields of ``NumberKey`` that are not empty, ``value`` and ``reason``, which is how they
    were measured or what differs. Without ``test_set`` one is of all that the paper has. ``low``, ``high``,
    ``command``, ``cpu``, ``date``, ``comparable`` (default: true) and ``explained`` are optional: false where the
    reason does not say why the number is off. They go before measurements. Without ``value``, ``reason`` and
    ``comparable`` are about the number that was measured.
    """
    given = {NumberKey(*(value.get(field, "") for field in NumberKey._fields)): value for value in values}
    made: dict[NumberKey, Row] = {}
    for printed in numbers(paper):
        hand = given.get(printed.key) or given.get(printed.key._replace(test_set=""), {})
        if "value" in hand:
            origin = " ".join(hand[name] for name in ("file", "from") if name in hand)
            by_hand: Hand = {"explained": True, **hand}
            found = OurNumber(**{name: by_hand[name] for name in OurNumber._fields if name in by_hand})
            found = found._replace(timings=(origin,))
        elif printed.quantity == PER_USD and (
            seconds := given.get(printed.key._replace(quantity="seconds", test_set=""), {}).get("value")
        ):
            found = _priced(made[printed.key._replace(quantity="seconds")], seconds, MACHINES[printed.table])
        else:
            found = ours(printed, runs)
            reason = "; ".join(filter(None, (found.reason, hand.get("reason"))))
            comparable = found.comparable and hand.get("comparable", True)
            found = found._replace(reason=reason, comparable=comparable, explained="reason" in hand)
        made[printed.key] = _row(printed, found)
    return [*made.values()]


def _priced(of: Row, seconds: float, machine: str) -> OurNumber:
    """What seconds by hand cost on the paper's machine; of: the row of the seconds."""
    reason = f"{of['reason']}; at the price of the paper's {machine}"
    cost = tokens_per_usd(SOURCE_TOKENS / seconds, PRICES[machine])
    return OurNumber(cost, reason, False, of["command"], of["cpu"], of["date"], timings=tuple(of["timings"]))


def _row(printed: Printed, found: OurNumber) -> Row:
    tolerance = tolerance_of(printed)
    comparable = found.comparable and tolerance is not None
    ratio = found.value / printed.value if comparable and found.value is not None and printed.unit != GAIN else None
    return {
        "row": printed.name,
        "source": f"Table {printed.table}" if printed.table.isdigit() else printed.table,
        "page": printed.page,
        "quantity": printed.label,
        "test_set": printed.test_set,
        "printed": printed.value,
        "ours": found.value,
        "low": found.low,
        "high": found.high,
        "unit": printed.unit,
        "ratio": ratio,
        "tolerance": str(tolerance) if comparable else "",
        "verdict": _verdict(tolerance, found, printed),
        "needs": printed.needs,
        "explained": found.explained,
        "reason": found.reason,
        "command": found.command,
        "cpu": found.cpu,
        "date": found.date,
        "timings": list(found.timings),
    }


def _verdict(tolerance: Tolerance | None, found: OurNumber, printed: Printed) -> str:
    if not found.comparable:
        return OTHER
    if found.value is None:
        return NOT_RUN if printed.needs else OPEN
    return tolerance.verdict(found.value, printed.value) if tolerance else OTHER


def read(path: Path) -> RecordedRun:
    """The records of a file, measurements.json of a study or the JSON of a speed table. Raises UserError."""
    records = measurement.read(path)
    study = records[0].study
    target = "" if path.name == "measurements.json" else f"results/{study}/report/{path.stem}.md "
    name = path.relative_to(REFERENCE) if path.is_relative_to(REFERENCE) else path
    return RecordedRun(f"snakemake {target}--configfile configs/{study}.yaml", records, str(name))
