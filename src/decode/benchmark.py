"""Measure all exports of one system: each engine, type, beam, with and without its vocabulary map.

Each measurement is a process of its own (decode.measure). Runs are interleaved, A B C A B C, so that a slow minute of
the machine falls on all configurations alike. The first test set is timed in every run, the others in the first run
only, and not by the baseline engine: it is slow, and its scores are those of the same weights in the other engine.
A finished run is kept, and used again as long as the command, the files it reads and the code are the same.
"""

import argparse
import hashlib
import itertools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decode import engines, machine, measure, pipeline, summary, tokenizer, translate
from decode.measure import named_path
from decode.measurements import BASELINE
from decode.summary import Run
from decode.translate import positive
from formats.errors import UserError, command
from formats.files import read_json, sha256, write_json
from formats.progress import progress

CODE = [  # what a run executes
    *(Path(module.__file__) for module in (measure, pipeline, tokenizer, translate)),
    *sorted(Path(engines.__file__).parent.glob("*.py")),
]


@dataclass(frozen=True)
class Configuration:
    """One row of a table of results: a model folder and how it is decoded."""

    model: Path
    beam_size: int
    vocabulary_map: bool
    baseline: bool

    @property
    def name(self) -> str:
        return f"{self.model.name}.beam{self.beam_size}" + (".map" if self.vocabulary_map else "")

    def model_files(self) -> list[Path]:
        """The files that decoding needs."""
        unused = {"README.md"} if self.vocabulary_map else {"README.md", "vmap.txt"}
        return sorted(path for path in self.model.rglob("*") if path.is_file() and path.name not in unused)


def configurations(models: list[Path], beam_sizes: list[int], baseline_beam_sizes: list[int]) -> list[Configuration]:
    """All of one system; the baseline engine, slow as it is, only with its own beam sizes."""
    found = []
    for model in models:
        description = engines.describe(model)
        baseline = description["engine"] == BASELINE
        beams = baseline_beam_sizes if baseline else beam_sizes
        maps = [False, True] if description["vocabulary_map"] else [False]
        found += [Configuration(model, beam, with_map, baseline) for beam, with_map in itertools.product(beams, maps)]
    if len({configuration.name for configuration in found}) < len(found):
        raise UserError("--models has two folders of one name; the name of a folder stands for its format")
    return found


class Benchmark:
    """Runs measurements under the same conditions and keeps them in ``<translations>/runs``."""

    def __init__(self, args: argparse.Namespace):
        self._test_sets: list[tuple[str, Path]] = args.test_sets
        self._translations: Path = args.translations
        self._options = ["--workers", args.workers, "--batch-tokens", args.batch_tokens, "--cores", *args.cores]

    def translation(self, configuration: Configuration, test_set: str) -> Path:
        return self._translations / f"{configuration.name}.{test_set}.txt"

    def run(self, configuration: Configuration, number: int) -> Run:
        """Make one run in a process of its own, or find it made."""
        test_sets = self._test_sets if number == 1 and not configuration.baseline else self._test_sets[:1]
        call = self._command(configuration, test_sets)
        files = [*configuration.model_files(), *(path for _, path in test_sets)]
        path = self._translations / "runs" / f"{configuration.name}.{number}.json"
        made = key(call, files)
        kept = read_json(path) if path.exists() else {}
        if kept.get("key") == made and (number > 1 or self._has_translations(configuration, kept)):
            return kept
        if number == 1:
            call = [*call, "--translations", str(self._translations / configuration.name)]
        before = {"key": made, "load_average": machine.load_average()}
        done = subprocess.run([sys.executable, *call, "--output", str(path)], stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise UserError(f"measuring {configuration.model} failed with status {done.returncode}; see above")
        result = before | read_json(path)
        write_json(path, result)
        return result

    def _command(self, configuration: Configuration, test_sets: list[tuple[str, Path]]) -> list[str]:
        options = ["--model", configuration.model, "--beam-size", configuration.beam_size, *self._options]
        options += [] if configuration.vocabulary_map else ["--no-vocabulary-map"]
        options += ["--test-sets", *(f"{name}={path}" for name, path in test_sets)]
        return ["-m", "decode.measure", *map(str, options)]

    def _has_translations(self, configuration: Configuration, run: Run) -> bool:
        """Whether the translations are still those that this run wrote."""
        paths = ((self.translation(configuration, name), row) for name, row in run["test_sets"].items())
        return all(path.exists() and sha256(path) == row["output_sha256"] for path, row in paths)


def key(call: list[str], files: list[Path]) -> str:
    """Changes when the command, a file it reads, the code or the machine changes."""
    state = [(str(path), (stat := path.stat()).st_size, stat.st_mtime_ns) for path in files]
    facts = [call, state, [sha256(path) for path in CODE], machine.describe()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def commit() -> str | None:
    """The commit of the working tree that this code is run from, if it is one."""
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def measure_all(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure every configuration ``args.runs`` times and return the records."""
    todo = configurations(args.models, args.beam_sizes, args.baseline_beam_sizes)
    benchmark = Benchmark(args)
    jobs = list(itertools.product(range(1, args.runs + 1), todo))
    runs: dict[Configuration, list[Run]] = {configuration: [] for configuration in todo}
    for number, configuration in progress(jobs, "measuring", total=len(jobs), unit="run"):
        runs[configuration].append(benchmark.run(configuration, number))

    conditions = {name: getattr(args, name) for name in ("batch_tokens", "workers", "cores", "usd_per_hour")}
    conditions |= (
        {"length_penalty": engines.Search.length_penalty}
        | machine.describe()
        | {"commit": commit()}
        | ({"study": args.study} if args.study else {})
    )
    records = []
    for configuration, test_set in ((made, name) for made in todo for name in runs[made][0]["test_sets"]):
        settings = {
            "beam_size": configuration.beam_size,
            "vocabulary_map": configuration.vocabulary_map,
            "model_bytes": sum(path.stat().st_size for path in configuration.model_files()),
            "output": os.path.relpath(benchmark.translation(configuration, test_set), args.output.parent),
        }
        description = engines.describe(configuration.model)
        records.append(summary.record(description, settings, conditions, runs[configuration], test_set))
        if not records[-1]["output_identical"]:
            print(f"warning: {configuration.name}: {test_set} differs from run to run", file=sys.stderr)
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="model folders of one system")
    parser.add_argument("--test-sets", type=named_path, nargs="+", required=True, help="name=path; the first is timed")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 4])
    parser.add_argument("--baseline-beam-sizes", type=positive, nargs="+", default=[4], help=f"those of {BASELINE}")
    parser.add_argument("--runs", type=positive, default=3)
    parser.add_argument("--cores", type=int, nargs="+", default=[0], help="cores that a measurement is kept on")
    parser.add_argument("--workers", type=positive, default=1, help="batches decoded at a time, each on one thread")
    parser.add_argument("--batch-tokens", type=positive, default=512)
    parser.add_argument("--usd-per-hour", type=float, required=True, help="price of the machine")
    parser.add_argument("--study", help="default: the one in model.json")
    parser.add_argument("--translations", type=Path, required=True, help="folder for the translations and single runs")
    parser.add_argument("--output", type=Path, required=True, help="JSON list of measurement records to write")
    args = parser.parse_args()
    write_json(args.output, measure_all(args))


if __name__ == "__main__":
    command(main)
