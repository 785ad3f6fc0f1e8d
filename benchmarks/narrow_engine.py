"""The engine with vectors of 128 bits outside a browser: what a browser's engine could reach at most.

The kernels for WebAssembly, products with relaxed SIMD among them, are compiled by g++ as instructions of x86-64, which
the headers of SIMDe (Debian's libsimde-dev) have for each of WebAssembly's. All else is as in the library of the wheel.
"""

import shutil
import subprocess
import sysconfig
from pathlib import Path

from nmt_frontier.errors import UserError
from nmt_frontier.files import atomic_path, write_text

ENGINE = Path(__file__).resolve().parents[1] / "engine"
OPTIONS = ("-std=c++17", "-O3", "-DNDEBUG", "-DNMT_BUILD", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-w")
OPTIONS += ("-D__wasm__", "-DSIMDE_WASM_SIMD128_NO_NATIVE")
NARROW = ("-mavx", "-D__wasm_simd128__", "-D__wasm_relaxed_simd__", "-DNMT_SET=simd128")  # V8 uses AVX at 128 bits, too
PARTS = (
    *("runtime", "model", "transformer", "recurrent", "conditional", "fully_connected"),
    *("search", "folder", "bindings"),
)
OTHERS = ("architectures.cpp", "text/none.cpp", "platform/posix.cpp", "platform/linux.cpp")
HEADER = """#pragma once
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/wasm/simd128.h>
#include <immintrin.h>
static inline v128_t wasm_i16x8_relaxed_dot_i8x16_i7x16(v128_t signed_bytes, v128_t bytes) {
  return (v128_t)_mm_maddubs_epi16((__m128i)bytes, (__m128i)signed_bytes);
}
static inline v128_t wasm_i8x16_relaxed_swizzle(v128_t values, v128_t places) {
  return (v128_t)_mm_shuffle_epi8((__m128i)values, (__m128i)places);
}
"""


def build(folder: Path) -> Path:
    """Compile into a folder, once. Returns the folder to find the package nmt_frontier in."""
    package = folder / "nmt_frontier"
    if package.exists():
        return folder
    write_text(folder / "include/wasm_simd128.h", HEADER)
    kernels = [ENGINE / "kernels" / name for name in ("products.cpp", "vectors.cpp")]
    rest = [path for part in PARTS for path in sorted((ENGINE / part).glob("*.cpp"))]
    objects = []
    for path in [*kernels, *rest, *(ENGINE / name for name in OTHERS)]:
        options = NARROW if path in kernels else ("-DNMT_HAS_SIMD128",)
        objects.append(folder / f"{path.parent.name}-{path.stem}.o")
        call_compiler(*OPTIONS, *options, f"-I{ENGINE}", f"-I{folder / 'include'}", "-c", path, "-o", objects[-1])
    call_compiler("-shared", "-o", folder / "engine.so", *objects, "-lpthread")
    installed = Path(sysconfig.get_path("purelib")) / package.name
    with atomic_path(package) as part:  # a build that was killed leaves no package
        shutil.copytree(installed, part, ignore=shutil.ignore_patterns("source", "engine.so"))
        shutil.move(folder / "engine.so", part)
    return folder


def call_compiler(*arguments: object) -> None:
    if subprocess.run(["g++", *map(str, arguments)]).returncode:
        raise UserError("g++ failed, see above; the headers of SIMDe are in Debian's package libsimde-dev")
