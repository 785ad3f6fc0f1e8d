"""Runs of configurations, each a process of its own (measure.run), kept and reused, and the record made of them.

A run is reused while its task, the files it reads, the code it executed and its libraries are the same. A run that
stayed disturbed is marked as no result and repeated the next time.
"""

import hashlib
import json
import os
import statistics
import subprocess
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from common import cpu, machine
from common.errors import UserError
from common.files import read_json, sha256
from decode import engines
from decode.engines.native import Native
from findings.cost import cost
from formats import model_folder, switches
from formats.measurement import UNTRAINED, Measurement, Spread
from formats.model_folder import Description
from measure import code_fingerprint
from measure.configuration import Conditions, Configuration
from measure.task import Task

NEEDED = ("system", "role", "shape", "parameters")  # fields of model.json that every record has
COPIED = (*NEEDED, "study", "student", "mixture", "seed", "engine")  # from model.json
OF_RUN = ("engine_version", "effective_compute_type", "library", "int8_saturates", "forced_isa")  # from measure.run
COUNTED = ("sentences", "source_words", "source_tokens", "target_tokens", "reference_tokens", "candidates")
STAGES = ("tokenization", "decode", "detokenization")
BY_RUN = ("text_seconds", "total_seconds")  # kept for every run, to compare two records run by run
RATES = ("target_tokens_per_second", "source_words_per_second")

Run = dict[str, Any]  # JSON of measure.run

# Variables that would slow an engine down.
LEFT_OUT = {"TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "TF_ENABLE_ONEDNN_OPTS", "CT2_PACKED_GEMM"}


def others(run: Run) -> float:
    """The share of other processes in the cores during the timed test set; 0 if the run was too short to tell."""
    return next(iter(run["test_sets"].values()))["others"] or 0.0


def timed(run: Run, test_set: str) -> dict[str, Any]:
    """One run on one test set: seconds by stage and in total, and rates.

    Target tokens (pieces without </s>) are counted over the engine's time alone, source words (whitespace tokens) over
    the time from text to text, in which the stages overlap.
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
    """Medians of times and rates with ``_min`` and ``_max``, times of BY_RUN as ``_runs``, too; largest peak memory."""
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
    """All that must be equal for two speeds to be comparable, in the style of sacreBLEU's signatures."""
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
        **{name: "no" for name in switches.flags() if name in record.without},
        "blocked": record.blocked_ngram or "",
        "runs": record.runs,
    }
    return "|".join(f"{name}:{value}" for name, value in facts.items() if value != "")


def record(
    description: Description, settings: dict[str, Any], conditions: dict[str, Any], runs: list[Run], test_set: str
) -> Measurement:
    """The record without scores. settings: of the configuration. conditions: shared by all configurations."""
    runs = [run for run in runs if test_set in run["test_sets"]]
    numbers, price = figures(runs, test_set), conditions["price"]
    about = msgspec.to_builtins(description)
    fields = {
        **{name: about.get(name) for name in COPIED},
        "engine_label": engines.ENGINES[description.engine].label,
        "compute_type": description.quantization,
        **settings,
        "test_set": test_set,
        "runs": len(runs),
        **numbers,
        **conditions,
        **cost(numbers["text_seconds"], len(settings["cores"]), numbers["source_words"], price, conditions["cpu"]),
        "speed_only": description.role == UNTRAINED,
        **{name: runs[0].get(name) for name in OF_RUN},
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
        """The test sets of a run: in the first run all of the configuration, then only the timed one."""
        names = configuration.test_sets
        test_sets = [(name, path) for name, path in self._conditions.test_sets if names is None or name in names]
        return test_sets if number == 1 and not configuration.baseline else test_sets[:1]

    def run(self, configuration: Configuration, number: int) -> Run:
        """The kept run if it still holds, else a new one in its own process. Raises UserError where that fails."""
        test_sets, path = self.decoded(configuration, number), self.path(configuration, number)
        task = Task(configuration.decoding, test_sets, path)
        document = task.document()
        tuned = configuration.model / model_folder.TUNED  # the speed depends on it
        files = [*configuration.model_files(), *filter(Path.exists, [tuned]), *(path for _, path in test_sets)]
        before = {
            "key": key([document["decoding"], document["test_sets"], *configuration.environment.items()], files),
            "load_average": machine.load_average(),
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        kept = read_json(path) if path.exists() else {}
        if kept.get("key") == before["key"] and self._holds(configuration, number, kept):
            return kept
        if number == 1:
            task = replace(task, translations=self._conditions.translations / configuration.name)
        environment = inherited() | configuration.environment
        with tempfile.TemporaryDirectory() as scratch:
            call = task.command(Path(scratch) / "task.json")
            done = subprocess.run(call, stdin=subprocess.DEVNULL, env=environment, check=False)
        if done.returncode:
            raise UserError(f"measuring {configuration.model} failed with status {done.returncode}; see above")
        run: Run = read_json(path)
        return before | run

    def _holds(self, configuration: Configuration, number: int, kept: Run) -> bool:
        """Whether a kept run was quiet and of this code, and the translations that it wrote are unchanged."""
        if others(kept) > self._conditions.noise or not code_fingerprint.unchanged(kept.get("code", {})):
            return False
        rows = kept["test_sets"].items() if number == 1 else ()
        paths = ((self.translation(configuration, name), row) for name, row in rows)
        return all(path.exists() and sha256(path) == row["output_sha256"] for path, row in paths)


def inherited() -> dict[str, str]:
    """The environment that runs inherit."""
    return {name: value for name, value in os.environ.items() if name not in LEFT_OUT}


def key(task: list[Any], files: list[Path]) -> str:
    """A hash of the task, the files it reads, the libraries, how they multiply, and the machine."""
    state = [(str(path), sha256(path)) for path in files]
    here = {**machine.describe(), "forced_isa": None}  # ``task`` names the forced set
    facts = [task, state, versions(), built(), here, cpu.settings()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def built() -> list[str]:
    """The checksums of the native engine's libraries: a new build may have the same version."""
    spec = find_spec(Native.packages[0])
    folders = spec.submodule_search_locations or [] if spec else []
    return [sha256(path) for folder in folders for path in sorted(Path(folder).rglob("*.so"))]


def versions() -> list[str | None]:
    """Versions of the packages of all engines and of SentencePiece; None for one that is not installed."""
    packages = [package for engine in engines.ENGINES.values() for package in engine.packages]
    return [engines.version(package) for package in (*packages, "sentencepiece")]
