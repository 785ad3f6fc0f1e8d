"""The timing loop: several ways to do the same work, in turn, run after run.

A B C A B C, so that a slow minute of the machine falls on all ways alike. A run is repeated, at most RETRIES times,
while other processes use too much of its cores; the quietest try counts. The caller decides what a run is: a call in
this process (measure.in_process), a process of its own (measure.protocol), a result kept from an earlier start.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

from common.progress import progress

RETRIES = 3

Name = TypeVar("Name", bound=Hashable)
Result = TypeVar("Result")


@dataclass(frozen=True)
class Repeats:
    """runs: how often each way is timed. noise: share of the cores' time that other processes may use during a run."""

    runs: int
    noise: float


def in_turn(
    ways: Mapping[Name, Callable[[int], Result]],
    runs: Mapping[Name, int],
    noise: float,
    what: str,
    others: Callable[[Result], float | None] = attrgetter("others"),
) -> Iterator[tuple[Name, int, Result]]:
    """Yield the name of the way, the number of the run (from 1) and the result of its quietest try, run by run.

    ways: each is called with the number of the run. runs: how often each way is timed. others: the share of other
    processes in the cores during a try; where it is None, unknown, the try counts as quiet. what: shown as progress.
    """

    def disturbance(result: Result) -> float:
        return others(result) or 0.0

    rounds = range(1, max(runs.values(), default=0) + 1)
    jobs = [(name, number) for number in rounds for name in ways if number <= runs[name]]
    for name, number in progress(jobs, what, total=len(jobs), unit="run"):
        tries = [ways[name](number)]
        while disturbance(tries[-1]) > noise and len(tries) <= RETRIES:
            tries.append(ways[name](number))
        yield name, number, min(tries, key=disturbance)


def timed(
    ways: Mapping[Name, Callable[[int], Result]],
    repeats: Repeats,
    what: str,
    others: Callable[[Result], float | None] = attrgetter("others"),
) -> dict[Name, list[Result]]:
    """The results of each way in the order of the runs; parameters as of ``in_turn``."""
    results: dict[Name, list[Result]] = {name: [] for name in ways}
    for name, _, result in in_turn(ways, dict.fromkeys(ways, repeats.runs), repeats.noise, what, others):
        results[name].append(result)
    return results
