"""What becomes of products of integers in CTranslate2 on this CPU: by which library, and whether they are exact.

VNNI instructions add products of bytes in 32 bits. Without them (AVX512 of the first generation, AVX2, SSE4.1), oneDNN
and, on Intel's CPUs, oneMKL add pairs in 16 bits, which saturates: CTranslate2 shifts activations to 0..255, and
2 * 255 * 127 is more than 32,767. What is cut off is lost without a word. ``benchmarks/saturation.py`` compares with
exact arithmetic, library by library.
"""

import os
import platform
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
VNNI = {"avx512_vnni", "avx_vnni"}  # one of these flags will do
USE_MKL = "CT2_USE_MKL"
ISA = "CT2_FORCE_CPU_ISA"
AVX512 = {"avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl"}  # what CTranslate2 asks for, all of them
ONEMKL, ONEDNN, OTHER = "oneMKL", "oneDNN", "other"
# What holds a library to older instructions: variables, the first that is set counts, and their values without VNNI.
LIMITS = {
    ONEDNN: (("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"), ("SSE41", "AVX", "AVX2", "AVX512_CORE")),
    ONEMKL: (("MKL_ENABLE_INSTRUCTIONS",), ("SSE4_2", "AVX", "AVX2", "AVX512")),
}
PORTABLE = ("MKL_CBWR", "COMPATIBLE")  # oneMKL's code for any CPU


def facts() -> dict[str, str]:
    """Those of the first processor; none where the system does not tell."""
    if not CPUINFO.exists():
        return {}
    first = CPUINFO.read_text(encoding="utf-8").split("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def flags() -> set[str]:
    return set(facts().get("flags", "").split())


def intel() -> bool:
    return facts().get("vendor_id") == "GenuineIntel"


def widest() -> str | None:
    """What CTranslate2 has to be told to use the widest instructions of this CPU; None where it does so by itself."""
    return "AVX512" if flags() >= AVX512 else None


def has_onemkl() -> bool:
    """Whether CTranslate2 was built with oneMKL: its wheels for x86-64 were."""
    return platform.machine().lower() in ("x86_64", "amd64")


def library() -> str:
    """What CTranslate2 multiplies matrices with: oneMKL on Intel's CPUs, oneDNN on others, unless it is told."""
    if not has_onemkl():
        return OTHER
    told = os.environ.get(USE_MKL)
    return ONEMKL if (told in ("1", "true", "TRUE") if told else intel()) else ONEDNN


def limit() -> str | None:
    """The instructions without VNNI that the library is held to; None where it is not."""
    names, older = LIMITS.get(library(), ((), ()))
    told = next((value for name in names if (value := os.environ.get(name))), "")
    told = told.upper() if library() == ONEDNN else told  # oneMKL ignores what is not in capitals
    return told if told in older else None


def int8_saturates() -> bool:
    """Whether sums of 8-bit products may be cut off here.

    oneMKL's portable code is exact; oneMKL takes it outside Intel's CPUs, and wherever it is told to.
    """
    if library() == OTHER or (library() == ONEMKL and (not intel() or _told(*PORTABLE))):
        return False
    return limit() is not None or not VNNI & flags()


def _told(name: str, value: str) -> bool:
    return os.environ.get(name, "").partition(",")[0] == value


def described() -> str:
    """The library, and what it is held to: ``oneDNN``, ``oneDNN (AVX2)``."""
    held = limit() or (PORTABLE[1].lower() if library() == ONEMKL and _told(*PORTABLE) else None)
    return f"{library()} ({held})" if held else library()


def settings() -> dict[str, str | None]:
    """The variables that all this depends on."""
    names = (USE_MKL, *(name for variables, _ in LIMITS.values() for name in variables), PORTABLE[0])
    return {name: os.environ.get(name) for name in names}


def warning(name: object) -> str | None:
    """What to tell whoever computes in int8 here, in one line; None where it is exact. name: of the model."""
    if not int8_saturates():
        return None
    way = "" if intel() else f"; so is int8 with {USE_MKL}=1, slowly"
    return (
        f"warning: {name}: {described()} does not add 8-bit products exactly without VNNI instructions, which costs "
        f"quality; float32 is exact{way}"
    )
