"""Build wheels of the runtime for other machines, all of them on one Linux machine, with the compiler of ziglang.

auditwheel checks what those for Linux need, twine checks all. Each is for every version of Python 3.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import webassembly
from build import ENGINE, GLIBC, INSTALL, wheel, zig

CHECKS = ENGINE.parent / "requirements-wheel.lock"


class Platform(NamedTuple):
    target: str  # zig's name
    system: str  # CMake's names of the system and of the processor
    processor: str


LINUX = f"manylinux_{GLIBC.replace('.', '_')}"
PLATFORMS = {
    f"{LINUX}_x86_64": Platform(f"x86_64-linux-gnu.{GLIBC}", "Linux", "x86_64"),
    f"{LINUX}_aarch64": Platform(f"aarch64-linux-gnu.{GLIBC}", "Linux", "aarch64"),
    "macosx_11_0_arm64": Platform("aarch64-macos.11.0", "Darwin", "arm64"),
    "macosx_11_0_x86_64": Platform("x86_64-macos.11.0", "Darwin", "x86_64"),
    "win_amd64": Platform("x86_64-windows-gnu", "Windows", "AMD64"),
}


def toolchain(platform: Platform, folder: Path) -> Path:
    """CMake's description of a platform, for its CMAKE_TOOLCHAIN_FILE."""
    settings = {
        "CMAKE_SYSTEM_NAME": platform.system,
        "CMAKE_SYSTEM_PROCESSOR": platform.processor,
        "CMAKE_TRY_COMPILE_TARGET_TYPE": "STATIC_LIBRARY",  # a program would be linked, which takes zig a minute
        "CMAKE_INSTALL_NAME_TOOL": "true",  # of macOS; nothing needs it
    }
    path = folder / "toolchain.cmake"
    path.write_text("".join(f'set({name} "{value}")\n' for name, value in settings.items()), encoding="utf-8")
    return path


def build(tag: str, output: Path, scratch: Path) -> None:
    """Write the wheel of a platform into a folder."""
    platform = PLATFORMS[tag]
    settings = {"cmake.toolchain-file": str(toolchain(platform, scratch)), "wheel.tags": f"py3-none-{tag}"}
    path = wheel(zig(scratch, platform.target), scratch / "build", scratch / "wheel", settings)
    if platform.system == "Linux":
        audit(path)
    shutil.move(path, output / path.name)


def audit(path: Path) -> None:
    """Refuse a wheel that needs more than its tag promises: libraries, or a later glibc."""
    call = [sys.executable, "-m", "auditwheel", "show", "--json", path]
    found = json.loads(subprocess.run([*map(str, call)], check=True, capture_output=True, text=True).stdout)
    version = re.match(r"manylinux_(\d+)_(\d+)_", found["overall_tag"])
    if not version or [*map(int, version.groups())] > [*map(int, GLIBC.split("."))]:
        sys.exit(f"{path.name}: auditwheel finds {found['overall_tag']}, as it needs {found['versioned_symbols']}")


def source(output: Path) -> None:
    """Write the source distribution, for what has no wheel; it needs g++ 12 or clang++ 14."""
    code = f"from scikit_build_core.build import build_sdist; build_sdist({str(output.resolve())!r})"
    subprocess.run([sys.executable, "-c", code], cwd=ENGINE, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="folder for the wheels")
    tags = ", ".join(PLATFORMS)
    parser.add_argument("--platforms", nargs="+", default=[*PLATFORMS], choices=PLATFORMS, metavar="TAG", help=tags)
    args = parser.parse_args()

    subprocess.run([*INSTALL, "--require-hashes", "-r", str(CHECKS)], check=True)
    args.output.mkdir(parents=True, exist_ok=True)
    if shutil.which(webassembly.COMPILER):
        webassembly.build()
    else:
        print(f"{webassembly.NEEDED}: these wheels have no page", file=sys.stderr)
    for number, tag in enumerate(args.platforms, 1):
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            build(tag, args.output, Path(scratch))
        print(f"{tag}: {time.monotonic() - begin:.0f} seconds, {number} of {len(args.platforms)} wheels", flush=True)
    source(args.output)
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *args.output.iterdir()], check=True)


if __name__ == "__main__":
    main()
