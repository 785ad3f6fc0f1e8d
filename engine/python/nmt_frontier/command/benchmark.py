"""Measure how fast a model folder translates a text on this machine, and write a record of it to send.

It translates the text from memory: greedy and with a beam, on one core and on all that it may use, each several times.
A speed is source words (at white space) over seconds, loading left out: from text to text, and of the engine alone. The
share is that of the multiplications and additions in the products, over those that the same cores would make at the
peak, which is measured first: the engine's product with all data in the first-level cache.

Run it alone: whatever else runs slows it down. On one core no stages overlap, so that each has its own time.
"""

import argparse
import os
import platform
import statistics
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, TypedDict

from nmt_frontier import cpu, machine
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError
from nmt_frontier.files import sha256, write_json
from nmt_frontier.model import model_folder
from nmt_frontier.search import loading, native
from nmt_frontier.text.encodings import utf8_lines
from nmt_frontier.translator import Translator

RECORD = 1  # its format
OUTPUT = Path("nmt-frontier-benchmark.json")
SENT = """is the record to send: this machine's CPU, system and versions, the model's type, size and checksum,
the text's size and checksum, and times. It names no person, machine or file, and has no text."""
STEADY = 1.0  # seconds of a run
WARM = 64  # lines that are translated before the first run


class Run(TypedDict):
    """One translation of the text. Seconds: of all, and of stages; those of decoding are the mean of all cores."""

    seconds: float
    tokenization: float
    decode: float
    detokenization: float
    operations: int  # multiplications and additions of all products


class Speed(TypedDict):
    """Some runs with the same settings, and their medians.

    pinned: whether the system kept the threads on these cores. load_seconds: opening the folder, with its checksums.
    """

    cores: int
    pinned: bool
    beam_size: int
    batch_tokens: int
    load_seconds: float
    words_per_second: float
    decoded_words_per_second: float
    share_of_peak: float
    runs: list[Run]


def measure(folder: Path, lines: Sequence[str], beam: int, cores: Sequence[int], runs: int, peak: float) -> Speed:
    """Translate the lines so often, on these cores. peak: operations per second of one."""
    pinned = pin(cores)
    start = time.perf_counter()
    without = {"overlap"} if len(cores) == 1 else set()
    translator = Translator(folder, beam, workers=len(cores), without=without)
    loaded = time.perf_counter() - start
    engine = translator.engine
    assert isinstance(engine, native.Native)  # which `described` has asked for
    found: list[Run] = []
    try:
        for _ in translator.translate(lines[:WARM]):
            pass
        for _ in range(runs):
            found.append(_run(translator, engine, lines))
    finally:
        translator.close()
    words = sum(len(line.split()) for line in lines)
    return {
        "cores": len(cores),
        "pinned": pinned,
        "beam_size": beam,
        "batch_tokens": translator.pipeline.batch_tokens,
        "load_seconds": loaded,
        "words_per_second": statistics.median(words / run["seconds"] for run in found),
        "decoded_words_per_second": statistics.median(words / run["decode"] for run in found),
        "share_of_peak": statistics.median(run["operations"] / run["decode"] / len(cores) / peak for run in found),
        "runs": found,
    }


def pin(cores: Sequence[int]) -> bool:
    """Keep this process on these cores, where the system can."""
    try:
        machine.pin(cores)
    except UserError:
        return False
    return True


def _run(translator: Translator, engine: native.Native, lines: Sequence[str]) -> Run:
    stages, operations = {**translator.pipeline.seconds}, engine.operations()
    start = time.perf_counter()
    for _ in translator.translate(lines):
        pass
    seconds = time.perf_counter() - start
    spent = {stage: value - stages[stage] for stage, value in translator.pipeline.seconds.items()}
    return {
        "seconds": seconds,
        "tokenization": spent["tokenization"],
        "decode": spent["decode"],
        "detokenization": spent["detokenization"],
        "operations": engine.operations() - operations,
    }


def described(folder: Path) -> dict[str, Any]:
    """What the record says of a model: nothing that names it. Raises UserError for one of another engine."""
    found = loading.describe(folder)
    if loading.of_description(found) is not native.Native:
        raise UserError(f"{folder}: is for {found.engine}; this measures the native engine")
    known = {"type": found.quantization, "shape": found.shape, "parameters": found.parameters}
    return {**known, "vocabulary_map": found.vocabulary_map, "sha256": model_folder.checksum([folder])}


def conditions(cores: Sequence[int]) -> dict[str, Any]:
    """What the record says of the machine and the versions."""
    engine = native.library()
    return {
        "cpu": machine.describe()["cpu"],
        "cpu_facts": {name: value for name, value in cpu.facts().items() if name in cpu.KIND},
        "cores": len(cores),
        "isa": engine.isa(),
        "sets": engine.available_sets(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("nmt-frontier", "sentencepiece", "numpy")},
        "load_average": machine.load_average() if hasattr(os, "getloadavg") else None,
    }


def shown(record: dict[str, Any]) -> str:
    """The record as text."""
    model, text, here, speeds = (record[name] for name in ("model", "text", "machine", "speeds"))
    first = speeds[0]["runs"]
    stages = (
        f"{statistics.median(run[name] for run in first):.3f} s of {name}"
        for name in ("tokenization", "detokenization")
    )
    lines = [
        f"{here['cpu']}, {here['cores']} cores, instruction set {here['isa']}",
        f"load average before: {here['load_average']}",
        f"a model in {model['type']}, {text['lines']:,} lines, {text['words']:,} words, {len(first)} runs",
        f"peak of a core: {record['peak'] / 1e9:,.0f} x 10^9 operations a second",
        f"apart from decoding: {speeds[0]['load_seconds']:.3f} s of loading, {', '.join(stages)}",
        "",
        f"{'cores':>5} {'beam':>4}  {'words/s, text to text':<32} {'words/s, engine':>15} {'of the peak':>11}",
    ]
    for speed in speeds:
        every = [text["words"] / run["seconds"] for run in speed["runs"]]
        spread = f"{speed['words_per_second']:,.0f} ({min(every):,.0f} to {max(every):,.0f})"
        alone, share = f"{speed['decoded_words_per_second']:,.0f}", f"{speed['share_of_peak']:.0%}"
        lines.append(f"{speed['cores']:>5} {speed['beam_size']:>4}  {spread:<32} {alone:>15} {share:>11}")
    if (shortest := min(run["seconds"] for speed in speeds for run in speed["runs"])) < STEADY:
        lines.append(f"the shortest run took {shortest:.2f} s: a longer text gives steadier numbers")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="nmt-frontier benchmark", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=there, metavar="FOLDER", help="model folder")
    parser.add_argument("text", type=there, metavar="TEXT", help="lines to translate, some thousand at best")
    parser.add_argument("--beam-size", type=positive, default=4, help="beside greedy search (default: 4)")
    parser.add_argument("--runs", type=positive, default=5, help="of each setting (default: 5)")
    parser.add_argument("--cores", type=positive, help="to use beside one alone (default: all)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help=f"the record (default: {OUTPUT})")
    args = parser.parse_args(arguments)

    model, cores = described(args.folder), [*machine.cores()][: args.cores]
    with open(args.text, "rb") as file:
        text = [line.decode(errors="replace").rstrip("\r\n") for line in utf8_lines(file, str(args.text), None)]
    if not (words := sum(len(line.split()) for line in text)):
        raise UserError(f"{args.text}: has no words")
    record: dict[str, Any] = {"format": RECORD, "machine": conditions(cores), "model": model}
    record["text"] = {"lines": len(text), "words": words, "sha256": sha256(args.text)}
    pin(cores[:1])
    record["peak"] = _peak(model["type"])
    settings = [(beam, used) for used in dict.fromkeys((1, len(cores))) for beam in dict.fromkeys((1, args.beam_size))]
    record["speeds"] = [
        measure(args.folder, text, beam, cores[:used], args.runs, record["peak"]) for beam, used in settings
    ]
    write_json(args.output, record)
    print(shown(record))
    print(f"\n{args.output} {SENT}")


def _peak(kind: str) -> float:
    from nmt_frontier.peaks import peak  # inside: a wrong folder or text is told first

    return peak(kind)
