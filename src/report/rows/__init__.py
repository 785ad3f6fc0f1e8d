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
from typing import Any, NamedTuple, TypedDict

from findings.comparison import matching, number, times_faster
from formats import measurement
from formats.measurement import Measurement, Spread
from formats.shape import registry, shape
from nmt_frontier.errors import UserError
from nmt_frontier.search import switches
from report import claims
from report.claims import (
    GAIN,
    LOWER,
    MARIAN,
    NEEDS,
    NOT_RUN,
    OPEN,
    OTHER,
    SIZE_UNITS,
    NumberKey,
    Printed,
    Tolerance,
    tolerance_of,
)
from report.published import CPU, MACHINES, PRICES, SOURCE_TOKENS, tokens_per_usd

BYTES = {"float32": 4, "int16": 2, "int8": 1}
TOTAL = "total_seconds"  # a quantity, and the field of records; other times are text_seconds
# Of whole test sets: the first is printed, the others are counted as measure.source_tokens does.
TOKENS = {"newstest2014": SOURCE_TOKENS, "newstest2015": 47_567, "newstest2019": 48_865}
PER_USD = "source_tokens_per_usd"
REFERENCE = Path("results/reference")
COMPUTED = "python -m report.rows"  # the command of what was not measured
ANOTHER_MACHINE = "another machine; ratios are compared"
ALL_CORES, TUNED = "all_cores", "tuned"  # settings of rows that no record has; what is tuned is known by its place
ONEDNN = "oneDNN"  # a library of products, as records name it

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


class RecordedRun(NamedTuple):
    """The records of one file, which were measured in one go, the command that made them, and the file's name."""

    command: str
    records: list[Measurement]
    name: str = ""

    def timing(self, record: Measurement) -> str:
        """What tells the timing of a record from all others; several rungs may have one."""
        same = (
            each is record or (record.place.row and each.place.row and each.timing == record.timing)
            for each in self.records
        )
        return f"{self.name} {[*same].index(True)}"


class OurNumber(NamedTuple):
    """The number for a printed one. reason: what differs, or why it has none. explained: by hand, for this number."""

    value: float | None
    reason: str
    comparable: bool = True
    command: str = ""
    cpu: str = ""
    date: str = ""
    low: float | None = None
    high: float | None = None
    timings: tuple[str, ...] = ()
    explained: bool = False


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
            found = _found(printed, runs)
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


def _found(printed: Printed, runs: list[RecordedRun]) -> OurNumber:
    """The number, and how it came about; or None, and why it could not be found."""
    if printed.reason or printed.needs not in ("", "training"):  # a model could have been trained elsewhere
        return _missing(printed, printed.reason)
    if not printed.shape:
        return _missing(printed, "no measurement was given")
    if printed.unit == "parameters":
        return _computed(_parameters(printed))
    if printed.quantity == "size":
        unit = _bytes(printed) if printed.other else SIZE_UNITS[printed.unit]
        return _computed(_bytes(printed.other or printed) / unit)
    if printed.other:
        return _ratio(printed, printed.other, runs)
    return _bleu(printed, runs) if printed.unit == "BLEU" else _time(printed, runs)


def _missing(printed: Printed, why: str) -> OurNumber:
    """No number. Where it needs what is not here, that is the reason, with what the paper's file says about it."""
    return OurNumber(None, ": ".join(filter(None, (NEEDS[printed.needs], printed.reason))) if printed.needs else why)


def _untimed(printed: Printed, why: str, runs: list[RecordedRun]) -> OurNumber:
    """No number, and the command whose table has such records first."""
    return _missing(printed, f"{why}: `{runs[0].command}`" if runs else why)


def _entries(printed: Printed) -> int:
    return claims.papers()[printed.paper].entries


def _parameters(printed: Printed) -> int:
    if (count := shape(registry()[printed.shape]).parameters(_entries(printed))) is None:
        raise UserError(f"claims.csv: {printed.shape} has no number of parameters; give the row another shape")
    return count


def _bytes(printed: Printed) -> int:
    """Of all weights in the row's type, and of all models of an ensemble."""
    return _parameters(printed) * BYTES[printed.type] * printed.settings.get("models", 1)


def _computed(value: float) -> OurNumber:
    return OurNumber(value, "computed from the shape", command=COMPUTED)


def _matching(printed: Printed, records: Iterable[Measurement]) -> list[Measurement]:
    """The records of the row's shape and configuration, undisturbed, without ablations."""
    wanted = {"engine": printed.engine, "compute_type": printed.type, "beam_size": printed.beam}
    wanted |= {"vocabulary_map": printed.map, **printed.settings}
    packed, *_ = (wanted.pop(name, None) for name in ("packed", ALL_CORES, TUNED))
    named = {name: value for name, value in wanted.items() if value not in (None, "")}
    named |= {"shape": str(shape(registry()[printed.shape])), "noisy": False}
    same = (record for record in matching(records, **named, batch_sentences=None) if packed in (None, _packed(record)))
    return [record for record in same if not _ablated(record)]


def _packed(record: Measurement) -> bool:
    """Whether an engine laid its weights out for its products beforehand; oneDNN, on AMD's CPUs, cannot."""
    return "packed" not in record.decoding.without and record.decoding.library != ONEDNN


def _ablated(record: Measurement) -> bool:
    """Whether something that only the speed tables switch is off. Without a map it has no kinds."""
    moot = () if record.decoding.vocabulary_map else ("map_per_sentence",)
    return any(switches.SWITCHES[name].ablation for name in switches.changed(record.decoding) if name not in moot)


def timed(printed: Printed, records: Iterable[Measurement], test_set: str | None = None) -> Measurement | None:
    """The record with the row's place, else the fastest of the row on one core, or on all if the row asks for them.

    If there are some of the row's test set, one of these.
    """
    records = list(records)
    if placed := [record for record in records if record.place == printed.place and not record.noisy]:
        return placed[0]
    if printed.way or TUNED in printed.settings:
        return None
    several = printed.settings.get(ALL_CORES, False)
    of_no_row = (record for record in records if not record.place.table)
    found = [record for record in _matching(printed, of_no_row) if test_set in (None, record.test_set)]
    found = [record for record in found if (len(record.decoding.cores) > 1) == several]
    same = [record for record in found if record.test_set == printed.test_set]
    return max(same or found, key=lambda record: record.words_per_second, default=None)


def _time(printed: Printed, runs: list[RecordedRun]) -> OurNumber:
    """Seconds, target tokens per second or source tokens per USD, which are of one machine only."""
    for run in runs:
        if record := timed(printed, run.records):
            value, how = _converted(printed, record)
            found = _measured(value, run, [record], f"{how}{_weights(record)}; {ANOTHER_MACHINE}")
            return found._replace(comparable=False)
    return _untimed(printed, "no model of this shape was timed undisturbed in this configuration", runs)


def _converted(printed: Printed, record: Measurement) -> tuple[float, str]:
    """A record's time as the paper gives it: seconds are scaled to the tokens of its test set, loading is not."""
    if printed.quantity == PER_USD:
        return tokens_per_usd(record.tokens_per_second, PRICES[CPU]), f"at the price of {CPU}; "
    if printed.unit not in LOWER:
        return number(record, "target_tokens") / number(record, "text_seconds"), ""
    tokens = TOKENS[printed.test_set]
    loading = number(record, "load_seconds") if printed.quantity == TOTAL else 0.0
    return loading + tokens / record.tokens_per_second, f"for {tokens:,} tokens; "


def _ratio(printed: Printed, than: Printed, runs: list[RecordedRun]) -> OurNumber:
    """How many times faster than the other row, run by run: of two records of one file and one test set."""
    for run in runs:
        own = timed(printed, run.records)
        other = timed(than, run.records, own.test_set) if own else None
        if own and other:
            field = TOTAL if printed.quantity == TOTAL else "text_seconds"
            if own.timing.runs == other.timing.runs and own.value(f"{field}_runs") and other.value(f"{field}_runs"):
                spread = times_faster(own, other, field)
            else:  # not all are timed as often; records of older versions have no single runs
                spread = Spread.of([other.value(field) / own.value(field)])
            found = _measured(spread.middle, run, [own, other], _weights(own), spread)
            return _only_once(printed, than, own.test_set, found)
    return _untimed(printed, "the two were not timed in one run here", runs)


def _only_once(printed: Printed, than: Printed, timed_on: str, found: OurNumber) -> OurNumber:
    """A timing has one verdict: where the paper prints the ratio for the timed test set, too, that row has it."""
    row = [each for each in claims.of_paper(printed.paper) if each.key[:2] == printed.key[:2]]
    twins = [each for each in row if each.test_set == timed_on and than.row in each.over]
    if timed_on == printed.test_set or not twins:
        return found
    return found._replace(reason=f"timed on {timed_on} only, whose row has the verdict", comparable=False)


def _bleu(printed: Printed, runs: list[RecordedRun]) -> OurNumber:
    scored = [
        (run, record)
        for run in runs
        for record in _matching(printed, run.records)
        if record.scores.bleu is not None and record.system.role == printed.role
    ]
    if not scored:
        return _missing(printed, "no model of this shape was trained and scored in this configuration")
    same = [found for found in scored if found[1].test_set == printed.test_set]
    run, record = (same or scored)[0]
    found = _measured(number(record, "bleu"), run, [record], f"{record.system.name} on {record.test_set}")
    return found._replace(comparable=bool(same))


def _measured(
    value: float, run: RecordedRun, records: list[Measurement], reason: str, spread: Spread | None = None
) -> OurNumber:
    """A number of records of one file; its CPU and date are those of the first."""
    date = records[0].timing.measured_at[0][:10] if records[0].timing.measured_at else ""
    low, high = (spread.low, spread.high) if spread else (None, None)
    timings = tuple(map(run.timing, records))
    return OurNumber(value, reason, True, run.command, records[0].conditions.cpu or "", date, low, high, timings)


def _weights(record: Measurement) -> str:
    """What a speed is of."""
    weights = "random weights" if record.speed_only else record.system.name
    cores = len(record.decoding.cores)
    where = f" on {cores} cores" if cores > 1 else ""
    return f"{weights}, {record.decoding.sentences:,} sentences of {record.test_set}{where}"


def read(path: Path) -> RecordedRun:
    """The records of a file, measurements.json of a study or the JSON of a speed table. Raises UserError."""
    records = measurement.read(path)
    study = records[0].study
    target = "" if path.name == "measurements.json" else f"results/{study}/report/{path.stem}.md "
    name = path.relative_to(REFERENCE) if path.is_relative_to(REFERENCE) else path
    return RecordedRun(f"snakemake {target}--configfile configs/{study}.yaml", records, str(name))
