"""Integer matrix products of CTranslate2 on this CPU: which library computes them, and whether they are exact.

VNNI instructions sum products of bytes in 32 bits. Without them, oneDNN and, on Intel's CPUs, oneMKL sum pairs in 16
bits, which saturates silently: CTranslate2 shifts activations to 0..255, and 2 * 255 * 127 is more than 32,767.
``benchmarks/saturation.py`` compares each library with exact arithmetic.
"""

import os
import platform

from nmt_frontier import cpu

VNNI = {"avx512_vnni", "avx_vnni"}  # one of these flags suffices
USE_MKL = "CT2_USE_MKL"
ISA = "CT2_FORCE_CPU_ISA"
AVX512 = {"avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl"}  # CTranslate2 requires all of them
SETS = {"GENERIC": set(), "AVX": {"avx"}, "AVX2": {"avx2"}, "AVX512": AVX512}  # values of ISA: the flags they need
ONEMKL, ONEDNN, OTHER = "oneMKL", "oneDNN", "other"
# What restricts a library to older instructions: variables (the first that is set counts) and values without VNNI.
LIMITS = {
    ONEDNN: (("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"), ("SSE41", "AVX", "AVX2", "AVX512_CORE")),
    ONEMKL: (("MKL_ENABLE_INSTRUCTIONS",), ("SSE4_2", "AVX", "AVX2", "AVX512")),
}
PORTABLE = ("MKL_CBWR", "COMPATIBLE")  # oneMKL's code for any CPU


def widest() -> str | None:
    """The CT2_FORCE_CPU_ISA with which CTranslate2 uses this CPU's widest instructions; None if it does by default."""
    return "AVX512" if cpu.flags() >= AVX512 else None


def sets() -> list[str]:
    """The values of CT2_FORCE_CPU_ISA for this CPU; all those of x86-64 if its flags are unknown."""
    if not has_onemkl():
        return ["GENERIC", "NEON"]
    here = cpu.flags()
    return [name for name, needed in SETS.items() if needed <= here or not here]


def has_onemkl() -> bool:
    """Whether CTranslate2 has oneMKL: its wheels for x86-64 do."""
    return platform.machine().lower() in ("x86_64", "amd64")


def packs() -> bool:
    """Whether CTranslate2 can pack matrices here: only for oneMKL, which it uses on Intel's CPUs."""
    return cpu.intel()


def library() -> str:
    """The library that multiplies matrices: oneMKL on Intel's CPUs, oneDNN on others, unless CT2_USE_MKL decides."""
    if not has_onemkl():
        return OTHER
    value = os.environ.get(USE_MKL)
    return ONEMKL if (value in ("1", "true", "TRUE") if value else cpu.intel()) else ONEDNN


def limit() -> str | None:
    """The instructions without VNNI to which the environment restricts the library, else None."""
    names, older = LIMITS.get(library(), ((), ()))
    value = next((value for name in names if (value := os.environ.get(name))), "")
    value = value.upper() if library() == ONEDNN else value  # oneMKL ignores lower case
    return value if value in older else None


def int8_saturates() -> bool:
    """Whether sums of 8-bit products may saturate here."""
    if library() == OTHER or (library() == ONEMKL and (not cpu.intel() or _portable())):
        return False  # oneMKL's portable code is exact
    return limit() is not None or not VNNI & cpu.flags()


def _portable() -> bool:
    name, value = PORTABLE
    return os.environ.get(name, "").partition(",")[0] == value


def described() -> str:
    """The library and its restriction, such as ``oneDNN (AVX2)``."""
    restriction = limit() or (PORTABLE[1].lower() if library() == ONEMKL and _portable() else None)
    return f"{library()} ({restriction})" if restriction else library()


def settings() -> dict[str, str | None]:
    """The environment variables that this module reads, None where not set."""
    names = (USE_MKL, *(name for variables, _ in LIMITS.values() for name in variables), PORTABLE[0])
    return {name: os.environ.get(name) for name in names}


def warning(name: object) -> str | None:
    """A warning that int8 saturates on this machine; None if it is exact. name: of the model."""
    if not int8_saturates():
        return None
    remedy = "" if cpu.intel() else f"; so is int8 with {USE_MKL}=1, slowly"
    return (
        f"warning: {name}: {described()} does not add 8-bit products exactly without VNNI instructions, which costs "
        f"quality; float32 is exact{remedy}"
    )
