"""What a piece of work took, and what else ran meanwhile: time, CPU time, energy, the share of others in the cores."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

STAT = Path("/proc/stat")
POWERCAP = Path("/sys/class/powercap")
TICKS = os.sysconf("SC_CLK_TCK")  # a second, of the counters
SHORTEST = 20 / TICKS  # seconds; of shorter work the counters, which count ticks, say too little
# Fields of a cpu line of /proc/stat that somebody worked in: user, nice, system, irq, softirq, and steal, which is what
# the machine under a virtual one gave to others.
WORKED = (0, 1, 2, 5, 6, 7)


@dataclass
class Usage:
    """seconds: wall time; cpu_seconds: of this process and its children that live, all threads; joules: of the
    packages, None without RAPL.

    others: the share of the cores' time that went to other processes and other machines; None where it is unknown, as
    of work shorter than SHORTEST.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    joules: float | None = None
    others: float | None = None


@contextmanager
def watch(cores: list[int]) -> Iterator[Usage]:
    """Watch the work of this process, which is pinned to ``cores``; the usage is complete when the block ends."""
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


def busy_seconds(cores: list[int]) -> float | None:
    """Seconds in which anybody worked on these cores, since the machine was started."""
    try:
        lines = dict(line.split(" ", 1) for line in STAT.read_text().splitlines() if line.startswith("cpu"))
        fields = [[int(field) for field in lines[f"cpu{core}"].split()] for core in cores]
        return sum(row[place] for row in fields for place in WORKED) / TICKS
    except (OSError, KeyError, IndexError, ValueError):
        return None


def living(name: str, process: int | str = "self") -> Iterator[str]:
    """The text of this file of /proc, of a process and of all that it started and that live."""
    folder = Path("/proc") / str(process)
    try:
        yield (folder / name).read_text()
        children = [child for task in (folder / "task").iterdir() for child in (task / "children").read_text().split()]
    except OSError:  # it has just ended
        return
    for child in children:
        yield from living(name, child)


def cpu_seconds() -> float:
    """Used so far by this process and its children that live; theirs are counted in ticks."""
    _, *children = (stat.rpartition(")")[2].split() for stat in living("stat"))
    return time.process_time() + sum(int(stat[11]) + int(stat[12]) for stat in children) / TICKS  # user and system


def joules() -> dict[Path, int]:
    """Microjoules of each package so far (RAPL); none where it is missing or only the superuser may read it."""
    found = {}
    for counter in POWERCAP.glob("*-rapl:?"):
        try:
            found[counter] = int((counter / "energy_uj").read_text())
        except (OSError, ValueError):
            continue
    return found


def spent(before: dict[Path, int], after: dict[Path, int]) -> float | None:
    """Joules between two readings; a counter begins again at its largest value."""
    if not before or before.keys() != after.keys():
        return None
    total = 0
    for counter, first in before.items():
        wrapped = int((counter / "max_energy_range_uj").read_text()) if after[counter] < first else 0
        total += after[counter] - first + wrapped
    return total / 1e6


def forget_peak() -> None:
    """Begin to note the largest resident set of this process anew (proc(5)): loading takes more than it keeps."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_rss_bytes() -> int:
    """Largest resident sets so far, of this process and of its children that live: their sum.

    Not ``ru_maxrss``: Linux lets a new process inherit that from the one which started it.
    """
    marks = [line for status in living("status") for line in status.splitlines() if line.startswith("VmHWM")]
    return sum(int(mark.split()[1]) * 1024 for mark in marks)
