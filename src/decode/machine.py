"""The machine a measurement was made on."""

import os
import platform
from pathlib import Path
from typing import Any

from formats import cpu

# The widest instructions for matrix products first; all flags of a row are needed.
INSTRUCTION_SETS = {
    "avx512-vnni": {"avx512f", "avx512bw", "avx512_vnni"},
    "avx512": {"avx512f", "avx512bw"},
    "avx2-vnni": {"avx2", "avx_vnni"},
    "avx2": {"avx2"},
}


def describe() -> dict[str, Any]:
    """cpu: model name; isa: best of INSTRUCTION_SETS, of the CPU; forced_isa: what CTranslate2 is told to use instead
    of its own choice."""
    flags = cpu.flags()
    isa = next((name for name, needed in INSTRUCTION_SETS.items() if needed <= flags), platform.machine())
    return {
        "cpu": cpu.facts().get("model name", platform.processor() or platform.machine()),
        "isa": isa,
        "forced_isa": os.environ.get(cpu.ISA),
    }


def cores() -> tuple[int, ...]:
    """The numbers of the cores that this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))


def packs() -> bool:
    """Whether packed matrices are a choice: CTranslate2 packs for oneMKL, which it takes on Intel's CPUs alone."""
    return cpu.intel()


def load_average() -> float:
    """Processes that want a core, over the last minute: shows a busy machine."""
    return round(os.getloadavg()[0], 2)


def governor(core: int) -> str | None:
    """What chooses the core's frequency; None where the system does not say, as in most virtual machines."""
    path = Path(f"/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor")
    return path.read_text().strip() if path.exists() else None
