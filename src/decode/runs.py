"""Measurements under the same conditions: what is run, when it is run again, and the records made of the runs.

Each measurement is a process of its own (decode.measure). Runs are interleaved, A B C A B C, so that a slow minute of
the machine falls on all configurations alike. The first test set is timed in every run, the others in the first run
only, and not by the baseline engine: it is slow, and its scores are those of the same weights in the other engine.
A finished run is kept, and used again as long as the command, the files it reads, the code and its libraries are the
same. A run is made again while others use more than the share ``--noise`` of its cores; what stays disturbed is marked
as no result, and made again the next time.
"""

import argparse
import functools
import hashlib
import itertools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from decode import engines, machine, measure, pipeline, summary, tokenizer, translate, tune, watch
from decode.measure import named_path
from decode.measurements import UNTRAINED
from decode.summary import Run
from decode.translate import positive
from formats import cpu, decoding, loading, marian, prices, records, vocabulary_map
from formats.errors import UserError
from formats.files import read_json, sha256, write_json
from formats.progress import progress

RETRIES = 3  # of a disturbed run
CANDIDATES = ("vmap.txt", marian.SHORTLIST)  # a vocabulary map, in the files of the engines that have one
SWITCHES = ("threads", "sorting", "overlap", "packed", "isa", "sentences", "batch_sentences")
CODE = [  # what a run executes
    *(
        Path(module.__file__)
        for module in (
            *(measure, pipeline, tokenizer, translate, watch),
            *(cpu, decoding, loading, marian, records, vocabulary_map),
        )
    ),
    *sorted(Path(engines.__file__).parent.glob("*.py")),
]

LIBRARIES = ("ctranslate2", "opennmt", "tensorflow", "sentencepiece")  # as they are imported


@dataclass(frozen=True)
class Configuration:
    """One row of a table of results: a model folder and how it is decoded.

    baseline: of the toolkit it was trained with. threads: of each worker. isa: what CTranslate2 is told to use, the
    best that is known if None (tune.isa). packed: weights laid out beforehand for the matrix products. sentences: the
    first of a test set, all if None. batch_sentences: batches are cut in sentences, not in tokens. label: tells it from
    configurations that differ in what the rest of the name does not say, such as the system. runs: how often it is
    timed, as often as others if None. test_sets: names of those that it decodes, all if None; the first one is timed.
    """

    model: Path
    beam_size: int = 1
    vocabulary_map: bool = False
    baseline: bool = False
    batch_tokens: int = 512
    workers: int = 1
    threads: int = 1
    cores: tuple[int, ...] = (0,)
    sorting: bool = True
    overlap: bool = True
    packed: bool = True
    isa: str | None = None
    sentences: int | None = None
    batch_sentences: int | None = None
    label: str = ""
    runs: int | None = None
    test_sets: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """Tells it from the other configurations of one study."""
        name = ".".join(filter(None, (self.label, self.model.name, f"beam{self.beam_size}")))
        for switch in ("vocabulary_map", *SWITCHES):
            value = getattr(self, switch)
            if value != getattr(Configuration, switch):
                name += ".map" if switch == "vocabulary_map" else f".{switch}-{value}"
        return name

    @property
    def environment(self) -> dict[str, str]:
        packing = {} if self.packed else {"CT2_PACKED_GEMM": "0"}
        isa = self.isa or tune.isa(self.model, self.beam_size)
        return packing | ({cpu.ISA: isa} if isa else {})

    @property
    def settings(self) -> dict[str, Any]:
        """What the record says of it. The baseline takes as many threads as it has cores, whatever it is told."""
        names = ("beam_size", "vocabulary_map", "batch_tokens", "workers", *SWITCHES)
        threads = {"threads": len(self.cores)} if self.baseline else {}
        return {name: getattr(self, name) for name in names} | threads | {"cores": list(self.cores)}

    def model_files(self) -> list[Path]:
        """The files that decoding needs."""
        unused = {"README.md", tune.NAME, *([] if self.vocabulary_map else CANDIDATES)}
        return sorted(path for path in self.model.rglob("*") if path.is_file() and path.name not in unused)

    def command(self, test_sets: list[tuple[str, Path]]) -> list[str]:
        options = ["--model", self.model, "--beam-size", self.beam_size, "--workers", self.workers]
        options += ["--batch-tokens", self.batch_tokens, "--cores", *self.cores]
        options += [] if self.vocabulary_map else ["--no-vocabulary-map"]
        options += [] if self.overlap else ["--no-overlap"]
        options += [] if self.sorting else ["--no-sorting"]
        options += ["--threads", self.threads] if self.threads > 1 else []
        options += ["--sentences", self.sentences] if self.sentences else []
        options += ["--batch-sentences", self.batch_sentences] if self.batch_sentences else []
        options += ["--test-sets", *(f"{name}={path}" for name, path in test_sets)]
        return ["-m", "decode.measure", *map(str, options)]


class Runs:
    """Makes runs, on the same test sets, and keeps them in ``<translations>/runs``."""

    def __init__(self, test_sets: list[tuple[str, Path]], translations: Path, noise: float):
        self._test_sets, self._translations, self._noise = test_sets, translations, noise

    def translation(self, configuration: Configuration, test_set: str) -> Path:
        return self._translations / f"{configuration.name}.{test_set}.txt"

    def decoded(self, configuration: Configuration, number: int) -> list[tuple[str, Path]]:
        """The test sets of a run: in the first one all that the configuration has, later the one that is timed."""
        wanted = configuration.test_sets
        test_sets = [(name, path) for name, path in self._test_sets if wanted is None or name in wanted]
        return test_sets if number == 1 and not configuration.baseline else test_sets[:1]

    def run(self, configuration: Configuration, number: int) -> Run:
        """Make one run in a process of its own, or find it made."""
        test_sets = self.decoded(configuration, number)
        call = configuration.command(test_sets)
        files = [*configuration.model_files(), *(path for _, path in test_sets)]
        path = self._translations / "runs" / f"{configuration.name}.{number}.json"
        made = key([*call, *map(str, configuration.environment.items())], files)
        kept = read_json(path) if path.exists() else {}
        valid = kept.get("key") == made and others(kept) <= self._noise
        if valid and (number > 1 or self._has_translations(configuration, kept)):
            return kept
        if number == 1:
            call = [*call, "--translations", str(self._translations / configuration.name)]
        results: list[Run] = []
        while not results or (others(results[-1]) > self._noise and len(results) <= RETRIES):
            before = {"key": made, "load_average": machine.load_average(), "measured_at": now()}
            done = subprocess.run(
                [sys.executable, *call, "--output", str(path)],
                stdin=subprocess.DEVNULL,
                env={**os.environ, **configuration.environment},
                check=False,
            )
            if done.returncode:
                raise UserError(f"measuring {configuration.model} failed with status {done.returncode}; see above")
            results.append(before | read_json(path))
        quietest = min(results, key=others)
        write_json(path, quietest)
        return quietest

    def _has_translations(self, configuration: Configuration, run: Run) -> bool:
        """Whether the translations are still those that this run wrote."""
        paths = ((self.translation(configuration, name), row) for name, row in run["test_sets"].items())
        return all(path.exists() and sha256(path) == row["output_sha256"] for path, row in paths)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def others(run: Run) -> float:
    """The share of others in the cores while the first test set was decoded, the one whose times count.

    Nothing, as far as a run can be too short to tell.
    """
    return next(iter(run["test_sets"].values()))["others"] or 0.0


def key(call: list[str], files: list[Path]) -> str:
    """Changes when the command, a file it reads, the code, a library, how it multiplies, or the machine changes."""
    state = [(str(path), (stat := path.stat()).st_size, stat.st_mtime_ns) for path in files]
    here = {**machine.describe(), "forced_isa": None}  # it is in ``call``, with what else the process is told
    facts = [call, state, [sha256(path) for path in CODE], versions(), here, cpu.settings()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


@functools.cache
def versions() -> list[str]:
    """Those of LIBRARIES. TensorFlow comes in packages of several names."""
    packages = metadata.packages_distributions()
    return [metadata.version(packages[name][0]) for name in LIBRARIES]


def text(model: Path, args: argparse.Namespace) -> dict[str, int | None]:
    """What a configuration of this model translates of the test set: a trained one all, as it has BLEU."""
    return {"sentences": args.sentences} if engines.describe(model).get("role") == UNTRAINED else {}


def commit() -> str | None:
    """The commit of the working tree that this code is run from, if it is one."""
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def options(parser: argparse.ArgumentParser) -> None:
    """Those that every benchmark has."""
    parser.add_argument("--test-sets", type=named_path, nargs="+", required=True, help="name=path; the first is timed")
    parser.add_argument("--runs", type=positive, default=3)
    parser.add_argument("--noise", type=float, default=0.1, help="share of the cores that others may use meanwhile")
    parser.add_argument(
        "--price", type=prices.argument, help="of this machine: its name in prices.yaml, or JSON like there"
    )
    parser.add_argument("--study", help="default: the one in model.json")
    parser.add_argument("--translations", type=Path, required=True, help="folder for the translations and single runs")
    parser.add_argument("--output", type=Path, required=True, help="JSON list of measurement records to write")


def speed_options(parser: argparse.ArgumentParser) -> None:
    """Those of the benchmarks that time untrained models, too."""
    options(parser)
    parser.add_argument("--sentences", type=positive, help="that an untrained model translates (default: all)")


def check(todo: list[Configuration]) -> None:
    """Raises UserError for configurations that cannot be measured, before the first one is."""
    if len({configuration.name for configuration in todo}) < len(todo):
        raise UserError("two configurations of one name; the name of a model folder stands for its format")
    for model in (configuration.model for configuration in todo if configuration.vocabulary_map):
        if not any((model / name).exists() for name in CANDIDATES):
            raise UserError(f"{model}: is to be decoded with a vocabulary map, and has none")


def times(configuration: Configuration, runs: int) -> int:
    """Once is enough for a type that this CPU does not multiply natively: for its scores, not for its speed."""
    description = engines.describe(configuration.model)
    foreign = description["engine"] == "ctranslate2" and not decoding.native(description["quantization"])
    return 1 if foreign else configuration.runs or runs


def measured(todo: list[Configuration], args: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure every configuration in turn, as often as ``times`` says; a record for each, and for each test set."""
    check(todo)
    runs = Runs(args.test_sets, args.translations, args.noise)
    made: dict[Configuration, list[Run]] = {configuration: [] for configuration in todo}
    wanted = {configuration: times(configuration, args.runs) for configuration in todo}
    jobs = [(number, one) for number, one in itertools.product(range(1, args.runs + 1), todo) if number <= wanted[one]]
    for number, configuration in progress(jobs, "measuring", total=len(jobs), unit="run"):
        made[configuration].append(runs.run(configuration, number))
    conditions = {"price": args.price, "noise": args.noise}
    conditions |= {"length_penalty": engines.Search.length_penalty, "commit": commit()} | machine.describe()
    conditions |= {"study": args.study} if args.study else {}
    records = []
    for configuration, test_set in ((c, name) for c in todo for name in made[c][0]["test_sets"]):
        settings = configuration.settings | {
            "governor": machine.governor(configuration.cores[0]),
            "model_bytes": sum(path.stat().st_size for path in configuration.model_files()),
            "output": os.path.relpath(runs.translation(configuration, test_set), args.output.parent),
        }
        description = engines.describe(configuration.model)
        records.append(summary.record(description, settings, conditions, made[configuration], test_set))
        warn(configuration.name, records[-1])
    return records


def warn(name: str, record: dict[str, Any]) -> None:
    """Say on standard error what is wrong with a measurement."""
    where = f"warning: {name}: {record['test_set']}"
    if record["noisy"]:
        print(f"{where}: others used {record['others']:.0%} of the cores", file=sys.stderr)
    if not record["output_identical"]:
        print(f"{where} differs from run to run", file=sys.stderr)
