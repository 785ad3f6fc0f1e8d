"""From the runs of one configuration to its measurement record: medians, extremes, costs, signature."""

import statistics
from typing import Any

from decode.cost import usd_per_million_words, words_per_usd

COPIED = ("study", "system", "role", "student", "mixture", "seed", "shape", "parameters", "engine")  # from model.json
COUNTED = ("sentences", "source_words", "source_tokens", "target_tokens")
STAGES = ("tokenization", "decode", "detokenization")
RATES = ("target_tokens_per_second", "source_words_per_second")

Run = dict[str, Any]


def timed(run: Run, test_set: str) -> dict[str, Any]:
    """One run on one test set: seconds by stage and in total, and rates.

    A target token is a piece without </s>, over the engine's time alone; a source word is a whitespace token, over
    tokenization, decoding and detokenization, as loading is paid once for any amount of text.
    """
    row = run["test_sets"][test_set]
    text_seconds = sum(row[f"{stage}_seconds"] for stage in STAGES)
    return {
        **row,
        "load_seconds": run["load_seconds"],
        "total_seconds": run["load_seconds"] + text_seconds,
        "target_tokens_per_second": row["target_tokens"] / row["decode_seconds"],
        "source_words_per_second": row["source_words"] / text_seconds,
    }


def figures(runs: list[Run], test_set: str) -> dict[str, Any]:
    """Medians of times and rates with ``_min`` and ``_max`` beside each; the peak of the peaks of memory."""
    rows = [timed(run, test_set) for run in runs]
    result = {name: rows[0][name] for name in COUNTED}
    for name in ["load_seconds", *(f"{stage}_seconds" for stage in STAGES), "total_seconds", *RATES]:
        values = [row[name] for row in rows]
        result |= {name: statistics.median(values), f"{name}_min": min(values), f"{name}_max": max(values)}
    return result | {
        "warmup_seconds": statistics.median(run["warmup_seconds"] for run in runs),
        "peak_rss_bytes": max(run["peak_rss_bytes"] for run in runs),
        "load_average": max(run["load_average"] for run in runs),
        "output_identical": len({row["output_sha256"] for row in rows}) == 1,
    }


def signature(record: dict[str, Any]) -> str:
    """All that must be equal for two speeds to be comparable, in the manner of sacreBLEU's signatures."""
    facts = {
        "engine": record["engine"],
        "v": record["engine_version"],
        "type": record["compute_type"],
        "beam": record["beam_size"],
        "lp": f"{record['length_penalty']:g}",
        "batch": f"{record['batch_tokens']}t",
        "map": "yes" if record["vocabulary_map"] else "no",
        "workers": record["workers"],
        "cores": len(record["cores"]),
        "isa": record["isa"],
        "forced": (record["forced_isa"] or "").lower(),
        "runs": record["runs"],
    }
    return "|".join(f"{name}:{value}" for name, value in facts.items() if value != "")


def record(
    description: dict[str, Any], settings: dict[str, Any], conditions: dict[str, Any], runs: list[Run], test_set: str
) -> dict[str, Any]:
    """The measurement record of one configuration on one test set, without its scores.

    description: model.json; settings: what the configuration varies; conditions: what all configurations share.
    """
    runs = [run for run in runs if test_set in run["test_sets"]]
    numbers = figures(runs, test_set)
    price = conditions["usd_per_hour"]
    result = {
        **{name: description.get(name) for name in COPIED},
        "engine_version": runs[0]["engine_version"],
        "compute_type": description["quantization"],
        "effective_compute_type": runs[0]["effective_compute_type"],
        **settings,
        "test_set": test_set,
        "runs": len(runs),
        **numbers,
        "usd_per_million_words": usd_per_million_words(numbers["source_words_per_second"], price),
        "source_words_per_usd": words_per_usd(numbers["source_words_per_second"], price),
        **conditions,
        "speed_only": False,
    }
    return result | {"signature": signature(result)}
