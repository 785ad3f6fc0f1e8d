"""How fast corpora are cleaned, in how much memory, against langid.py, a plain Python loop and OpusFilter.

The load is made of the real pairs of the mirror folder, again and again, each time with another short pair behind it,
so that every pair is new; a few are spoiled (BAD). Cleaning runs as in the pipeline: one process a part, two at a time
on two cores, then one that gathers. Rivals get the same pairs, and the rules that all of them have.
"""

import argparse
import functools
import gzip
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from langid import langid

from decode.machine import describe, load_average
from distill import rules
from distill.characters import characters
from distill.funnel import KEPT, Funnel
from distill.language import Identifier
from distill.measures import Measured
from formats import records
from formats.batches import batches
from formats.errors import UserError, command
from formats.files import read_json, write_json

CORPORA = ("anki-deu-eng", "msdocs-ht", "ddtp-de", "lo-help", "phpdoc", "europarl-slice")
HELD_OUT = ("newstest2013", "newstest2014", "newstest2015", "newstest2016", "newstest2017", "newstest2018")
LANGUAGES = ["en", "de"]
CORES = (0, 1)
PARTS = 8
BLOCK = 20_000
BAD = {"duplicate": 0.05, "swapped": 0.01, "long": 0.01, "short": 0.01, "empty": 0.01, "control": 0.01}  # shares
COMMON = {"max_tokens": 100, "max_length_ratio": 3.0, "langid": ["source", "target"], "duplicates": True}
ALL = COMMON | {
    "control_characters": True,
    "identical": True,
    "min_script_share": 0.5,
    "max_digit_mismatch": 0.5,
    "max_repeats": 3,
    "near_duplicates": True,
}
PAPER = {"pairs": 38_770_929, "English lines": 808_281_759}  # WNGT 2020, table 2


# The load


def aligned(mirror: Path, name: str) -> list[tuple[str, str]]:
    """The pairs of a corpus or test set of the mirror."""
    files = [gzip.decompress((mirror / f"{name}.{code}.gz").read_bytes()).decode() for code in LANGUAGES]
    sides = [list(map(records.sentence, text.split("\n")[:-1])) for text in files]
    return list(zip(*sides, strict=True))


def real_pairs(mirror: Path) -> list[tuple[bytes, bytes]]:
    """The corpora of the mirror, shuffled."""
    pairs = [pair for name in CORPORA for pair in aligned(mirror, f"{name}/{name}")]
    order = np.random.default_rng(1).permutation(len(pairs))
    return [(pairs[place][0].encode(), pairs[place][1].encode()) for place in order]


def test_sets(mirror: Path, folder: Path) -> list[Path]:
    """WMT's test sets as records, whose sentences must not be in the training data."""
    paths = [folder / f"{name}.tsv.zst" for name in HELD_OUT]
    for path in paths:
        records.write(path, aligned(mirror, f"newstest/{records.name(path)}"))
    return paths


def load(pairs: list[tuple[bytes, bytes]], count: int) -> Iterator[bytes]:
    """``count`` pairs as blocks of TSV, the same every time."""
    generator = np.random.default_rng(2)
    short = [pair for pair in pairs if len(pair[0]) < 40]
    earlier: list[bytes] = []  # some lines from anywhere before, for duplicates
    spoil = [  # as BAD has them after the duplicates
        lambda s, t: (t, s),
        lambda s, t: (s * 30, t * 30),
        lambda s, t: (s, t.partition(b" ")[0]),
        lambda s, t: (s, b""),
        lambda s, t: (s + b"\x01", t),
    ]
    edges = np.cumsum(list(BAD.values()))
    for start in range(0, count, BLOCK):
        lines = []
        kinds = np.searchsorted(edges, generator.random(min(BLOCK, count - start)), side="right").tolist()
        for number, kind in enumerate(kinds, start):
            if kind == 0 and earlier:
                lines.append(earlier[number * 7919 % len(earlier)])
                continue
            cycle, place = divmod(number, len(pairs))
            (source, target), other = pairs[place], short[(place + cycle * 7919) % len(short)]
            source, target = source + b" " + other[0], target + b" " + other[1]
            if 0 < kind <= len(spoil):
                source, target = spoil[kind - 1](source, target)
            lines.append(source + b"\t" + target + b"\n")
        earlier += lines[::50]
        yield b"".join(lines)


# Our chain


class Job:
    """A command of the pipeline on one core; ``peak`` is its largest resident set in bytes, looked at now and then.

    Not what wait4() tells: Linux lets a new process inherit that from the one which started it.
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
    """Run commands, one a core at a time; the largest peak memory."""
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
    """Clean and gather a corpus with one process a core; seconds, peak memory, counts."""
    outputs = [str(folder / "parts" / f"{k}-of-{parts}.tsv.zst") for k in range(1, parts + 1)]
    shared = ["distill.clean", "--input", str(raw), "--languages", *LANGUAGES, "--rules", json.dumps(settings)]
    shared += ["--held-out", *map(str, held_out)] if held_out else []
    shards = [["--shard", f"{k}/{parts}", "--output", output] for k, output in enumerate(outputs, 1)]
    kinds = [f"--{kind.replace('_', '-')}" for kind in ("duplicates", "near_duplicates") if settings.get(kind)]
    final = folder / "clean.tsv.zst"
    start = time.monotonic()
    peak = run_all([shared + shard for shard in shards])
    cleaned = time.monotonic()
    gather_peak = run_all([["distill.gather", "--inputs", *outputs, *kinds, "--output", str(final)]])
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


# Rivals


def median(function: Callable[[], int], lines: int, runs: int) -> dict[str, Any]:
    """Pairs a second of a function that answers how many it kept: median, least and most of several runs."""
    rates, kept = [], 0
    for _ in range(runs):
        start = time.monotonic()
        kept = function()
        rates.append(lines / (time.monotonic() - start))
    rounded = [round(rate, 1) for rate in (statistics.median(rates), min(rates), max(rates))]
    return dict(zip(("pairs_per_second", "min", "max"), rounded, strict=True)) | {"runs": runs, "kept": kept}


def plain_loop(pairs: list[tuple[str, str]], identifier: langid.LanguageIdentifier) -> int:
    """What one writes first: a record at a time, langid.py, a set of what was seen."""
    kept, seen = 0, set()
    for pair in pairs:
        lengths = [len(side) for side in pair]
        if not all(pair) or any(len(side.split()) > COMMON["max_tokens"] for side in pair):
            continue
        if max(lengths) > COMMON["max_length_ratio"] * min(lengths) or pair in seen:
            continue
        if all(identifier.classify(side)[0] == code for side, code in zip(pair, LANGUAGES, strict=True)):
            seen.add(pair)
            kept += 1
    return kept


def ours_in_process(path: Path) -> Callable[[], int]:
    """The common rules in this process, model and tables loaded before, as for the plain loop."""
    tables = characters(LANGUAGES)
    chosen = rules.chosen(COMMON, LANGUAGES, [], tables)

    def function() -> int:
        funnel, seen, kept = Funnel(chosen), set(), 0
        for batch in batches(path):
            measured = Measured(batch, tables)
            hashes = measured.hash[funnel.sort_out(measured) == KEPT].tolist()
            kept += len(set(hashes) - seen)
            seen.update(hashes)
        return kept

    return function


def opusfilter(binary: Path, pairs: list[tuple[str, str]], folder: Path) -> Callable[[], int]:
    """OpusFilter 3.3.1 (with py3langid 0.3.0; it fails with 0.4), the same rules on both cores, start included."""
    folder.mkdir()
    for column, code in enumerate(LANGUAGES):
        (folder / f"in.{code}").write_text("".join(f"{pair[column]}\n" for pair in pairs), encoding="utf-8")
    names = {stage: [f"{stage}.{code}" for code in LANGUAGES] for stage in ("in", "filtered", "out")}
    filters = [
        {"LengthFilter": {"unit": "word", "min_length": 1, "max_length": COMMON["max_tokens"]}},
        {"LengthRatioFilter": {"unit": "char", "threshold": COMMON["max_length_ratio"]}},
        {"LangidFilter": {"languages": LANGUAGES, "thresholds": [0, 0]}},
    ]
    steps = [
        {"type": "filter", "parameters": {"inputs": names["in"], "outputs": names["filtered"], "filters": filters}},
        {"type": "remove_duplicates", "parameters": {"inputs": names["filtered"], "outputs": names["out"]}},
    ]
    (folder / "config.yaml").write_text(
        json.dumps({"common": {"output_directory": str(folder), "default_n_jobs": len(CORES)}, "steps": steps})
    )

    def function() -> int:
        subprocess.run(
            [str(binary), "--overwrite", str(folder / "config.yaml")], check=True, capture_output=True, cwd=folder
        )
        with open(folder / "out.en", "rb") as stream:
            return sum(1 for _ in stream)

    return function


def rivals(raw: Path, folder: Path, binary: Path | None, lines: int, fast_runs: int) -> dict[str, Any]:
    """Rates on the first ``lines`` pairs, with the common rules."""
    subset = list(itertools.islice(records.read(raw), lines))
    small = folder / "small.tsv.zst"
    records.write(small, subset)
    os.sched_setaffinity(0, {CORES[1]})
    reference = langid.LanguageIdentifier.from_modelstring(langid.model)
    identifier = Identifier()
    sides = [side for pair in subset for side in pair]
    encoded = [side.encode() for side in sides]
    ends = np.cumsum([len(side) for side in encoded], dtype=np.int64)
    starts = ends - np.array([len(side) for side in encoded], np.int64)
    text = np.frombuffer(b"".join(encoded), np.uint8)
    classify = functools.partial(identifier.classify, text, starts, ends)
    classify()  # compiles
    chain_in_process = ours_in_process(small)
    chain_in_process()
    few = len(sides) // 10
    found: dict[str, Any] = {
        "pairs": lines,
        "langid.py, one core, sentences": median(
            lambda: sum(1 for side in sides[:few] if reference.classify(side)), few, 3
        ),
        "our langid, one core, sentences": median(lambda: len(classify()), len(sides), fast_runs),
        "plain Python loop, one core": median(lambda: plain_loop(subset, reference), lines, 1),
        "our rules, one core": median(chain_in_process, lines, fast_runs),
    }
    os.sched_setaffinity(0, set(CORES))
    if binary:
        found["OpusFilter, its command, two cores"] = median(opusfilter(binary, subset, folder / "opus"), lines, 1)
        found["our commands, two cores, same pairs"] = median(
            lambda: chain(small, folder / "small", COMMON, 2)["kept"], lines, 3
        )
    return found


def ratios(found: dict[str, Any], full: dict[str, Any]) -> dict[str, float]:
    """Our rate over theirs."""
    rate = {name: value["pairs_per_second"] for name, value in found.items() if isinstance(value, dict)}
    pairs = {
        "langid.py": (rate["our langid, one core, sentences"], rate["langid.py, one core, sentences"]),
        "plain Python loop": (rate["our rules, one core"], rate["plain Python loop, one core"]),
    }
    if "OpusFilter, its command, two cores" in rate:
        theirs = rate["OpusFilter, its command, two cores"]
        pairs["OpusFilter, same pairs, start included"] = (rate["our commands, two cores, same pairs"], theirs)
        pairs["OpusFilter, our chain at full size"] = (full["pairs_per_second"], theirs)
    return {name: round(ours / theirs, 1) for name, (ours, theirs) in pairs.items()}


def projection(full: dict[str, Any]) -> dict[str, Any]:
    """Hours for the paper's data: cleaning is divided by the cores, gathering a corpus is not.

    A monolingual line is taken for half a pair. The corpora of a study are gathered one after the other here, which is
    the worst case.
    """
    clean = full["clean_seconds"] * len(CORES) / full["pairs"]
    gather = full["gather_seconds"] / full["pairs"]
    lines = PAPER["pairs"] + PAPER["English lines"] / 2
    return {
        "of": PAPER,
        "hours_on_2_cores": round(lines * (clean / 2 + gather) / 3600, 2),
        "hours_on_64_cores": round(lines * (clean / 64 + gather) / 3600, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, default=os.environ.get("NMT_FRONTIER_MIRROR"), help="folder of corpora")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000], help="pairs")
    parser.add_argument("--rival-pairs", type=int, default=20_000, help="(default: %(default)s)")
    parser.add_argument("--runs", type=int, default=9, help="of what is fast (default: %(default)s)")
    parser.add_argument("--opusfilter", type=Path, help="its command, in an environment of its own")
    parser.add_argument("--folder", type=Path, help="scratch space, 10 GB for 10 million pairs")
    parser.add_argument("--output", type=Path, required=True, help="JSON")
    args = parser.parse_args()
    if not args.mirror:
        raise UserError("needs real text: give --mirror or set NMT_FRONTIER_MIRROR")
    folder = Path(tempfile.mkdtemp(dir=args.folder, prefix="corpora-"))
    try:
        pairs = real_pairs(args.mirror)
        held_out = test_sets(args.mirror, folder)
        records.write_blocks(folder / "first.tsv.zst", load(pairs, BLOCK))
        chain(folder / "first.tsv.zst", folder / "first", ALL, 1)  # compiles, once on a machine
        scaling = []
        for size in args.sizes:
            raw = folder / "raw.tsv.zst"
            records.write_blocks(raw, load(pairs, size))
            scaling.append(chain(raw, folder / "full", ALL, PARTS, held_out))
            print(f"{size:,} pairs: {scaling[-1]}", file=sys.stderr, flush=True)
        del pairs
        found = rivals(raw, folder, args.opusfilter, args.rival_pairs, args.runs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    result = {
        "command": f"python benchmarks/corpora.py --sizes {' '.join(map(str, args.sizes))} --rival-pairs"
        f" {args.rival_pairs} --runs {args.runs} --opusfilter {args.opusfilter and 'OPUSFILTER'}",
        "machine": describe(),
        "cores": len(CORES),
        "parts": PARTS,
        "rules": ALL,
        "spoiled": BAD,
        "scaling": scaling,
        "rules_of_rivals": COMMON,
        "rivals": found,
        "ratios": ratios(found, scaling[-1]),
        "projection": projection(scaling[-1]),
    }
    write_json(args.output, result)
    print(json.dumps(result["ratios"]))


if __name__ == "__main__":
    command(main)
