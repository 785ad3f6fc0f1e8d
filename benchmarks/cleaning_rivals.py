"""The rivals of benchmarks/cleaning.py: langid.py, a plain Python loop and OpusFilter, with the rules all have."""

import functools
import itertools
import json
import math
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from cleaning_chain import CORES, chain
from cleaning_load import LANGUAGES
from langid import langid

from common import machine
from corpora import rules
from corpora.characters import characters
from corpora.funnel import KEPT, Funnel
from corpora.language import Identifier
from corpora.text_features import Measured
from formats import records
from formats.batches import batches
from formats.spread import Spread
from measure import in_process
from measure.interleave import in_turn
from measure.usage import Usage, watch

COMMON = {"max_tokens": 100, "max_length_ratio": 3.0, "langid": ["source", "target"], "duplicates": True}
NOISE = 0.1  # share of the core that other processes may use while a rival runs


class Rival(NamedTuple):
    """work: returns how many lines it kept. lines: that it is given. runs: how often it is timed."""

    work: Callable[[], int]
    lines: int
    runs: int


@dataclass
class Race(Usage):
    """kept: lines that the rival kept."""

    kept: int = 0


def raced(rivals: dict[str, Rival], cores: list[int], noise: float) -> dict[str, dict[str, Any]]:
    """Pairs a second of each rival, median and extremes, and the lines it kept; the process is pinned to ``cores``."""

    def way(rival: Rival) -> Callable[[int], Race]:
        def run(_number: int) -> Race:
            with watch(cores) as usage:
                kept = rival.work()
            return Race(**vars(usage), kept=kept)

        return run

    races: dict[str, list[Race]] = {name: [] for name in rivals}
    counts = {name: rival.runs for name, rival in rivals.items()}
    ways = {name: way(rival) for name, rival in rivals.items()}
    for name, _, race in in_turn(ways, counts, noise, "rivals"):
        races[name].append(race)
    rows = {}
    for name, runs in races.items():
        rate = Spread.of(rivals[name].lines / race.seconds for race in runs)
        rounded = {"pairs_per_second": round(rate.middle, 1), "min": round(rate.low, 1), "max": round(rate.high, 1)}
        rows[name] = rounded | {"runs": len(runs), "kept": runs[-1].kept}
        rows[name] |= {"others": in_process.others(runs)} if math.isfinite(noise) else {}
    return rows


def plain_loop(pairs: list[tuple[str, str]], identifier: langid.LanguageIdentifier) -> int:
    """The obvious program: a record at a time, langid.py, a set of the pairs seen."""
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
    """The common rules in this process; the model and tables are loaded before, as for the plain loop."""
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
    """The same rules in OpusFilter 3.3.1 on both cores, start included (with py3langid 0.3.0; it fails with 0.4)."""
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
    """Rates on the first ``lines`` pairs with the common rules. fast_runs: runs of the fast rivals."""
    subset = list(itertools.islice(records.read(raw), lines))
    small = folder / "small.tsv.zst"
    records.write(small, subset)
    machine.pin([CORES[1]])
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
    in_this_process = {
        "langid.py, one core, sentences": Rival(
            lambda: sum(1 for side in sides[:few] if reference.classify(side)), few, 3
        ),
        "our langid, one core, sentences": Rival(lambda: len(classify()), len(sides), fast_runs),
        "plain Python loop, one core": Rival(lambda: plain_loop(subset, reference), lines, 1),
        "our rules, one core": Rival(chain_in_process, lines, fast_runs),
    }
    rates = raced(in_this_process, [CORES[1]], NOISE)
    machine.pin([*CORES])
    if binary:
        commands = {
            "OpusFilter, its command, two cores": Rival(opusfilter(binary, subset, folder / "opus"), lines, 1),
            "our commands, two cores, same pairs": Rival(
                lambda: chain(small, folder / "small", COMMON, 2)["kept"], lines, 3
            ),
        }
        rates |= raced(commands, [*CORES], math.inf)  # their own processes would pass for others
    return {"pairs": lines, **rates}


def ratios(rivals: dict[str, Any], full: dict[str, Any]) -> dict[str, float]:
    """Our rate over theirs. rivals: the result of ``rivals``; full: that of ``chain`` for the largest load."""
    rate = {name: value["pairs_per_second"] for name, value in rivals.items() if isinstance(value, dict)}
    pairs = {
        "langid.py": (rate["our langid, one core, sentences"], rate["langid.py, one core, sentences"]),
        "plain Python loop": (rate["our rules, one core"], rate["plain Python loop, one core"]),
    }
    if "OpusFilter, its command, two cores" in rate:
        theirs = rate["OpusFilter, its command, two cores"]
        pairs["OpusFilter, same pairs, start included"] = (rate["our commands, two cores, same pairs"], theirs)
        pairs["OpusFilter, our chain at full size"] = (full["pairs_per_second"], theirs)
    return {name: round(ours / theirs, 1) for name, (ours, theirs) in pairs.items()}
