"""Runs of configurations, each a process of its own (measure.run), kept and used again.

A finished run is used again as long as the command, the files it reads, the code it executed and its libraries are the
same. A run that stayed disturbed is marked as no result, and made again the next time.
"""

import hashlib
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from common import cpu, machine
from common.errors import UserError
from common.files import read_json, sha256
from decode import engines
from decode.engines.native import Native
from measure import executed
from measure.configuration import Conditions, Configuration
from measure.summary import Run, others

# Variables that make an engine slower than its command says.
LEFT_OUT = {"TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "TF_ENABLE_ONEDNN_OPTS", "CT2_PACKED_GEMM"}


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
        if others(kept) > self._conditions.noise or not executed.unchanged(kept.get("code", {})):
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
