"""Build the engine for browsers, web/engine.js and web/engine.wasm, with emscripten and SentencePiece's sources.

Products with relaxed SIMD, which emscripten 3.1 does not know, are compiled with ziglang's wheel and lie in engine.js.
"""

import base64
import os
import shutil
import subprocess
import sys
from pathlib import Path

from build import ENGINE, ENVIRONMENT, INSTALL, ZIG

from export import translate_command
from nmt_frontier.files import atomic_path

WEB = ENGINE.parent / "web"
BUILD = ENGINE.parent / "build" / "web"
COMPILER = "em++"
NEEDED = "the engine for browsers needs emscripten, which Debian has"
MODULES = "/usr/share/nodejs"  # of Debian's emscripten, which other builds of Node than Debian's do not find
RELAXED = """
export const relaxed = [{}].map((code) => Uint8Array.from(atob(code), (one) => one.charCodeAt(0)));
"""


def build() -> None:
    """Write both files. Raises CalledProcessError where a compiler fails."""
    BUILD.mkdir(parents=True, exist_ok=True)
    text = f"-DSENTENCEPIECE={translate_command.sources()}/sentencepiece"
    options = [text, f"-DPython3_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Release"]
    call("emcmake", "cmake", "-G", "Ninja", "-S", ENGINE, "-B", BUILD, *options)
    call("cmake", "--build", BUILD, "--target", "web")
    call(*INSTALL, "--require-hashes", "-r", ZIG)
    relaxed = relaxed_products(), relaxed_products("-DNMT_SIGNED")
    codes = ", ".join(f'"{base64.b64encode(code).decode()}"' for code in relaxed)
    made = BUILD / "browser"
    write(WEB / "engine.js", (made / "engine.js").read_bytes() + RELAXED.format(codes).encode())
    write(WEB / "engine.wasm", (made / "engine.wasm").read_bytes())


def write(path: Path, content: bytes) -> None:
    """A file that stays the same keeps its time: make would install the package again."""
    if not path.exists() or path.read_bytes() != content:
        with atomic_path(path) as part:
            part.write_bytes(content)


def relaxed_products(*options: str) -> bytes:
    """A file with the function `product` alone, which uses the memory and the stack that it is given."""
    zig, made, linked = [sys.executable, "-m", "ziglang"], BUILD / "relaxed.o", BUILD / "relaxed.wasm"
    target = ["-target", "wasm32-wasi", "-mcpu=generic+simd128+relaxed_simd+bulk_memory"]
    compiled = ["-std=c++17", "-O3", "-DNDEBUG", "-ffp-contract=off", "-fno-exceptions", "-fvisibility=hidden"]
    source = ENGINE / "browser" / "products.cpp"
    call(*zig, "c++", *target, *compiled, *options, "-I", ENGINE, "-c", source, "-o", made)
    exports = ["--export=product", "--export=__stack_pointer"]
    call(*zig, "wasm-ld", "--no-entry", "--import-memory", "--strip-all", *exports, made, "-o", linked)
    return linked.read_bytes()


def call(*command: str | Path) -> None:
    environment = {**ENVIRONMENT, "NODE_PATH": os.pathsep.join([*os.environ.get("NODE_PATH", "").split(), MODULES])}
    subprocess.run([*map(str, command)], check=True, env=environment)


if __name__ == "__main__":
    if not shutil.which(COMPILER):
        sys.exit(NEEDED)
    build()
