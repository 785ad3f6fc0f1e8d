"""From the runs of one configuration to its measurement record: medians, extremes, costs, signature."""

import statistics
from dataclasses import replace
from typing import Any

from decode import engines
from decode.options import SWITCHED_OFF
from formats.cost import cost
from formats.measurement import UNTRAINED, Measurement
from formats.model_folder import Description
from formats.spread import Spread

NEEDED = ("system", "role", "shape", "parameters")  # fields of model.json that every record has
COPIED = (*NEEDED, "study", "student", "mixture", "seed", "engine")  # from model.json
COUNTED = ("sentences", "source_words", "source_tokens", "target_tokens", "reference_tokens", "candidates")
STAGES = ("tokenization", "decode", "detokenization")
BY_RUN = ("text_seconds", "total_seconds")  # all values, in the order of the runs, to compare two records run by run
RATES = ("target_tokens_per_second", "source_words_per_second")

Run = dict[str, Any]  # JSON of measure.run


def others(run: Run) -> float:
    """The share of other processes in the cores while the first test set, the timed one, was decoded.

    0 where the run was too short to tell.
    """
    return next(iter(run["test_sets"].values()))["others"] or 0.0


def timed(run: Run, test_set: str) -> dict[str, Any]:
    """One run on one test set: seconds by stage and in total, and rates.

    A target token is a piece without </s>, over the engine's time alone; a source word is a whitespace token, over the
    time from text to text, in which the stages overlap; loading is paid once for any amount of text.
    """
    row = run["test_sets"][test_set]
    return {
        **row,
        "load_seconds": run["load_seconds"],
        "total_seconds": run["load_seconds"] + row["text_seconds"],
        "target_tokens_per_second": row["target_tokens"] / row["decode_seconds"],
        "source_words_per_second": row["source_words"] / row["text_seconds"],
    }


def figures(runs: list[Run], test_set: str) -> dict[str, Any]:
    """Medians of times and rates with ``_min`` and ``_max`` beside each; the peak of the peaks of memory.

    The times of BY_RUN are there for each run, too, as ``_runs``.
    """
    rows = [timed(run, test_set) for run in runs]
    result = {name: rows[0][name] for name in COUNTED}
    for name in ["load_seconds", *(f"{stage}_seconds" for stage in STAGES), "text_seconds", "total_seconds", *RATES]:
        result |= Spread.of(row[name] for row in rows).fields(name)
    result |= {f"{name}_runs": [row[name] for row in rows] for name in BY_RUN}
    energy = [row["joules"] for row in rows if row["joules"] is not None]
    return result | {
        "cpu_seconds": statistics.median(row["cpu_seconds"] for row in rows),
        "joules": statistics.median(energy) if energy else None,
        "others": max((row["others"] for row in rows if row["others"] is not None), default=None),
        "checksum_seconds": statistics.median(run["checksum_seconds"] for run in runs),
        "warmup_seconds": statistics.median(run["warmup_seconds"] for run in runs),
        "peak_rss_bytes": max(run["peak_rss_bytes"] for run in runs),
        "load_average": max(run["load_average"] for run in runs),
        "measured_at": sorted(run["measured_at"] for run in runs),
        "output_identical": len({row["output_sha256"] for row in rows}) == 1,
    }


def signature(record: Measurement) -> str:
    """All that must be equal for two speeds to be comparable, in the manner of sacreBLEU's signatures."""
    facts = {
        "engine": record.engine,
        "v": record.engine_version,
        "type": record.compute_type,
        "beam": record.beam_size,
        "lp": f"{record.length_penalty:g}",
        "batch": f"{record.batch_sentences}s" if record.batch_sentences else f"{record.batch_tokens}t",
        "map": "yes" if record.vocabulary_map else "no",
        "workers": record.workers,
        "threads": record.threads if record.threads > 1 else "",
        "cores": len(record.cores),
        "isa": record.isa,
        "library": (record.library or "").replace(" ", "-").lower(),
        "forced": (record.forced_isa or "").lower(),
        **{name: "no" for name in SWITCHED_OFF if not getattr(record, name)},
        "blocked": record.blocked_ngram or "",
        "runs": record.runs,
    }
    return "|".join(f"{name}:{value}" for name, value in facts.items() if value != "")


def record(
    description: Description, settings: dict[str, Any], conditions: dict[str, Any], runs: list[Run], test_set: str
) -> Measurement:
    """The measurement record of one configuration on one test set, without its scores.

    description: model.json; settings: what the configuration varies; conditions: what all configurations share.
    """
    runs = [run for run in runs if test_set in run["test_sets"]]
    numbers = figures(runs, test_set)
    price = conditions["price"]
    fields = {
        **{name: description.get(name) for name in COPIED},
        "engine_label": engines.ENGINES[description["engine"]].label,
        "engine_version": runs[0]["engine_version"],
        "compute_type": description["quantization"],
        "effective_compute_type": runs[0]["effective_compute_type"],
        "library": runs[0].get("library"),
        "int8_saturates": runs[0].get("int8_saturates"),
        **settings,
        "test_set": test_set,
        "runs": len(runs),
        **numbers,
        **conditions,
        **cost(numbers["text_seconds"], len(settings["cores"]), numbers["source_words"], price, conditions["cpu"]),
        "speed_only": description.get("role") == UNTRAINED,
        "forced_isa": runs[0]["forced_isa"],
    }
    result = Measurement(**fields, noisy=(numbers["others"] or 0.0) > conditions["noise"])
    return replace(result, signature=signature(result))
