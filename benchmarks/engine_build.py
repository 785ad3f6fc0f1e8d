"""What building the native engine takes, and how large it is: seconds by compiler and cores, bytes by instruction set,
lines of C++ by folder.

Each build starts from nothing in a temporary folder, zig's own caches included; the ziglang wheel is fetched into that
folder before the clock runs. Seconds are those of CMake and Ninja, on the first cores of this process.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import machine
from common.command_line import positive
from common.errors import UserError, command
from common.files import write_json, write_text
from measure.protocol import commit
from measure.usage import busy_seconds
from report import markdown

ENGINE = Path(__file__).resolve().parents[1] / "engine"
LIBRARY = "nmt_frontier_engine.so"
COMPILERS = ("system", "zig")


def compiler(name: str, folder: Path) -> str:
    """The command of a compiler, as engine/build.py finds or installs it, but installed into ``folder``."""
    sys.path.insert(0, str(ENGINE))
    import build

    if name == "zig":
        own = {
            "PIP_TARGET": "packages",
            "PYTHONPATH": "packages",
            "ZIG_GLOBAL_CACHE_DIR": "all",
            "ZIG_LOCAL_CACHE_DIR": "own",
        }
        os.environ |= {variable: str(folder / place) for variable, place in own.items()}
        return build.zig(folder)
    if found := build.system_compiler():
        return found
    raise UserError("no C++ compiler here; leave out --compilers system")


def built(name: str, cores: list[int]) -> dict[str, Any]:
    """The record of one build, with the sizes of what it made."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        program = compiler(name, folder)
        environment = {**os.environ, "CXX": program, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

        def cmake(*arguments: str | Path) -> None:
            subprocess.run(["cmake", *arguments], check=True, env=environment, stdout=subprocess.DEVNULL)

        machine.pin(cores)
        start, cpu, busy = time.perf_counter(), children(), busy_seconds(cores)
        cmake("-S", ENGINE, "-B", folder / "build", "-G", "Ninja")
        cmake("--build", folder / "build", "--parallel", str(len(cores)))
        seconds, used = time.perf_counter() - start, children() - cpu
        others = None if busy is None else max(busy_seconds(cores) - busy - used, 0.0) / (seconds * len(cores))
        cmake("--install", folder / "build", "--prefix", folder / "installed", "--strip")
        version = subprocess.run([program, "--version"], check=True, env=environment, capture_output=True, text=True)
        return {
            "compiler": name, "version": version.stdout.splitlines()[0], "cores": len(cores),
            "seconds": seconds, "cpu_seconds": used, "others": others, "load_average": machine.load_average(),
            "library_bytes": (folder / "installed" / "nmt_frontier_engine" / LIBRARY).stat().st_size,
            "set_bytes": {path.parts[-3][8:-4]: loaded(path) for path in objects(folder / "build")},
        }  # fmt: skip


def children() -> float:
    """CPU seconds of all processes that this one waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def objects(folder: Path) -> list[Path]:
    """The compiled kernels, one file for each instruction set."""
    return sorted(folder.glob("CMakeFiles/kernels_*.dir/kernels/kernels.cpp.o"))


def loaded(path: Path) -> int:
    """Bytes of code and data of a compiled file, without its symbols."""
    columns = subprocess.run(["size", path], check=True, capture_output=True, text=True).stdout.splitlines()[1].split()
    return int(columns[0]) + int(columns[1])


def lines(folder: Path) -> dict[str, int]:
    """Lines of C++ under a folder: all, and code, those that are neither blank nor only a comment."""
    text = [
        line for path in folder.rglob("*") if path.suffix in (".h", ".cpp") for line in path.read_text().splitlines()
    ]
    return {"lines": len(text), "code_lines": sum(not re.match(r"\s*(//|$)", line) for line in text)}


def tables(result: dict[str, Any]) -> list[str]:
    builds = [
        {
            "compiler": row["version"], "cores": str(row["cores"]), "seconds": f"{row['seconds']:.0f}",
            "CPU seconds": f"{row['cpu_seconds']:.0f}", "used by others": f"{row['others']:.0%}",
            "library, KB": f"{row['library_bytes'] / 1e3:,.0f}",
        }
        | {f"{name}, KB": f"{size / 1e3:,.0f}" for name, size in row["set_bytes"].items()}
        for row in result["builds"]
    ]  # fmt: skip
    folders = [
        {"folder": name, "lines": f"{row['lines']:,}", "code": f"{row['code_lines']:,}"}
        for name, row in result["lines"].items()
    ]
    return [markdown.table(builds), markdown.table(folders)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compilers", nargs="+", choices=COMPILERS, default=[*COMPILERS])
    parser.add_argument("--cores", type=positive, nargs="+", default=[1, 2], help="how many, a build for each")
    parser.add_argument("--output", type=Path, required=True, help="JSON; a table .md is written beside it")
    args = parser.parse_args()

    usable = machine.cores()
    if max(args.cores) > len(usable):
        raise UserError(f"--cores {max(args.cores)}: this process may use {len(usable)}")
    folders = sorted(path for path in ENGINE.iterdir() if [*path.rglob("*.cpp")])
    counted = {f"engine/{path.name}": lines(path) for path in folders} | {"engine": lines(ENGINE)}
    result = {"commit": commit(), **machine.describe(), "builds": [], "lines": counted}
    title = f"Building the native engine on {result['cpu']}"
    for name in args.compilers:
        for count in args.cores:
            result["builds"].append(built(name, [*usable[:count]]))
            write_json(args.output, result)  # a build takes minutes: what is measured is kept
            write_text(args.output.with_suffix(".md"), markdown.document(title, *tables(result)))


if __name__ == "__main__":
    command(main)
