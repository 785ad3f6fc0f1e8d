"""Measure all exports of one system: each engine, type, beam, with and without its vocabulary map.

Each measurement is a process of its own (decode.measure). Runs are interleaved, A B C A B C, so that a slow minute of
the machine falls on all configurations alike; rates and times are medians over the runs, with the extremes beside
them. The first test set is timed in every run, the others in the first one only. A finished run is kept and used
again as long as the command, the model folder, the test sets and the code are the same.
"""

import argparse
import hashlib
import itertools
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decode import engines, machine
from decode.cost import usd_per_million_words, words_per_usd
from decode.measure import named_path
from decode.translate import positive
from formats.errors import UserError, command
from formats.files import read_json, write_json
from formats.progress import progress

BASELINE = "opennmt-tf"
COPIED = ("study", "system", "role", "shape", "parameters", "engine")
TIMES = ("load", "tokenization", "decode", "detokenization", "total")
CODE = [*Path(__file__).parent.glob("[mpt]*.py"), *Path(engines.__file__).parent.glob("*.py")]  # what a run executes


@dataclass(frozen=True)
class Configuration:
    """One line of a table of results: a model folder and how it is decoded."""

    model: Path
    beam_size: int
    vocabulary_map: bool

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
        beams = baseline_beam_sizes if description["engine"] == BASELINE else beam_sizes
        maps = [False, True] if description["vocabulary_map"] else [False]
        found += [Configuration(model, beam, with_map) for beam, with_map in itertools.product(beams, maps)]
    if len(set(names := [configuration.name for configuration in found])) < len(names):
        raise UserError("two model folders of the same name; a folder's name stands for its format")
    return found


def measurement(configuration: Configuration, test_sets: list[tuple[str, Path]], args: argparse.Namespace) -> list[str]:
    """The command of one measurement, without what it writes."""
    options = ["--model", configuration.model, "--beam-size", configuration.beam_size]
    options += [] if configuration.vocabulary_map else ["--no-vocabulary-map"]
    options += ["--workers", args.workers, "--batch-tokens", args.batch_tokens, "--cores", *args.cores]
    options += ["--test-sets", *(f"{name}={path}" for name, path in test_sets)]
    return ["-m", "decode.measure", *map(str, options)]


def key(call: list[str], files: list[Path]) -> str:
    """Changes when the command, a file it reads, the code or the way CTranslate2 is told to compute changes."""
    state = [(str(path), stat.st_size, stat.st_mtime_ns) for path in files for stat in [path.stat()]]
    code = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(CODE)]
    facts = [call, state, code, machine.describe()["cpu"], machine.describe()["forced_isa"]]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def measure(configuration: Configuration, run: int, args: argparse.Namespace) -> dict[str, Any]:
    """Make one run in a process of its own, or find it made."""
    test_sets = args.test_sets if run == 1 else args.test_sets[:1]
    call = measurement(configuration, test_sets, args)
    files = [*configuration.model_files(), *(path for _, path in test_sets)]
    path = args.translations / "runs" / f"{configuration.name}.{run}.json"
    if path.exists() and (found := read_json(path)).get("key") == key(call, files):
        return found
    outputs = ["--translations", str(args.translations / configuration.name)] if run == 1 else []
    load_average = machine.describe()["load_average"]
    done = subprocess.run([sys.executable, *call, "--output", str(path), *outputs], stdin=subprocess.DEVNULL)
    if done.returncode:
        raise UserError(f"measuring {configuration.model} failed; its message is above")
    result = {"key": key(call, files), "load_average": load_average, **read_json(path)}
    write_json(path, result)
    return result


def spread(name: str, values: list[float]) -> dict[str, float]:
    return {name: statistics.median(values), f"{name}_min": min(values), f"{name}_max": max(values)}


def figures(runs: list[dict[str, Any]], test_set: str) -> dict[str, Any]:
    """Medians and extremes of one test set over its runs."""
    rows = []
    for run in runs:
        row = {"load_seconds": run["load_seconds"], **run["test_sets"][test_set]}
        text_seconds = row["tokenization_seconds"] + row["decode_seconds"] + row["detokenization_seconds"]
        row["total_seconds"] = row["load_seconds"] + text_seconds
        row["target_tokens_per_second"] = row["target_tokens"] / row["decode_seconds"]
        row["source_words_per_second"] = row["source_words"] / text_seconds
        rows.append(row)
    measured = [f"{stage}_seconds" for stage in TIMES] + ["target_tokens_per_second", "source_words_per_second"]
    result = {count: rows[0][count] for count in ("sentences", "source_words", "source_tokens", "target_tokens")}
    for name in measured:
        result |= spread(name, [row[name] for row in rows])
    result["warmup_seconds"] = statistics.median(run["warmup_seconds"] for run in runs)
    result["peak_rss_bytes"] = max(run["peak_rss_bytes"] for run in runs)
    result["load_average"] = max(run["load_average"] for run in runs)
    result["output_identical"] = len({row["output_sha256"] for row in rows}) == 1
    return result


def signature(record: dict[str, Any]) -> str:
    """Everything that must be equal for two speeds to be comparable, like sacreBLEU's of a score."""
    forced = f"|forced:{record['forced_isa'].lower()}" if record["forced_isa"] else ""
    return (
        f"engine:{record['engine']}|v:{record['engine_version']}|type:{record['compute_type']}"
        f"|beam:{record['beam_size']}|batch:{record['batch_tokens']}t|map:{'yes' if record['vocabulary_map'] else 'no'}"
        f"|workers:{record['workers']}|cores:{len(record['cores'])}|isa:{record['isa']}{forced}|runs:{record['runs']}"
    )


def records(
    configuration: Configuration, runs: list[dict[str, Any]], facts: dict[str, Any], args: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """The records of one configuration, one for each test set."""
    description = engines.describe(configuration.model)
    for test_set, _ in args.test_sets:
        timed = [run for run in runs if test_set in run["test_sets"]]
        numbers = figures(timed, test_set)
        speed = numbers["source_words_per_second"]
        record = {
            **{name: description.get(name) for name in COPIED},
            "study": args.study or description.get("study"),
            "engine_version": runs[0]["engine_version"],
            "compute_type": description["quantization"],
            "effective_compute_type": runs[0]["effective_compute_type"],
            "beam_size": configuration.beam_size,
            "batch_tokens": args.batch_tokens,
            "vocabulary_map": configuration.vocabulary_map,
            "workers": args.workers,
            "cores": args.cores,
            "test_set": test_set,
            "runs": len(timed),
            **numbers,
            "model_bytes": sum(path.stat().st_size for path in configuration.model_files()),
            "usd_per_hour": args.usd_per_hour,
            "usd_per_million_words": usd_per_million_words(speed, args.usd_per_hour),
            "source_words_per_usd": words_per_usd(speed, args.usd_per_hour),
            **facts,
            "speed_only": False,
            "output": f"{args.translations.name}/{configuration.name}.{test_set}.txt",
        }
        if not record["output_identical"]:
            print(f"warning: {configuration.name}: {test_set} differs from run to run", file=sys.stderr)
        yield record | {"signature": signature(record)}


def commit() -> str | None:
    """The commit of the working tree, if this is one."""
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
