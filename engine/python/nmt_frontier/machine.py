"""The machine that a measurement runs on."""

import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from nmt_frontier import cpu
from nmt_frontier.errors import UserError

# The best for matrix products first, each with the flags it needs.
INSTRUCTION_SETS = {
    "amx": {"avx512f", "avx512bw", "avx512_vnni", "amx_tile", "amx_int8"},
    "avx512-vnni": {"avx512f", "avx512bw", "avx512_vnni"},
    "avx512": {"avx512f", "avx512bw"},
    "avx2-vnni": {"avx2", "avx_vnni"},
    "avx2": {"avx2"},
}


class Machine(TypedDict):
    """cpu: model name; isa: the best of INSTRUCTION_SETS."""

    cpu: str
    isa: str


def describe() -> Machine:
    """This machine."""
    flags = cpu.flags()
    isa = next((name for name, needed in INSTRUCTION_SETS.items() if needed <= flags), platform.machine())
    # Only if there is no name, as platform.processor starts a program.
    name = cpu.facts().get("model name") or platform.processor() or platform.machine()
    return {"cpu": name, "isa": isa}


def cores() -> tuple[int, ...]:
    """The numbers of the cores that this process may use, ascending; all of them where none can be taken from it."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def pin(numbers: Sequence[int]) -> None:
    """Keep this process, and all that it starts from now on, on these cores. Raises UserError for an unusable core."""
    if not hasattr(os, "sched_setaffinity"):
        raise UserError("processes can be kept on single cores on Linux only")
    try:
        os.sched_setaffinity(0, numbers)
    except (OSError, ValueError, OverflowError):  # the last two: negative, too large
        usable = ", ".join(map(str, cores()))
        raise UserError(f"cores {', '.join(map(str, numbers))} cannot be used; this process may use {usable}") from None


def load_average() -> float:
    """The mean number of running and waiting processes in the last minute."""
    return round(os.getloadavg()[0], 2)


def others_at_work() -> int:
    """How many other threads run or wait for a core now: the fewest of some looks, as services wake up for moments."""
    looks = []
    for _ in range(5):
        time.sleep(0.1)
        looks.append(int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0]) - 1)
    return min(looks)


def governor(core: int) -> str | None:
    """The frequency governor of a core; None if unknown, as in most virtual machines."""
    path = Path(f"/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor")
    return path.read_text().strip() if path.exists() else None
