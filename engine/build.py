"""Build the runtime (nmt_frontier) with its engine, and install both into this Python's environment.

The compiler is the system's (CXX, or c++, g++ or clang++). If it is missing or too old, the ziglang wheel of
requirements-zig.lock is installed, a compiler without dependencies. If neither works, a message reports that the engine
is missing, and everything runs with CTranslate2. With --required that is an error.
"""

import argparse
import os
import platform
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ENGINE = Path(__file__).resolve().parent
BUILD = ENGINE.parent / "build" / "engine"  # the command of submissions and tests are built of the same objects
WHEEL = ENGINE.parent / "build" / "wheel"  # the folder of what is installed
ZIG = ENGINE.parent / "requirements-zig.lock"
GLIBC = "2.28"  # of manylinux_2_28
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
INSTALL = [*PIP, "install", "--no-deps"]
PROGRAMS = Path(sys.executable).parent  # cmake and ninja of the environment
ENVIRONMENT = {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}


def system_compiler() -> str | None:
    """The C++ compiler that the environment names, or the first on the PATH."""
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    return next((path for name in names if (path := shutil.which(name))), None)


def zig(folder: Path, target: str = f"{platform.machine()}-linux-gnu.{GLIBC}") -> str:
    """A compiler of the ziglang wheel, which is installed; CMake wants one command without arguments.

    Left alone, it compiles for the CPU and the glibc it runs on, and the library would not load on others.
    """
    subprocess.run([*INSTALL, "--require-hashes", "-r", str(ZIG)], check=True)
    script = folder / "c++"
    options = f"-target {target} -mcpu=baseline"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang c++ {options} "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def build(scratch: Path, zig_only: bool) -> None:
    """Install with the system's compiler; if it is missing or too old, with zig's."""
    if compiler := None if zig_only else system_compiler():
        try:
            return install(compiler)
        except subprocess.CalledProcessError:
            needed = "it needs g++ 12 or clang++ 14; see above"
            print(f"The engine could not be built with {compiler} ({needed}); trying ziglang", file=sys.stderr)
    return install(zig(scratch), scratch / "build")


def install(compiler: str | None, folder: Path = BUILD) -> None:
    """Install the package, with the engine if there is a compiler."""
    shutil.rmtree(WHEEL, ignore_errors=True)
    subprocess.run([*INSTALL, "--force-reinstall", str(wheel(compiler, folder, WHEEL))], check=True)


def wheel(compiler: str | None, folder: Path, output: Path, settings: Mapping[str, str] | None = None) -> Path:
    """Write the package's wheel into a folder that has none. settings: of scikit-build-core.

    The folder of an earlier build is used again if that had the same compiler, with which CMake would go on.
    """
    cache = folder / "CMakeCache.txt"
    if not (compiler and cache.exists() and f"CMAKE_CXX_COMPILER:FILEPATH={compiler}\n" in cache.read_text()):
        shutil.rmtree(folder, ignore_errors=True)
    settings = {"build-dir": str(folder), **(settings or {})}
    if not compiler:
        settings["cmake.define.NMT_LIBRARY"] = "OFF"
    options = ["--no-deps", "--no-build-isolation", *(f"-C{name}={value}" for name, value in settings.items())]
    environment = {**ENVIRONMENT, "CXX": compiler} if compiler else ENVIRONMENT
    subprocess.run([*PIP, "wheel", *options, "--wheel-dir", str(output), str(ENGINE)], check=True, env=environment)
    (path,) = output.glob("*.whl")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zig", action="store_true", help="compile with the ziglang wheel, whatever else there is")
    parser.add_argument("--required", action="store_true", help="fail if the engine cannot be built")
    args = parser.parse_args()

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    with tempfile.TemporaryDirectory() as scratch:
        try:
            build(Path(scratch), args.zig)
        except (subprocess.CalledProcessError, OSError) as error:
            if args.required:
                print(f"The native engine could not be built ({error})", file=sys.stderr)
                return 1
            print(f"The native engine could not be built ({error}); CTranslate2 decodes instead.", file=sys.stderr)
            install(None, Path(scratch) / "without")
    return 0


if __name__ == "__main__":
    sys.exit(main())
