"""Timings of calls in this process, which is pinned to its cores.

Each call is made once to warm up; then the calls take turns (measure.timing_loop). Times are medians with minimum and
maximum, and the ratio of two ways is the median of the ratios run by run.
"""

import argparse
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from formats import experiments, records
from formats.experiments import Circumstances
from formats.records import sources
from formats.spread import Spread
from measure import protocol, timing_loop
from measure.timing_loop import Name, Repeats, Usage, watch
from nmt_frontier import machine
from nmt_frontier.command_line import pick, positive, there
from nmt_frontier.errors import UserError
from nmt_frontier.search.batching import batches
from nmt_frontier.search.engine import Batch
from nmt_frontier.translator import LineTokenizer


@dataclass(frozen=True)
class Session(Repeats):
    """test_set: records whose sources are decoded. sentences: the first ones, all if None. core: the only one used."""

    test_set: Path
    sentences: int | None
    core: int


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``Session``, and --output."""
    parser.add_argument("--test-set", type=there, required=True, help="records whose sources are decoded")
    parser.add_argument("--sentences", type=positive, help="only the first ones")
    parser.add_argument("--core", type=int, default=0, help="the only one to use")
    timing_loop.options(parser)


def prepared(args: argparse.Namespace) -> tuple[Session, Circumstances]:
    """Pin this process to --core; return the session of ``options`` and its ``shared_fields``."""
    session = pick(Session, args)
    machine.pin([session.core])
    return session, shared_fields(session)


def shared_fields(session: Session) -> Circumstances:
    """The fields that all rows of one output have in common."""
    return {
        "runs": session.runs,
        "noise": session.noise,
        "test_set": records.name(session.test_set),
        "commit": protocol.commit(),
        "load_average": machine.load_average(),
        **experiments.here(),
    }


def pieces(model: Path, session: Session) -> Batch:
    """The sources in pieces, without empty ones. Raises UserError where none is left."""
    tokenizer = LineTokenizer(model)
    encoded = [tokenizer.encode(line) for line in sources(session.test_set)[: session.sentences]]
    if not (sentences := [sentence for sentence in encoded if sentence]):
        raise UserError(f"{session.test_set}: no sentence with a piece in it")
    return sentences


def in_batches(sentences: Batch, batch_tokens: int) -> list[Batch]:
    """The sentences, sorted by length and cut into batches as in the pipeline."""
    return [[sentences[place] for place in places] for places in batches(sentences, batch_tokens)]


def timed(
    calls: Mapping[Name, Callable[[], Any]], repeats: Repeats, cores: Sequence[int], what: str
) -> dict[Name, list[Usage]]:
    """The usage of each call, run by run. The process must be pinned to ``cores``; ``what`` is shown as progress."""
    for call in calls.values():
        call()
    ways = {name: functools.partial(watched, call, cores) for name, call in calls.items()}
    return timing_loop.timed(ways, repeats, what)


def watched(call: Callable[[], Any], cores: Sequence[int], _number: int) -> Usage:
    """Make the call as a run of ``timing_loop``."""
    with watch(cores) as usage:
        call()
    return usage


def others(usages: Iterable[Usage]) -> float | None:
    """The largest share of other processes in the cores, None where every run was too short to tell."""
    return max((usage.others for usage in usages if usage.others is not None), default=None)


def seconds(usages: Sequence[Usage], clock: str = "seconds") -> dict[str, float | None]:
    """The times of one way by a clock, ``seconds`` or ``cpu_seconds``, as fields of a record."""
    return Spread.of(getattr(usage, clock) for usage in usages).fields(clock) | {"others": others(usages)}


def ratio(name: str, usages: Sequence[Usage], base: Sequence[Usage], clock: str = "cpu_seconds") -> dict[str, float]:
    """The times of one way over those of another in the same runs, as fields of a record."""
    pairs = zip(usages, base, strict=True)
    return Spread.of(getattr(usage, clock) / getattr(other, clock) for usage, other in pairs).fields(name)
