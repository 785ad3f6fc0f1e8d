"""The timing loop: several ways to do the same work, in turn, and the time, energy and memory that each used.

The order is A B C A B C, so that a slow minute of the machine affects all ways alike. A run is repeated, at most
RETRIES times, while other processes use too much of its cores; the quietest try counts. A run is a call in this process
(measure.in_process), a process of its own (measure.protocol), or a kept result.
"""

import argparse
import os
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from nmt_frontier.command_line import positive

STAT = Path("/proc/stat")
POWERCAP = Path("/sys/class/powercap")
TICKS = os.sysconf("SC_CLK_TCK")  # of the kernel's counters in a second
SHORTEST = 20 / TICKS  # seconds; the counters are too coarse for shorter work
# Fields of a cpu line of /proc/stat that are not idle time: user, nice, system, irq, softirq, steal.
WORKED = (0, 1, 2, 5, 6, 7)

RETRIES = 3

Name = TypeVar("Name", bound=Hashable)
Result = TypeVar("Result")


@dataclass
class Usage:
    """What a piece of work used.

    seconds: wall time. cpu_seconds: of all threads of this process and its living children. joules: of the CPU
    packages, None without RAPL. others: share of the cores' time that other processes and virtual machines used; None
    if unknown or the work was shorter than SHORTEST.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    joules: float | None = None
    others: float | None = None


@contextmanager
def watch(cores: Sequence[int]) -> Iterator[Usage]:
    """Measure the work in the block. The process must be pinned to ``cores``; the usage is complete after the block."""
    usage = Usage()
    busy, energy = busy_seconds(cores), joules()
    cpu, start = cpu_seconds(), time.perf_counter()
    try:
        yield usage
    finally:
        usage.seconds = time.perf_counter() - start
        usage.cpu_seconds = cpu_seconds() - cpu
        usage.joules = spent(energy, joules())
        now = busy_seconds(cores)
        if busy is not None and now is not None and usage.seconds >= SHORTEST:
            usage.others = max(now - busy - usage.cpu_seconds, 0.0) / (usage.seconds * len(cores))


def busy_seconds(cores: Sequence[int]) -> float | None:
    """Seconds since boot in which these cores were not idle, summed; None without /proc/stat."""
    try:
        lines = dict(line.split(" ", 1) for line in STAT.read_text().splitlines() if line.startswith("cpu"))
        fields = [[int(field) for field in lines[f"cpu{core}"].split()] for core in cores]
        return sum(row[field] for row in fields for field in WORKED) / TICKS
    except (OSError, KeyError, IndexError, ValueError):
        return None


def living(name: str, process: int | str = "self") -> Iterator[str]:
    """The text of a file in /proc, for a process and all its living descendants."""
    folder = Path("/proc") / str(process)
    try:
        yield (folder / name).read_text()
        children = [child for task in (folder / "task").iterdir() for child in (task / "children").read_text().split()]
    except OSError:  # the process has just ended
        return
    for child in children:
        yield from living(name, child)


def cpu_seconds() -> float:
    """Used so far by this process and its living descendants; for descendants in whole ticks."""
    _, *children = (stat.rpartition(")")[2].split() for stat in living("stat"))
    return time.process_time() + sum(int(stat[11]) + int(stat[12]) for stat in children) / TICKS  # user and system


def joules() -> dict[Path, int]:
    """Microjoules of each CPU package so far (RAPL); empty without RAPL or the permission to read it."""
    microjoules = {}
    for counter in POWERCAP.glob("*-rapl:?"):
        try:
            microjoules[counter] = int((counter / "energy_uj").read_text())
        except (OSError, ValueError):
            continue
    return microjoules


def spent(before: dict[Path, int], after: dict[Path, int]) -> float | None:
    """Joules between two readings; counters wrap around at their largest value."""
    if not before or before.keys() != after.keys():
        return None
    total = 0
    for counter, first in before.items():
        wrapped = int((counter / "max_energy_range_uj").read_text()) if after[counter] < first else 0
        total += after[counter] - first + wrapped
    return total / 1e6


def forget_peak() -> None:
    """Reset the peak resident set of this process (proc(5)): loading needs more memory than it keeps."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_rss_bytes() -> int:
    """The summed peak resident sets of this process and its descendants; ``ru_maxrss`` is inherited from the parent."""
    marks = [line for status in living("status") for line in status.splitlines() if line.startswith("VmHWM")]
    return sum(int(mark.split()[1]) * 1024 for mark in marks)


@dataclass(frozen=True)
class Repeats:
    """runs: of each way. noise: share of the cores' time that other processes may use during a run."""

    runs: int
    noise: float


def options(parser: argparse.ArgumentParser, runs: int = 3) -> None:
    """Add the options of all commands that time: those of ``Repeats``, and --output."""
    parser.add_argument("--runs", type=positive, default=runs, help="of each way (default: %(default)s)")
    parser.add_argument("--noise", type=float, default=0.1, help="share of the cores that others may use meanwhile")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")


def in_turn(
    ways: Mapping[Name, Callable[[int], Result]],
    runs: Mapping[Name, int],
    noise: float,
    what: str,
    others: Callable[[Result], float | None] = attrgetter("others"),
    first: int = 1,
) -> Iterator[tuple[Name, int, Result]]:
    """Yield the name of the way, the number of the run and the result of its quietest try, run by run.

    ways: called with the number of the run. runs: of each way, those before the ``first`` included. others: the share
    of other processes in the cores during a try; a try counts as quiet where it is None. what: shown as progress.
    """

    def disturbance(result: Result) -> float:
        return others(result) or 0.0

    rounds = range(first, max(runs.values(), default=0) + 1)
    jobs = [(name, number) for number in rounds for name in ways if number <= runs[name]]
    from nmt_frontier.progress import progress  # inside: the memory of measure.run, which needs none, is measured

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
    """The results of each way in the order of the runs; parameters as for ``in_turn``."""
    results: dict[Name, list[Result]] = {name: [] for name in ways}
    for name, _, result in in_turn(ways, dict.fromkeys(ways, repeats.runs), repeats.noise, what, others):
        results[name].append(result)
    return results
