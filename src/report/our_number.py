"""The number of this project for a printed one: measured, computed from a shape, or why there is none."""

from collections.abc import Iterable
from typing import NamedTuple

from findings.comparison import matching, number, times_faster
from formats.measurement import Measurement
from formats.shape import registry, shape
from formats.spread import Spread
from nmt_frontier.errors import UserError
from nmt_frontier.search import switches
from report import claims
from report.claims import LOWER, NEEDS, SIZE_UNITS, Printed
from report.published import CPU, PRICES, SOURCE_TOKENS, tokens_per_usd

BYTES = {"float32": 4, "int16": 2, "int8": 1}
TOTAL = "total_seconds"  # a quantity, and the field of records; other times are text_seconds
# Of whole test sets: the first is printed, the others are counted as measure.source_tokens does.
TOKENS = {"newstest2014": SOURCE_TOKENS, "newstest2015": 47_567, "newstest2019": 48_865}
PER_USD = "source_tokens_per_usd"
COMPUTED = "python -m report.rows"  # the command of what was not measured
ANOTHER_MACHINE = "another machine; ratios are compared"
ALL_CORES, TUNED = "all_cores", "tuned"  # settings of rows that no record has; what is tuned is known by its place
ONEDNN = "oneDNN"  # a library of products, as records name it


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


def ours(printed: Printed, runs: list[RecordedRun]) -> OurNumber:
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
