"""Measurement records as tables, plots and pages read them: checked, selected, and named for people."""

import itertools
import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple

from decode.front import pareto
from formats.errors import UserError
from formats.files import read_json

Record = dict[str, Any]

NEEDED = {
    *("study", "system", "role", "shape", "parameters", "engine", "compute_type", "beam_size", "vocabulary_map"),
    *("test_set", "bleu", "source_words_per_second"),
}
BASELINE = "opennmt-tf"
ENGINES = {"opennmt-tf": "OpenNMT-tf", "ctranslate2": "CTranslate2", "marian": "Marian"}
UNTRAINED = "untrained"  # random weights: speed only
ROLES = ["teacher", "student", "control", UNTRAINED]
BEAM = 4  # of the baseline and of the reference of quality, as in the papers
MARKS = {
    "~": "other processes used the cores meanwhile; such a speed is no result",
    "?": "too short to tell whether others used the cores",
}
UNKNOWN = "what sets their trainings apart was not recorded"
ONCE = "¹"  # beside a measurement that was taken once, in a table of repeated ones
SATURATES = "saturates"  # said of a type whose products of matrices may be cut off on this CPU (formats.cpu)
CONFIGURATION = ("system", "engine", "compute_type", "beam_size", "vocabulary_map")  # tells a study's rows apart
STUDENTS = ("student", "control")  # the roles of what a configuration calls students
TOLERANCE = 0.5  # BLEU on the dev set that the best model may lose for its speed
# Decided without the test sets. By this rule no other student is faster with the same dev BLEU or more.
RULE = (
    f"the fastest student configuration that loses at most {TOLERANCE} BLEU on the dev set against the best one there"
)


def read(path: Path) -> list[Record]:
    """Read records. Raises UserError for a file that is no list of measurements."""
    try:
        records = read_json(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; it is made by a run of the study") from None
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: line {error.lineno} is not JSON: {error.msg}") from None
    if not isinstance(records, list) or not records:
        raise UserError(f"{path}: not a list of measurements; give the measurements.json of a study")
    for number, record in enumerate(records, 1):
        if missing := sorted(NEEDED - set(record)):
            raise UserError(f"{path}: record {number} has no {', '.join(missing)}")
    return records


def test_sets(records: list[Record]) -> list[str]:
    """Their names; the first is the one that is timed in every run."""
    return list(dict.fromkeys(record["test_set"] for record in records))


def of_test_set(records: list[Record], name: str) -> list[Record]:
    """The records of one test set. Raises UserError for one that nothing was measured on."""
    if found := [record for record in records if record["test_set"] == name]:
        return found
    raise UserError(f"nothing was measured on the test set {name}; there are {', '.join(test_sets(records))}")


def systems(records: list[Record]) -> dict[str, Record]:
    """One record of each system, by name: the teacher first, then students, then controls."""
    found = {record["system"]: record for record in reversed(records)}
    order = list(dict.fromkeys(record["system"] for record in records))
    return {name: found[name] for name in sorted(order, key=lambda name: ROLES.index(found[name]["role"]))}


def find(records: list[Record], **values: Any) -> Record | None:
    """The first record with these values."""
    return next((record for record in records if all(record[key] == value for key, value in values.items())), None)


def baseline(records: list[Record], system: str) -> Record | None:
    """The system in the toolkit it was trained with, OpenNMT-tf at beam 4: the 1 of its speed-ups."""
    return find(records, system=system, engine=BASELINE, beam_size=BEAM)


def full_precision(records: list[Record], system: str) -> Record | None:
    """The system in CTranslate2 with float32, beam 4 and no map: the quality that faster configurations may lose."""
    values = {"engine": "ctranslate2", "compute_type": "float32", "beam_size": BEAM, "vocabulary_map": False}
    return find(records, system=system, **values)


def best_search(records: list[Record], system: str) -> Record | None:
    """The result of a system in float32 without a map that has the highest BLEU, of any engine and beam.

    What a faster configuration of the same weights loses is told against this search, not against a weaker one.
    ``records`` are of one test set.
    """
    found = [record for record in records if record["system"] == system and record["bleu"] is not None]
    exact = [record for record in found if record["compute_type"] == "float32" and not record["vocabulary_map"]]
    return max(exact, key=lambda record: record["bleu"], default=None)


def loss(records: list[Record], record: Record) -> float | None:
    """BLEU below the best search of the same weights, negative above it. ``records`` are of the same test set."""
    reference = best_search(records, record["system"])
    return None if reference is None or record["bleu"] is None else reference["bleu"] - record["bleu"]


def best_searches(records: list[Record]) -> str:
    """What the losses of each system are against: ``tiny float32 beam 4 (37.20)``. ``records`` are of one test set."""
    found = [best_search(records, system) for system in systems(records)]
    return "; ".join(f"{title(record)} ({record['bleu']:.2f})" for record in found if record)


def candidates(records: list[Record]) -> list[Record]:
    """What students were measured as on the timed test set, where the dev set was decoded in the same way."""
    timed = of_test_set(records, test_sets(records)[0])
    return drawn([record for record in timed if record["role"] in STUDENTS and record.get("dev_bleu") is not None])


def best(records: list[Record]) -> Record | None:
    """The student configuration that RULE chooses; ``without_best`` tells why there is none."""
    found = candidates(records)
    least = max((record["dev_bleu"] for record in found), default=0.0) - TOLERANCE
    good = [record for record in found if record["dev_bleu"] >= least]
    return max(good, key=lambda record: (speed(record), record["dev_bleu"]), default=None)


def on_test_set(records: list[Record], record: Record | None, name: str) -> Record | None:
    """The record of the same configuration on a test set."""
    if record is None:
        return None
    return find(records, test_set=name, **{key: record[key] for key in CONFIGURATION})


def without_best(records: list[Record]) -> str:
    """Why a study has no best model."""
    if not any(record["role"] in STUDENTS for record in records):
        return "no student was measured, and the best model is a student"
    return (
        "no record of a student has its BLEU on the dev set (recurrent ones are not decoded there); run the study again"
    )


def beating(records: list[Record], record: Record) -> list[Record]:
    """The student configurations that are faster than this one, and no worse on the test set itself."""
    rivals = (other for other in candidates(records) if other["bleu"] >= record["bleu"])
    return [other for other in rivals if speed(other) > speed(record)]


def speed(record: Record) -> float:
    return record["source_words_per_second"]


def speed_up(records: list[Record], record: Record) -> float | None:
    """Source words per second as a multiple of those of the system's own baseline on the same test set."""
    base = baseline(records, record["system"])
    return speed(record) / speed(base) if base else None


class Spread(NamedTuple):
    """Of several runs the median, the lowest and the highest value."""

    middle: float
    low: float
    high: float

    def __format__(self, form: str) -> str:
        return f"{self.middle:{form}} ({self.low:{form}} to {self.high:{form}})"


def mark(*rows: Record, limit: float = 1.0) -> str:
    """One of MARKS for a number made of these measurements, or nothing. limit: where a row does not have its own."""
    shares = [(row.get("others", 0.0), row.get("noise", limit)) for row in rows]
    if any(share is not None and share > most for share, most in shares):
        return "~"
    return "?" if any(share is None for share, _ in shares) else ""


def marks(rows: list[Record], limit: float = 1.0) -> str:
    """What the marks of these measurements mean."""
    found = sorted({mark(row, limit=limit) for row in rows} - {""}, reverse=True)
    libraries = sorted({row["library"] for row in rows if row.get("int8_saturates")})
    cut = [f"{SATURATES}: {name} cuts off sums of 8-bit products here, which costs quality." for name in libraries]
    return " ".join([*(f"{sign}: {MARKS[sign]}." for sign in found), *cut])


def repeats(rows: list[Record], marked: bool = False) -> str:
    """How often these measurements were taken, for a caption: ``medians of 3 runs``.

    marked: those that were taken once have the sign of ``once``.
    """
    counts = {row.get("runs", 1) for row in rows}
    if counts == {1}:
        return "a single run"
    text = f"medians of {' or '.join(map(str, sorted(counts - {1})))} runs"
    return (
        f"{text} ({ONCE}: a single run)" if 1 in counts and marked else f"{text}, or one run" if 1 in counts else text
    )


def once(row: Record, rows: list[Record]) -> str:
    """The sign of a measurement that was taken once, where others of ``rows`` were repeated."""
    return ONCE if row.get("runs", 1) == 1 and any(other.get("runs", 1) > 1 for other in rows) else ""


def times_faster(record: Record, other: Record, seconds: str = "text_seconds") -> Spread:
    """How many times faster a record is than another one: run k against run k, which were made in turn.

    Where runs of an earlier measurement were used again, ``measured_at`` of the records tells.
    """
    pairs = zip(record[f"{seconds}_runs"], other[f"{seconds}_runs"], strict=True)
    ratios = [theirs / own for own, theirs in pairs]
    return Spread(statistics.median(ratios), min(ratios), max(ratios))


def fastest(tried: dict[int, Record]) -> Record:
    """Of records by tokens of a batch the one with most target tokens a second; ``tried`` of it has those of all."""
    rates = {size: record["target_tokens"] / record["text_seconds"] for size, record in tried.items()}
    return {**tried[max(rates, key=lambda size: rates[size])], "tried": rates}


def sizes(record: Record) -> str:
    """What ``fastest`` chose from: rates, with the tokens of a batch behind each."""
    return ", ".join(f"{rate:,.0f} ({int(size):,})" for size, rate in record["tried"].items())


def drawn(records: list[Record]) -> list[Record]:
    """The records that have both a quality and a speed; without those that others disturbed, if any was not."""
    found = [record for record in records if record["bleu"] is not None and speed(record)]
    return [record for record in found if not record.get("noisy")] or found


def on_front(records: list[Record]) -> list[Record]:
    """The records that no other one beats in both speed and quality, fastest first."""
    records = drawn(records)
    flags = pareto([(speed(record), record["bleu"]) for record in records])
    return sorted(itertools.compress(records, flags), key=speed, reverse=True)


def compute_type(record: Record) -> str:
    """The type asked for, the one computed in where the CPU lacks it, SATURATES where its products are not exact."""
    asked, effective = record["compute_type"], record.get("effective_compute_type") or record["compute_type"]
    name = asked if effective.startswith(asked) else f"{asked} (as {effective.split('_')[0]})"
    return f"{name} ({SATURATES})" if record.get("int8_saturates") else name


def search(record: Record) -> str:
    return "greedy" if record["beam_size"] == 1 else f"beam {record['beam_size']}"


def configuration(record: Record) -> str:
    """How the system was decoded, in words: ``int8 greedy map``."""
    engine = "" if record["engine"] == "ctranslate2" else ENGINES.get(record["engine"], record["engine"]) + " "
    return f"{engine}{compute_type(record)} {search(record)}{' map' if record['vocabulary_map'] else ''}"


def title(record: Record) -> str:
    """The system and how it was decoded: ``tiny int8 greedy map``."""
    return f"{record['system']} {configuration(record)}"


def controls(records: list[Record]) -> dict[str, tuple[str, str]]:
    """For each student that has a control the name of the control, and what sets the two trainings apart."""
    return {
        record["system"]: (record["control"], record.get("control_difference") or UNKNOWN)
        for record in records
        if record.get("control")
    }


def verdict(records: list[Record], record: Record) -> str:
    """What the timed test set says of the best model, in a sentence."""
    where = f"{record['dev_bleu']:.2f} BLEU on {record['dev_set']}, {record['bleu']:.2f} on {record['test_set']}"
    if (lost := loss(of_test_set(records, record["test_set"]), record)) is not None:
        where += f" ({lost:z.2f} below the best search of the same weights)"
    if not (rivals := beating(records, record)):
        return f"{where}, where no faster student has as much."
    names = ", ".join(f"{title(other)} ({other['bleu']:.2f})" for other in rivals)
    return f"{where}, where faster students have as much or more: {names}. The two sets disagree."
