"""CPUs that a test may pretend: their /proc/cpuinfo, and the types of CTranslate2 on them.

Libraries and processes that a test starts read the real CPU. ``pytest --cpu amx`` pretends one for a whole run,
including these processes.
"""

import os
from pathlib import Path

import ctranslate2

from formats import ctranslate2_products
from nmt_frontier import cpu

AVX2 = "sse4_1 avx fma avx2"
AVX512_VNNI = f"{AVX2} avx512f avx512cd avx512dq avx512bw avx512vl avx512_vnni"
TYPES = {"float32", "int8", "int8_float32"}
CPUS = {  # vendor, model, flags, types
    "avx2": ("AuthenticAMD", "AMD EPYC 7763", AVX2, TYPES),
    "avx512-vnni": ("AuthenticAMD", "AMD EPYC 9R14", AVX512_VNNI, TYPES),
    "amx": (
        "GenuineIntel",
        "Intel(R) Xeon(R) Platinum 8488C",
        f"{AVX512_VNNI} avx_vnni amx_bf16 amx_tile amx_int8",
        {*TYPES, "int16"},
    ),
}


def pretend(name, folder, monkeypatch):
    """Pretend one of CPUS until ``monkeypatch`` ends, regardless of the environment. folder: for a file."""
    vendor, model, flags, types = CPUS[name]
    path = folder / f"cpuinfo-{name}"
    path.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\nmodel name\t: {model}\nflags\t\t: {flags}\n")
    monkeypatch.setattr(cpu, "CPUINFO", path)
    monkeypatch.setattr(ctranslate2_products.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", lambda *_: types)
    for variable in (*ctranslate2_products.settings(), ctranslate2_products.ISA):
        monkeypatch.delenv(variable, raising=False)


def real(monkeypatch):
    """Undo ``--cpu`` until ``monkeypatch`` ends, for what runs instructions of this CPU itself."""
    monkeypatch.setattr(cpu, "CPUINFO", Path("/proc/cpuinfo"))
    monkeypatch.setenv("PRETENDED_CPUINFO", str(cpu.CPUINFO))


def pretend_everywhere(name, folder, monkeypatch):
    """Pretend one of CPUS in Python processes that tests start, too."""
    pretend(name, folder, monkeypatch)
    monkeypatch.setenv("PRETENDED_CPUINFO", str(cpu.CPUINFO))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).with_name("pretended")), prepend=os.pathsep)
