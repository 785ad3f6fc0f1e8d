"""Ways to do the same, timed in one process: in turn, run after run, on pinned cores.

A B C A B C, so that a slow minute of the machine falls on all ways alike; each is done once before the clock runs.
Times are medians with the extremes beside them, ratios the medians of those run by run.
"""

import argparse
import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from decode import engines, machine, runs
from decode.measure import sources
from decode.tokenizer import Tokenizer
from decode.translate import positive
from decode.watch import Usage, watch
from formats import records
from formats.errors import UserError
from formats.progress import progress

Way = TypeVar("Way", bound=Hashable)


def timed(
    ways: Mapping[Way, Callable[[], Any]], args: argparse.Namespace, cores: list[int], what: str
) -> dict[Way, list[Usage]]:
    """What each way took in ``args.runs`` runs, each made again while others use more than ``args.noise`` of the cores.

    The process must be pinned to ``cores``; ``what`` is told on a terminal.
    """
    for way in ways.values():
        way()
    found: dict[Way, list[Usage]] = {name: [] for name in ways}
    jobs = [name for _ in range(args.runs) for name in ways]
    for name in progress(jobs, what, total=len(jobs), unit="run"):
        tries: list[Usage] = []
        while not tries or (share(tries[-1]) > args.noise and len(tries) <= runs.RETRIES):
            with watch(cores) as usage:
                ways[name]()
            tries.append(usage)
        found[name].append(min(tries, key=share))
    return found


def share(usage: Usage) -> float:
    """Of others in the cores, as far as it is known."""
    return usage.others or 0.0


def others(usages: Iterable[Usage]) -> float | None:
    """The largest share of others in the cores, None where every run was too short to tell."""
    return max((usage.others for usage in usages if usage.others is not None), default=None)


def spread(name: str, values: list[float]) -> dict[str, float]:
    """The median, the smallest and the largest, as fields of a record."""
    return {name: statistics.median(values), f"{name}_min": min(values), f"{name}_max": max(values)}


def seconds(usages: list[Usage]) -> dict[str, Any]:
    """Of one way."""
    return spread("seconds", [usage.seconds for usage in usages]) | {"others": others(usages)}


def cpu_seconds(usages: list[Usage]) -> dict[str, Any]:
    """Of one way, as ``seconds``."""
    return spread("cpu_seconds", [usage.cpu_seconds for usage in usages]) | {"others": others(usages)}


def ratio(name: str, usages: list[Usage], base: list[Usage], clock: str = "cpu_seconds") -> dict[str, float]:
    """Seconds, CPU seconds unless told, as a multiple of those of another way, pair by pair."""
    pairs = zip(usages, base, strict=True)
    return spread(name, [getattr(one, clock) / getattr(other, clock) for one, other in pairs])


def options(parser: argparse.ArgumentParser) -> None:
    """Those that every such measurement has."""
    parser.add_argument("--test-set", type=Path, required=True, help="records whose sources are decoded")
    parser.add_argument("--sentences", type=positive, help="only the first ones")
    parser.add_argument("--runs", type=positive, default=3)
    parser.add_argument("--core", type=int, default=0, help="the only one to use")
    parser.add_argument("--noise", type=float, default=0.1, help="share of the cores that others may use meanwhile")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")


def pieces(model: Path, args: argparse.Namespace) -> list[list[str]]:
    """The sources in pieces, without those that have none. Raises UserError where nothing is left."""
    tokenizer = Tokenizer(model)
    encoded = [tokenizer.encode(line) for line in sources(args.test_set)[: args.sentences]]
    if not (found := [sentence for sentence in encoded if sentence]):
        raise UserError(f"{args.test_set}: no sentence with a piece in it")
    return found


def of_ctranslate2(model: Path) -> dict[str, Any]:
    """The description of a model folder. Raises UserError where CTranslate2 does not run it."""
    description = engines.describe(model)
    if description["engine"] != "ctranslate2":
        raise UserError(f"{model}: is for {description['engine']}; this is measured in CTranslate2")
    return description


def conditions(args: argparse.Namespace) -> dict[str, Any]:
    """What all rows of one output share."""
    shared = {name: getattr(args, name) for name in ("runs", "noise")}
    shared |= {"test_set": records.name(args.test_set), "commit": runs.commit()}
    return shared | {"load_average": machine.load_average(), **machine.describe()}
