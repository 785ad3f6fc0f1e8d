"""Reading rates by format: generated pairs of the same text in every format, read as corpora.fetch reads them.

With --before, a folder with the packages of an earlier version (src, and nmt_frontier with its engine), its readers
take turns with these.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from nmt_frontier.command_line import positive
from nmt_frontier.errors import command
from nmt_frontier.files import write_json
from nmt_frontier.machine import describe, load_average

BROKEN = 100  # one unit in so many, where some are broken
READ = """
import resource, sys, time
from pathlib import Path
from corpora import fetch
from study import config
path = Path(sys.argv[1])
blocks, _ = fetch.fetch("x", config.corpus({"role": "train", "file": path.name}), ["en", "de"], path.parent, path, 1)
start = time.process_time()
lines = sum(block.count(b"\\n") for block in blocks)
print(lines, time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""
Pairs = Iterable[tuple[str, str]]


def pairs(number: int) -> Pairs:
    for row in range(number):
        yield (
            f"The dog number {row} runs through the deep snow.",
            f"Der Hund Nummer {row} rennt durch den tiefen Schnee.",
        )


def tmx(pairs: Pairs, file: TextIO, broken: int | None = None) -> None:
    file.write('<?xml version="1.0"?>\n<tmx version="1.4"><header/><body>\n')
    for row, (source, target) in enumerate(pairs):
        source += " & " * (broken is not None and row % broken == 0)
        sides = f'<tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de"><seg>{target}</seg></tuv>'
        file.write(f'<tu tuid="{row}">{sides}</tu>\n')
    file.write("</body></tmx>\n")


def broken_tmx(pairs: Pairs, file: TextIO) -> None:
    tmx(pairs, file, BROKEN)


def xliff(pairs: Pairs, file: TextIO) -> None:
    file.write('<xliff version="1.2"><file source-language="en" target-language="de"><body>\n')
    for row, (source, target) in enumerate(pairs):
        file.write(f'<trans-unit id="{row}"><source>{source}</source><target>{target}</target></trans-unit>\n')
    file.write("</body></file></xliff>\n")


def tsv(pairs: Pairs, file: TextIO) -> None:
    file.writelines(f"{source}\t{target}\n" for source, target in pairs)


def quoted(pairs: Pairs, file: TextIO) -> None:
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows(pairs)


def jsonl(pairs: Pairs, file: TextIO) -> None:
    file.writelines(f"{json.dumps({'translation': {'en': source, 'de': target}})}\n" for source, target in pairs)


def po(pairs: Pairs, file: TextIO) -> None:
    file.writelines(f'#: main.c:1\nmsgid "{source}"\nmsgstr "{target}"\n\n' for source, target in pairs)


# The name of the file: what writes it, and its encoding.
FILES: dict[str, tuple[Callable[[Pairs, TextIO], None], str]] = {
    "text.tsv": (tsv, "utf-8"), "text.tmx": (tmx, "utf-8"), "broken.tmx": (broken_tmx, "utf-8"),
    "utf-16.tmx": (tmx, "utf-16"), "text.xlf": (xliff, "utf-8"), "text.csv": (quoted, "utf-8"),
    "text.jsonl": (jsonl, "utf-8"), "text.po": (po, "utf-8"),
}  # fmt: skip


def read(path: Path, src: Path) -> tuple[int, float, int]:
    """The pairs of a file, the CPU seconds of reading it, and the largest resident set in bytes."""
    run = [sys.executable, "-c", READ, str(path)]
    done = subprocess.run(run, env=os.environ | {"PYTHONPATH": str(src)}, capture_output=True, text=True, check=True)
    lines, seconds, peak = done.stdout.split()
    return int(lines), float(seconds), int(peak)


def rates(path: Path, sources: dict[str, Path], number: int, runs: int) -> dict[str, object]:
    """Units a second of CPU time: the median, the least and the greatest of the runs; the versions take turns."""
    found: dict[str, list[tuple[int, float, int]]] = {name: [] for name in sources}
    for _ in range(runs):
        for name, src in sources.items():
            found[name].append(read(path, src))
    result: dict[str, object] = {"bytes": path.stat().st_size}
    for name, of_version in found.items():
        per_second = sorted(round(number / seconds) for _, seconds, _ in of_version)
        result[name] = {
            "kept": of_version[0][0],
            "units_per_second": statistics.median(per_second),
            "range": [per_second[0], per_second[-1]],
            "peak_rss_bytes": max(peak for *_, peak in of_version),
        }
    if len(sources) > 1:
        ratios = [before[1] / now[1] for now, before in zip(found["now"], found["before"], strict=True)]
        result["now_over_before"] = [round(ratio, 3) for ratio in (statistics.median(ratios), min(ratios), max(ratios))]
    print(path.name, result, file=sys.stderr, flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=positive, default=200_000, help="(default: %(default)s)")
    parser.add_argument("--runs", type=positive, default=3, help="(default: %(default)s)")
    parser.add_argument("--before", type=Path, help="the packages of an earlier version")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()
    now, before = Path(__file__).parents[1] / "src", load_average()
    formats = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (write, encoding) in FILES.items():
            path = Path(folder, name)
            with open(path, "w", encoding=encoding, newline="") as file:
                write(pairs(args.pairs), file)
            compared = {"before": args.before} if args.before else {}
            formats[name] = rates(path, {"now": now} | compared, args.pairs, args.runs)
            path.unlink()
    calls = f"python benchmarks/readers.py --pairs {args.pairs} --runs {args.runs}" + " --before SRC" * bool(
        args.before
    )
    write_json(
        args.output, {"command": calls, "machine": describe(), "load_average_before": before, "formats": formats}
    )


if __name__ == "__main__":
    command(main)
