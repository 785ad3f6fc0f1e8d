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
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from decode import engines
from findings.cost import cost
from formats import ctranslate2_products
from formats.measurement import UNTRAINED, Conditions, Decoding, Measurement, System, Timing
from formats.schema_from_dataclass import columns
from formats.spread import Spread
from measure import code_fingerprint, source_tokens
from measure.configuration import Benchmark, Configuration
from measure.task import Run, RunTask
from nmt_frontier import machine
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, sha256, typed
from nmt_frontier.model import model_folder
from nmt_frontier.search import switches
from nmt_frontier.search.engine import version
from nmt_frontier.search.native import Native

# How the signatures of kept records begin; switches and newer options follow, then the runs.
FIRST = ("engine", "v", "type", "beam", "lp", "batch", "map", "workers", "threads", "cores", "isa", "library", "forced")

# Variables that would slow an engine down.
LEFT_OUT = {"TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "TF_ENABLE_ONEDNN_OPTS", "CT2_PACKED_GEMM"}


class KeptRun(Run, kw_only=True):
    """A run as it is kept. key: of all that it depends on."""

    key: str
    load_average: float
    measured_at: str


def others(run: Run) -> float:
    """The share of other processes in the cores during the timed test set; 0 if the run was too short to tell."""
    return next(iter(run.test_sets.values())).others or 0.0


def read(path: Path) -> KeptRun | None:
    """A kept run; None for none, and for one of a version that wrote others."""
    try:
        return msgspec.convert(read_json(path), KeptRun)
    except (FileNotFoundError, msgspec.ValidationError):
        return None


def timing(runs: Sequence[KeptRun], test_set: str, source_tokens_moses: int | None = None) -> Timing:
    """Medians and spreads of times and rates, and the largest peak memory.

    Target tokens (pieces without </s>) are counted over the engine's time alone, source words (whitespace tokens) over
    the time from text to text, in which the stages overlap.
    """
    rows = [run.test_sets[test_set] for run in runs]
    first, loading = rows[0], [run.load_seconds for run in runs]
    text = [row.text_seconds for row in rows]
    total = [load + own for load, own in zip(loading, text, strict=True)]
    energy = [row.joules for row in rows if row.joules is not None]
    return Timing(
        runs=len(runs),
        source_words=first.source_words,
        source_tokens_moses=source_tokens_moses,
        source_tokens=first.source_tokens,
        target_tokens=first.target_tokens,
        reference_tokens=first.reference_tokens,
        candidates=first.candidates,
        load_seconds=Spread.of(loading),
        tokenization_seconds=Spread.of(row.tokenization_seconds for row in rows),
        decode_seconds=Spread.of(row.decode_seconds for row in rows),
        detokenization_seconds=Spread.of(row.detokenization_seconds for row in rows),
        text_seconds=Spread.of(text),
        total_seconds=Spread.of(total),
        target_tokens_per_second=Spread.of(row.target_tokens / row.decode_seconds for row in rows),
        source_words_per_second=Spread.of(row.source_words / row.text_seconds for row in rows),
        text_seconds_runs=tuple(text),
        total_seconds_runs=tuple(total),
        cpu_seconds=statistics.median(row.cpu_seconds for row in rows),
        joules=statistics.median(energy) if energy else None,
        others=max((row.others for row in rows if row.others is not None), default=None),
        checksum_seconds=statistics.median(run.checksum_seconds for run in runs),
        warmup_seconds=statistics.median(run.warmup_seconds for run in runs),
        peak_rss_bytes=max(run.peak_rss_bytes for run in runs),
        load_average=max(run.load_average for run in runs),
        measured_at=tuple(sorted(run.measured_at for run in runs)),
        output_identical=len({row.output_sha256 for row in rows}) == 1,
    )


def signature(record: Measurement) -> str:
    """All that must be equal for two speeds to be comparable, in the style of sacreBLEU's signatures."""
    how, about = record.decoding, record.conditions
    facts = {
        "engine": how.engine,
        "v": how.engine_version,
        "type": how.compute_type,
        "lp": f"{about.length_penalty:g}",
        "isa": how.isa,
        "library": (how.library or "").replace(" ", "-").lower(),
        "forced": (about.forced_isa or "").lower(),
        **how.signed,
        "runs": record.timing.runs,
    }
    ordered = dict.fromkeys([*FIRST, *switches.flags(), *facts])
    return "|".join(f"{name}:{facts[name]}" for name in ordered if facts.get(name, "") != "")


def record(
    configuration: Configuration, runs: Sequence[KeptRun], test_set: str, shared: Benchmark, conditions: Conditions
) -> Measurement:
    """The record of a test set, without scores. conditions: of all configurations."""
    runs = [run for run in runs if test_set in run.test_sets]
    about, (one, *_), here = configuration.model.description, runs, machine.describe()
    moses = source_tokens.moses(dict(shared.test_sets)[test_set], configuration.sentences, about.source or "en")
    timed, words = timing(runs, test_set, moses), one.test_sets[test_set].source_words
    seconds = statistics.median(run.test_sets[test_set].text_seconds for run in runs)
    spent = cost(seconds, len(configuration.cores), words, shared.price, here["cpu"], here["isa"])
    described = msgspec.to_builtins(about)
    output = os.path.relpath(translation(shared, configuration, test_set), shared.output.parent)
    result = Measurement(
        study=shared.study or described.get("study"),
        system=System(**{name: described.get(column.name) for name, column in columns(System).items()}),
        decoding=decoding(configuration, one, one.test_sets[test_set].sentences, output),
        test_set=test_set,
        timing=timed,
        conditions=replace(conditions, price=spent.price, forced_isa=one.forced_isa),
        core_seconds_per_million_words=spent.core_seconds_per_million_words,
        usd_per_million_words=spent.usd_per_million_words,
        speed_only=about.role == UNTRAINED,
        noisy=(timed.others or 0.0) > shared.noise,
    )
    return replace(result, signature=signature(result))


def decoding(configuration: Configuration, run: Run, sentences: int, output: str) -> Decoding:
    """With what and how sentences were decoded in a run. output: path of their translations."""
    model = configuration.model
    found = {
        "engine": model.engine.name,
        "engine_label": model.engine.label,
        "engine_version": run.engine_version,
        "compute_type": model.description.quantization,
        "effective_compute_type": run.effective_compute_type,
        "library": run.library,
        "int8_saturates": run.int8_saturates,
        "isa": machine.describe()["isa"],
        "sentences": sentences,
        "governor": machine.governor(configuration.cores[0]),
        "model_bytes": sum(path.stat().st_size for path in configuration.model_files()),
        "output": output,
    }
    return Decoding(**configuration.recorded | found)


def made(task: RunTask, variables: Mapping[str, str]) -> Run:
    """Make a run, in a process of its own with further variables. Raises UserError where that fails."""
    with tempfile.TemporaryDirectory() as scratch:
        call = task.command(Path(scratch) / "task.json")
        done = subprocess.run(call, stdin=subprocess.DEVNULL, env=inherited() | dict(variables), check=False)
    if done.returncode:
        raise UserError(f"measuring {task.model} failed with status {done.returncode}; see above")
    return typed(read_json(task.output), Run, f"{task.output}: not a run of measure.run; run `make install` again")


def translation(shared: Benchmark, configuration: Configuration, test_set: str) -> Path:
    """Where a run writes the translations of a test set."""
    return shared.translations / f"{configuration.name}.{test_set}.txt"


class Runs:
    """Makes runs of configurations, and keeps them in ``<translations>/runs``."""

    def __init__(self, shared: Benchmark):
        self._shared = shared

    def path(self, configuration: Configuration, number: int) -> Path:
        return self._shared.translations / "runs" / f"{configuration.name}.{number}.json"

    def test_sets(self, configuration: Configuration, number: int) -> list[tuple[str, Path]]:
        """Those of a run: in the first run all of the configuration, then only the timed one."""
        names = configuration.test_sets
        test_sets = [(name, path) for name, path in self._shared.test_sets if names is None or name in names]
        return test_sets if number == 1 and not configuration.baseline else test_sets[:1]

    def run(self, configuration: Configuration, number: int) -> KeptRun:
        """The kept run if it still holds, else a new one in its own process. Raises UserError where that fails."""
        test_sets, path = self.test_sets(configuration, number), self.path(configuration, number)
        task, variables = configuration.task(test_sets, path), configuration.environment
        document, tuned = task.document(), configuration.model.path / model_folder.TUNED  # the speed depends on it
        files = [*configuration.model_files(), *filter(Path.exists, [tuned]), *(path for _, path in test_sets)]
        depends = [document["model"], document["decoding"], document["test_sets"], *variables.items()]
        before: dict[str, Any] = {
            "key": key(depends, files),
            "load_average": machine.load_average(),
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        kept = read(path)
        if kept and kept.key == before["key"] and self._holds(configuration, number, kept):
            return kept
        if number == 1:
            task = replace(task, translations=self._shared.translations / configuration.name)
        return KeptRun(**before, **msgspec.structs.asdict(made(task, variables)))

    def _holds(self, configuration: Configuration, number: int, kept: KeptRun) -> bool:
        """Whether a kept run was quiet and of this code, and the translations that it wrote are unchanged."""
        if others(kept) > self._shared.noise or not code_fingerprint.unchanged(kept.code):
            return False
        rows = kept.test_sets.items() if number == 1 else ()
        paths = ((translation(self._shared, configuration, name), row) for name, row in rows)
        return all(path.exists() and sha256(path) == row.output_sha256 for path, row in paths)


def inherited() -> dict[str, str]:
    """The environment that runs inherit."""
    return {name: value for name, value in os.environ.items() if name not in LEFT_OUT}


def key(task: list[Any], files: list[Path]) -> str:
    """A hash of the task, the files it reads, the libraries, how they multiply, and the machine."""
    state = [(str(path), sha256(path)) for path in files]
    here = {**machine.describe(), "forced_isa": None}  # ``task`` names the forced set
    facts = [task, state, versions(), built(), here, ctranslate2_products.settings()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def built() -> list[str]:
    """The checksums of the native engine's libraries: a new build may have the same version."""
    spec = find_spec(Native.packages[0])
    folders = spec.submodule_search_locations or [] if spec else []
    return [sha256(path) for folder in folders for path in sorted(Path(folder).rglob("*.so"))]


def versions() -> list[str | None]:
    """Versions of the packages of all engines and of SentencePiece; None for one that is not installed."""
    packages = [package for engine in engines.ENGINES.values() for package in engine.packages]
    return [version(package) for package in (*packages, "sentencepiece")]
