"""Runs of configurations, each a process of its own (measure.run), kept and used again, and the record made of them.

A finished run is used again as long as the command, the files it reads, the code it executed and its libraries are the
same. A run that stayed disturbed is marked as no result, and made again the next time.
"""

import hashlib
import json
import os
import statistics
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from common import cpu, machine
from common.errors import UserError
from common.files import read_json, sha256
from decode import engines
from decode.engines.native import Native
from decode.translator import SWITCHED_OFF
from formats.cost import cost
from formats.measurement import UNTRAINED, Measurement, Spread
from formats.model_folder import Description
from measure import code_fingerprint
from measure.configuration import Conditions, Configuration

NEEDED = ("system", "role", "shape", "parameters")  # fields of model.json that every record has
COPIED = (*NEEDED, "study", "student", "mixture", "seed", "engine")  # from model.json
COUNTED = ("sentences", "source_words", "source_tokens", "target_tokens", "reference_tokens", "candidates")
STAGES = ("tokenization", "decode", "detokenization")
BY_RUN = ("text_seconds", "total_seconds")  # all values, in the order of the runs, to compare two records run by run
RATES = ("target_tokens_per_second", "source_words_per_second")

Run = dict[str, Any]  # JSON of measure.run

# Variables that make an engine slower than its command says.
LEFT_OUT = {"TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "TF_ENABLE_ONEDNN_OPTS", "CT2_PACKED_GEMM"}


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


class Runs:
    """Makes runs of configurations, and keeps them in ``<translations>/runs``."""

    def __init__(self, conditions: Conditions):
        self._conditions = conditions

    def translation(self, configuration: Configuration, test_set: str) -> Path:
        return self._conditions.translations / f"{configuration.name}.{test_set}.txt"

    def path(self, configuration: Configuration, number: int) -> Path:
        return self._conditions.translations / "runs" / f"{configuration.name}.{number}.json"

    def decoded(self, configuration: Configuration, number: int) -> list[tuple[str, Path]]:
        """The test sets of a run: all of the configuration in the first one, then only the one that is timed."""
        names = configuration.test_sets
        test_sets = [(name, path) for name, path in self._conditions.test_sets if names is None or name in names]
        return test_sets if number == 1 and not configuration.baseline else test_sets[:1]

    def run(self, configuration: Configuration, number: int) -> Run:
        """Return the kept run if it still holds and was quiet; otherwise make one in a process of its own.

        Raises UserError where that process fails.
        """
        test_sets, path = self.decoded(configuration, number), self.path(configuration, number)
        call = configuration.command(test_sets)
        files = [*configuration.model_files(), *configuration.tuned_files(), *(path for _, path in test_sets)]
        before = {
            "key": key([*call, *map(str, configuration.environment.items())], files),
            "load_average": machine.load_average(),
            "measured_at": now(),
        }
        kept = read_json(path) if path.exists() else {}
        if kept.get("key") == before["key"] and self._holds(configuration, number, kept):
            return kept
        if number == 1:
            call = [*call, "--translations", str(self._conditions.translations / configuration.name)]
        done = subprocess.run(
            [sys.executable, *call, "--output", str(path)],
            stdin=subprocess.DEVNULL,
            env=inherited() | configuration.environment,
            check=False,
        )
        if done.returncode:
            raise UserError(f"measuring {configuration.model} failed with status {done.returncode}; see above")
        return before | read_json(path)

    def _holds(self, configuration: Configuration, number: int, kept: Run) -> bool:
        """Whether a kept run was quiet, of this code, and, if it wrote the translations, these are still the same."""
        if others(kept) > self._conditions.noise or not code_fingerprint.unchanged(kept.get("code", {})):
            return False
        rows = kept["test_sets"].items() if number == 1 else ()
        paths = ((self.translation(configuration, name), row) for name, row in rows)
        return all(path.exists() and sha256(path) == row["output_sha256"] for path, row in paths)


def inherited() -> dict[str, str]:
    """The environment of a run, but for its own settings."""
    return {name: value for name, value in os.environ.items() if name not in LEFT_OUT}


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def key(call: list[str], files: list[Path]) -> str:
    """Changes with the command, the files it reads, the libraries, how they multiply, and the machine."""
    state = [(str(path), sha256(path)) for path in files]
    here = {**machine.describe(), "forced_isa": None}  # ``call`` has it, as the process will be told
    facts = [call, state, versions(), built(), here, cpu.settings()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def built() -> list[str]:
    """The checksums of our own engine's libraries, which are built anew without a new version."""
    spec = find_spec(Native.packages[0])
    folders = spec.submodule_search_locations or [] if spec else []
    return [sha256(path) for folder in folders for path in sorted(Path(folder).rglob("*.so"))]


def versions() -> list[str | None]:
    """Those of the packages of all engines, and of SentencePiece; None where one is not installed."""
    packages = [package for engine in engines.ENGINES.values() for package in engine.packages]
    return [engines.version(package) for package in (*packages, "sentencepiece")]
