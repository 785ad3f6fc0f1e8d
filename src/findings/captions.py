"""Measurements in words, for tables, pictures and pages, and marks of timings that other processes disturbed."""

import shlex
from collections.abc import Iterable

from findings.comparison import BASELINE, CTRANSLATE2, best_search, systems
from formats.measurement import Measurement

MARKS = {  # the worst first
    "~": "other processes used the cores meanwhile; such a speed is no result",
    "?": "too short to tell whether others used the cores",
}

ONCE = "¹"  # marks a measurement that was taken once, in a table of repeated ones
SATURATES = "saturates"  # marks a type whose matrix products may saturate on this CPU
ACCEPTED = 1.0  # default of ``noise``


def disturbance_mark(others: float | None, noise: float) -> str:
    """One of MARKS, or nothing. others: share of other processes, None if unknown. noise: accepted share."""
    if others is None:
        return "?"
    return "~" if others > noise else ""


def worst(marks: Iterable[str]) -> str:
    """The mark of a number that is computed from several timings."""
    present = set(marks)
    return next((mark for mark in MARKS if mark in present), "")


def legend(marks: Iterable[str]) -> str:
    """The meaning of these marks, in a sentence each."""
    present = set(marks)
    return " ".join(f"{mark}: {meaning}." for mark, meaning in MARKS.items() if mark in present)


def engine_label(record: Measurement) -> str:
    """The engine's name for people, which records have since version 0.7."""
    return record.decoding.engine_label or record.decoding.engine


def compute_type(record: Measurement) -> str:
    """The requested type, the effective one if it differs, and SATURATES if its products are not exact."""
    requested = record.decoding.compute_type
    effective = record.decoding.effective_compute_type or requested
    name = requested if effective.startswith(requested) else f"{requested} (as {effective.split('_')[0]})"
    return f"{name} ({SATURATES})" if record.decoding.int8_saturates else name


def cpu(record: Measurement) -> str:
    """The CPU with its widest instructions, ``AMD EPYC (avx2)``: virtual machines may show one name for many CPUs."""
    return f"{record.conditions.cpu or 'unknown CPU'}{f' ({record.decoding.isa})' if record.decoding.isa else ''}"


def search(record: Measurement) -> str:
    return "greedy" if record.decoding.beam_size == 1 else f"beam {record.decoding.beam_size}"


def configuration(record: Measurement) -> str:
    """How the system was decoded: ``int8 greedy map``."""
    engine = "" if record.decoding.engine == CTRANSLATE2 else engine_label(record) + " "
    return f"{engine}{compute_type(record)} {search(record)}{' map' if record.decoding.vocabulary_map else ''}"


def title(record: Measurement) -> str:
    """The system and how it was decoded: ``tiny int8 greedy map``."""
    return f"{record.system.name} {configuration(record)}"


def decoding_command(record: Measurement) -> str | None:
    """The command that decodes in the same way, from the folder of the project; None for a record without output."""
    if not record.decoding.output:
        return None
    model = f"results/{record.study}/{model_folder(record)}"
    words = ["nmt-frontier", "translate", "--model", model, "--beam-size", record.decoding.beam_size]
    words += [] if record.decoding.vocabulary_map else ["--no-vocabulary-map"]
    words += ["--workers", record.decoding.workers]
    words += ["--threads", record.decoding.threads] if record.decoding.threads > 1 else []
    words += ["--batch-tokens", record.decoding.batch_tokens] if record.decoding.batch_tokens else []
    return f"{shlex.join(map(str, words))} < text > translation"


def model_folder(record: Measurement) -> str:
    """The model folder in the study, named as by Engine.folder."""
    engine, compute_type = record.decoding.engine, record.decoding.compute_type
    names = {BASELINE: engine, CTRANSLATE2: compute_type}
    return f"models/{record.system.name}/{names.get(engine, f'{engine}-{compute_type}')}"


def best_searches(records: list[Measurement]) -> str:
    """The references of lost BLEU: ``tiny float32 beam 4 (37.20)``. records: of one test set."""
    searches = [best_search(records, system) for system in systems(records)]
    return "; ".join(f"{title(record)} ({record.scores.bleu:.2f})" for record in searches if record)


def sizes(record: Measurement) -> str:
    """The rates that ``comparison.fastest`` chose from, each with the tokens of a batch in brackets."""
    return ", ".join(f"{rate:,.0f} ({int(tokens):,})" for tokens, rate in (record.tried or {}).items())


def mark(*records: Measurement) -> str:
    """The mark of a number that is computed from these measurements."""
    limits = ((record.timing.others, record.conditions.noise) for record in records)
    return worst(disturbance_mark(others, ACCEPTED if noise is None else noise) for others, noise in limits)


def marks(records: list[Measurement]) -> str:
    """The meaning of the marks of these measurements."""
    ways = (record.decoding for record in records)
    libraries = sorted({how.library for how in ways if how.int8_saturates and how.library})
    cuts = (f"{SATURATES}: {name} cuts off sums of 8-bit products here, which costs quality." for name in libraries)
    return " ".join(filter(None, [legend(map(mark, records)), *cuts]))


def repeats(runs: Iterable[int], marked: bool = False) -> str:
    """The number of runs, for a caption: ``medians of 3 runs``. marked: single runs have a mark (``once``)."""
    counts = set(runs)
    if counts == {1}:
        return "a single run"
    medians = f"medians of {' or '.join(map(str, sorted(counts - {1})))} runs"
    if 1 not in counts:
        return medians
    return f"{medians} ({ONCE}: a single run)" if marked else f"{medians}, or one run"


def once(record: Measurement, records: list[Measurement]) -> str:
    """Footnote mark for a record timed once when others were repeated."""
    return ONCE if record.timing.runs == 1 and any(other.timing.runs > 1 for other in records) else ""
