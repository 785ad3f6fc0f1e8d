"""The fastest settings of a model folder on this machine, found by trying, and kept beside the model.

Tried one after the other: the instruction set that CTranslate2 is told to use, then the tokens of a batch. Every
setting is a process of its own (decode.measure) on all cores that this process may use, in turn, run after run; the
highest median of words a second wins. A folder remembers the settings of every machine it was tuned on.
"""

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from decode import machine
from formats import cpu, records
from formats.errors import UserError
from formats.files import read_json, write_json
from formats.progress import progress

NAME = "tuned.json"
BATCHES = (64, 128, 256, 512, 1024, 2048)
RUNS = 3
NOISE = 0.1  # share of the cores that others may use meanwhile
SENTENCES = 2000

Settings = dict[str, Any]  # batch_tokens, isa


def here(beam_size: int) -> str:
    """This machine and search, as settings are remembered for them."""
    facts = machine.describe()
    return f"{facts['cpu']}, {facts['isa']}, {len(os.sched_getaffinity(0))} cores, beam {beam_size}"


def found(folder: Path) -> dict[str, Settings]:
    """All that is remembered. Raises UserError for a damaged file."""
    path = folder / NAME
    try:
        return dict(read_json(path)) if path.exists() else {}
    except (ValueError, TypeError) as error:
        raise UserError(f"{path}: damaged ({error}); delete it, or tune again") from None


def known(folder: Path, beam_size: int = 1) -> Settings:
    """What was found for this machine; empty where nothing was."""
    return found(folder).get(here(beam_size), {})


def isa(folder: Path, beam_size: int = 1) -> str | None:
    """What CTranslate2 is told to use with this model here: as the environment says, else as found, else the widest."""
    return os.environ.get(cpu.ISA) or known(folder, beam_size).get("isa") or cpu.widest()


def tune(folder: Path, lines: Iterable[str], beam_size: int = 1) -> Settings:
    """Find the settings with these lines and write them into the folder. Raises UserError for too little text."""
    remembered = found(folder)
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as scratch:
        text = Path(scratch) / "text.tsv.zst"
        chosen = itertools.islice(filter(None, map(records.sentence, lines)), SENTENCES)
        used, _ = records.write(text, ((line,) for line in chosen))
        if used < SENTENCES // 10:
            raise UserError(f"{used} lines are too few to tune with; give {SENTENCES:,} of the kind to translate")
        widest = cpu.widest()
        best: Settings = {"isa": widest, "batch_tokens": 512 if len(cores) == 1 else 256}
        for setting, values in (("isa", [widest, "AVX2"] if widest else [None]), ("batch_tokens", list(BATCHES))):
            tried = [best | {setting: value} for value in values]
            best, rate = max(_rates(folder, text, cores, tried, beam_size), key=lambda pair: pair[1])
    settings = {**best, "source_words_per_second": round(rate)}
    write_json(folder / NAME, {**remembered, here(beam_size): settings})
    return settings


def _rates(
    folder: Path, text: Path, cores: list[int], tried: list[Settings], beam_size: int
) -> list[tuple[Settings, float]]:
    """Source words a second of each setting, the median of the runs."""
    rates: list[list[float]] = [[] for _ in tried]
    jobs = list(itertools.product(range(RUNS), range(len(tried))))
    for _, number in progress(jobs, "tuning", total=len(jobs), unit="run"):
        rates[number].append(_run(folder, text, cores, tried[number], beam_size))
    return [(setting, statistics.median(found)) for setting, found in zip(tried, rates, strict=True)]


def _run(folder: Path, text: Path, cores: list[int], setting: Settings, beam_size: int) -> float:
    output = text.with_name("run.json")
    call = ["-m", "decode.measure", "--model", folder, "--test-sets", f"text={text}", "--output", output]
    call += ["--beam-size", beam_size, "--workers", len(cores), "--cores", *cores]
    call += ["--batch-tokens", setting["batch_tokens"]]
    environment = {**os.environ, **({cpu.ISA: setting["isa"]} if setting["isa"] else {})}
    done = subprocess.run([sys.executable, *map(str, call)], env=environment, check=False)
    if done.returncode:
        raise UserError(f"{folder}: decoding failed with status {done.returncode}; see above")
    row = read_json(output)["test_sets"]["text"]
    if (row["others"] or 0.0) > NOISE:
        print(f"warning: others used {row['others']:.0%} of the cores; tune again when they do not", file=sys.stderr)
    return row["source_words"] / row["text_seconds"]
