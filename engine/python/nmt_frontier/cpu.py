"""The CPU of this machine, as Linux describes it."""

import hashlib
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
# What all CPUs of a kind have in common. On virtual machines the name alone may be that of several generations.
KIND = ("vendor_id", "cpu family", "model", "model name", "flags", "CPU implementer", "CPU part", "Features")


def facts() -> dict[str, str]:
    """The entries of /proc/cpuinfo for the first processor; none on other systems."""
    if not CPUINFO.exists():
        return {}
    first = CPUINFO.read_text(encoding="utf-8").split("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def kind() -> str:
    """A short name, for files, of the kind of this CPU; another for each model and each set of instructions."""
    found = facts()
    return hashlib.sha256(repr([found.get(fact) for fact in KIND]).encode()).hexdigest()[:8]


def flags() -> set[str]:
    return set(facts().get("flags", "").split())


def intel() -> bool:
    return facts().get("vendor_id") == "GenuineIntel"


def multiplies_bfloat16() -> bool:
    """Whether this CPU has tiles that multiply bfloat16 (AMX)."""
    return "amx_bf16" in flags()
