"""A million lines through nmt-frontier translate: how fast, in how much memory, and killed in the middle.

The load repeats the source side of a test set, shuffled anew each time. It is translated in one run, while the resident
memory of all processes is sampled every second. A second run is killed with SIGKILL half-way and continued with
``--resume``: the bytes must be the same.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from formats import experiments
from formats.records import sources
from nmt_frontier import machine
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import sha256, write_json

SECOND = 1.0


def load(lines: list[str], count: int, path: Path) -> int:
    """Write ``count`` lines. Returns the number of their words."""
    generator, words = random.Random(1), 0
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(count // len(lines) + 1):
            chosen = generator.sample(lines, min(len(lines), count))
            count -= len(chosen)
            words += sum(len(line.split()) for line in chosen)
            file.writelines(f"{line}\n" for line in chosen)
    return words


def resident(process: int) -> int:
    """Resident memory of a process and all its children, in bytes."""
    folder = Path("/proc") / str(process)
    try:
        pages = int((folder / "statm").read_text().split()[1])
        children = (folder / "task" / str(process) / "children").read_text().split()
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident(int(child)) for child in children)


def translate(model: Path, source: Path, target: Path, *options: str, enough: Callable[[], bool] = bool) -> list[int]:
    """Translate, and kill the process as soon as it is ``enough``. Returns the memory in bytes, second by second."""
    call = ["-m", "nmt_frontier", "translate", "--model", model, "--input", source, "--output", target, *options]
    process = subprocess.Popen([sys.executable, *map(str, call)])
    memory = []
    while process.poll() is None:
        time.sleep(SECOND)
        memory.append(resident(process.pid))
        if enough():
            process.send_signal(signal.SIGKILL)
            process.wait()
            return memory
    if process.returncode:
        raise UserError(f"{model}: decoding failed with status {process.returncode}; see above")
    return memory[:-1]  # the last sample may have come when the process had ended


def measure(model: Path, lines: list[str], count: int, folder: Path) -> dict[str, Any]:
    words = load(lines, count, folder / "source")
    start = time.monotonic()
    memory = translate(model, folder / "source", folder / "whole")
    seconds = time.monotonic() - start
    half = (folder / "whole").stat().st_size // 2
    killed = folder / "killed"
    start = time.monotonic()
    translate(model, folder / "source", killed, enough=lambda: killed.exists() and killed.stat().st_size > half)
    translate(model, folder / "source", killed, "--resume")
    resumed = time.monotonic() - start
    with open(folder / "whole", "rb") as file:
        written = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    steady = memory[len(memory) // 10 :]
    return {
        "lines": count,
        "lines_written": written,
        "source_words": words,
        "seconds": round(seconds, 1),
        "source_words_per_second": round(words / seconds),
        "memory_bytes": memory,
        "growth": round(max(steady[len(steady) // 2 :]) / max(steady[: len(steady) // 2]), 4),
        "killed_and_resumed_seconds": round(resumed, 1),
        "resumed_bytes_identical": sha256(killed) == sha256(folder / "whole"),
        "load_average": machine.load_average(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder")
    parser.add_argument("--test-set", type=Path, required=True, help="records whose source side is the load")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--output", type=Path, required=True, help="JSON")
    args = parser.parse_args()

    call = f"python benchmarks/stream.py --model {args.model} --test-set {args.test_set} --lines {args.lines}"
    with tempfile.TemporaryDirectory() as folder:
        result = measure(args.model, sources(args.test_set), args.lines, Path(folder))
    result = {"command": call, **experiments.here(), "workers": len(machine.cores()), **result}
    write_json(args.output, result)


if __name__ == "__main__":
    command(main)
