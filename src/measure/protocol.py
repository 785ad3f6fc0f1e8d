"""Measure configurations under the same conditions: make their runs and the records of the runs.

The configurations take turns (measure.timing_loop); each run is a process of its own (measure.kept_runs). The first
test set is timed in every run. The others are decoded in the first run only, and not by the slow baseline engine, which
has the same scores as another engine with the same weights.
"""

import argparse
import functools
import subprocess
import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from findings import cost
from findings.comparison import of_test_set
from formats.measurement import UNTRAINED, Conditions, Measurement, RecordPlace, System
from formats.schema_from_dataclass import columns
from measure import kept_runs, timing_loop
from measure.configuration import Benchmark, Configuration, ModelFolder
from measure.kept_runs import KeptRun, Runs, others
from nmt_frontier import machine
from nmt_frontier.command_line import named_path, pick, positive
from nmt_frontier.errors import UserError
from nmt_frontier.files import write_json
from nmt_frontier.search.engine import Search


class Cut(TypedDict, total=False):
    """The field of a configuration that cuts the test set."""

    sentences: int | None


def text(model: ModelFolder, sentences: int | None) -> Cut:
    """How much of the test set is translated: all by a trained model, which has BLEU, else ``sentences``."""
    return {"sentences": sentences} if model.description.role == UNTRAINED else {}


def commit() -> str | None:
    """The commit of the working tree of this code, with ``-dirty`` if it has changes; None outside of one."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``Benchmark``."""
    parser.add_argument("--test-sets", type=named_path, nargs="+", required=True, help="name=path; the first is timed")
    parser.add_argument("--price", type=cost.price_argument, help="of this machine: a name in prices.yaml, or JSON")
    parser.add_argument("--study", help="default: the one in model.json")
    parser.add_argument("--translations", type=Path, required=True, help="folder for the translations and single runs")
    timing_loop.options(parser)


def speed_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of benchmarks that also time untrained models."""
    options(parser)
    parser.add_argument("--sentences", type=positive, help="that an untrained model translates (default: all)")


def check(todo: list[Configuration]) -> None:
    """Raises UserError for a configuration that cannot be measured."""
    if len({configuration.name for configuration in todo}) < len(todo):
        raise UserError("two configurations of one name; the name of a model folder stands for its format")
    for model in (configuration.model for configuration in todo if configuration.vocabulary_map):
        if not (name := model.engine.map_file) or not (model.path / name).exists():
            raise UserError(f"{model.path}: is to be decoded with a vocabulary map, and has none")
    needed = [column.name for column in columns(System).values() if column.required]
    for model in (configuration.model for configuration in todo):
        if missing := [name for name in needed if getattr(model.description, name) is None]:
            raise UserError(f"{model.path}: its model.json has no {', '.join(missing)}; every measurement names them")


def times(configuration: Configuration, runs: int) -> int:
    """The number of runs: one, for the scores, where the engine is slow in this type on this CPU."""
    model = configuration.model
    fast = model.engine.fast(model.description.quantization)
    return configuration.runs or runs if fast else 1


Chosen = Callable[[dict[Configuration, KeptRun]], Collection[Configuration]]


def measured(todo: list[Configuration], shared: Benchmark, repeated: Chosen = dict.keys) -> list[Measurement]:
    """Run all configurations in turn; a record for each of them and each test set.

    repeated: those that are timed more than once, by the first run of each.
    """
    check(todo)
    runs = Runs(shared)
    ways = {configuration: functools.partial(runs.run, configuration) for configuration in todo}
    results: dict[Configuration, list[KeptRun]] = {configuration: [] for configuration in todo}

    def run(counts: dict[Configuration, int], what: str, first: int) -> None:
        turns = timing_loop.in_turn(ways, counts, shared.noise, what, others, first)
        for configuration, number, kept in turns:
            write_json(runs.path(configuration, number), kept)
            results[configuration].append(kept)

    run(dict.fromkeys(todo, 1), "measuring", 1)
    again = repeated({configuration: kept for configuration, (kept,) in results.items()})
    ways = {configuration: way for configuration, way in ways.items() if configuration in again}
    run({configuration: times(configuration, shared.runs) for configuration in ways}, "measuring again", 2)
    conditions = Conditions(
        noise=shared.noise,
        length_penalty=Search.length_penalty,
        commit=commit(),
        cpu=machine.describe()["cpu"],
    )
    records = []
    for configuration, test_set in ((c, name) for c in todo for name in results[c][0].test_sets):
        records.append(kept_runs.record(configuration, results[configuration], test_set, shared, conditions))
        warn(configuration.name, records[-1])
    return records


def timed(todo: list[Configuration], args: argparse.Namespace) -> list[Measurement]:
    """Run all configurations in turn; their records of the timed test set. args: of ``options``."""
    return of_test_set(measured(todo, pick(Benchmark, args)), args.test_sets[0][0])


def placed(by_place: dict[RecordPlace, Configuration], args: argparse.Namespace) -> list[Measurement]:
    """As ``timed``, for the configurations of the rows of a table."""
    records = timed([*by_place.values()], args)
    return [replace(record, place=place) for place, record in zip(by_place, records, strict=True)]


def warn(name: str, record: Measurement) -> None:
    """Report a disturbed or unstable measurement on standard error."""
    where = f"warning: {name}: {record.test_set}"
    if record.noisy:
        print(f"{where}: others used {record.timing.others:.0%} of the cores", file=sys.stderr)
    if not record.timing.output_identical:
        print(f"{where} differs from run to run", file=sys.stderr)
