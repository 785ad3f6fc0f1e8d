"""Our chain of benchmarks/cleaning.py: the commands of the pipeline, one process a core, their time and memory."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from cleaning_load import LANGUAGES

from common.files import read_json
from common.machine import load_average
from formats import records

CORES = (0, 1)


class Job:
    """A command of the pipeline on one core; ``peak`` is its largest resident set so far, in bytes.

    Sampled from /proc, because a process inherits the value of wait4() from the one that started it.
    """

    def __init__(self, arguments: list[str], core: int):
        self._process = subprocess.Popen(
            ["taskset", "-c", str(core), sys.executable, "-m", *arguments], stderr=subprocess.DEVNULL
        )
        self.peak = 0

    def ended(self) -> bool:
        status = Path(f"/proc/{self._process.pid}/status")
        marks = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        self.peak = max(self.peak, *(int(mark) * 1024 for mark in marks), 0)
        if self._process.poll():
            sys.exit(f"{' '.join(self._process.args)}: failed")
        return self._process.poll() is not None


def run_all(commands: list[list[str]]) -> int:
    """Run commands, one a core at a time. Returns the largest peak memory in bytes."""
    waiting, running, peak = list(commands), {}, 0
    while waiting or running:
        for core in CORES:
            if core not in running and waiting:
                running[core] = Job(waiting.pop(0), core)
            if core in running and running[core].ended():
                peak = max(peak, running.pop(core).peak)
        time.sleep(0.01)
    return peak


def chain(
    raw: Path, folder: Path, settings: dict[str, Any], parts: int, held_out: list[Path] | None = None
) -> dict[str, Any]:
    """Clean and gather a corpus with one process a core: seconds, peak memory, counts."""
    outputs = [str(folder / "parts" / f"{k}-of-{parts}.tsv.zst") for k in range(1, parts + 1)]
    shared = ["corpora.clean", "--input", str(raw), "--languages", *LANGUAGES, "--rules", json.dumps(settings)]
    shared += ["--held-out", *map(str, held_out)] if held_out else []
    shards = [["--shard", f"{k}/{parts}", "--output", output] for k, output in enumerate(outputs, 1)]
    kinds = [f"--{kind.replace('_', '-')}" for kind in ("duplicates", "near_duplicates") if settings.get(kind)]
    final = folder / "clean.tsv.zst"
    start = time.monotonic()
    peak = run_all([shared + shard for shard in shards])
    cleaned = time.monotonic()
    gather_peak = run_all([["corpora.gather", "--inputs", *outputs, *kinds, "--output", str(final)]])
    end = time.monotonic()
    counts = read_json(records.info(final))
    return {
        "pairs": counts["lines_in"],
        "pairs_per_second": round(counts["lines_in"] / (end - start)),
        "clean_seconds": round(cleaned - start, 2),
        "gather_seconds": round(end - cleaned, 2),
        "clean_peak_rss_bytes": peak,
        "gather_peak_rss_bytes": gather_peak,
        "text_bytes_per_second": round(sum(map(len, records.frames(raw))) / (end - start)),
        "load_average": load_average(),
        "kept": counts["lines_out"],
        "dropped": {reason: count for reason, count in counts["dropped"].items() if count},
    }
