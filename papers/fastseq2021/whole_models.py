"""Whole models of table 1 on a CPU, with random weights, in transformers, CTranslate2 and the native engine.

    python -m papers.fastseq2021.whole_models bart --text news.en --tokenizer vocab.spm --folder models --output a.json

A model is made once below the folder: as Hugging Face's, its weights drawn at random, and exported. Its translations
get the paper's length by force, so that random weights do not matter. All ways go from text to text on the same cores.
The native engine starts without FastSeq's ideas, which are added in the order of table 2: overlapping stages, n-grams
found with vectors, one copy of the encoder's keys and values for all beams, larger batches; then int8. Ways take turns
in each round; further calls add rounds to the file. Pieces in float32 are compared with those of transformers.

Models without a row of the paper are what people run. It needs torch, transformers and CTranslate2
(requirements-huggingface.lock) and src/ on PYTHONPATH.
"""

import argparse
import itertools
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nmt_frontier import machine
from nmt_frontier.command_line import positive
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_json
from papers.fastseq2021.random_models import MODELS, Shape
from papers.fastseq2021.whole_decoding import (
    FLOAT32,
    INT8,
    TYPES,
    Forced,
    Numbers,
    Translate,
    arguments,
    described,
    in_ctranslate2,
    in_native,
    in_transformers,
    lines_of,
    prepare,
)


class Way(NamedTuple):
    translate: Translate
    batch: int
    overlap: bool = False


def ways(shape: Shape, forced: Forced, folder: Path, cores: int) -> Iterator[tuple[str, Way]]:
    """In the order in which they take turns."""
    few, many = shape.batches
    baseline = in_transformers(forced, folder / "huggingface", cores)
    for batch in shape.batches:
        yield f"transformers, batches of {batch}", Way(baseline, batch)
    float32 = folder / "native/native-float32"
    steps = [("", frozenset({"shared_cache", "parallel_scan"})), (", n-grams", frozenset({"shared_cache"}))]
    plain = in_native(forced, float32, cores, steps[0 if shape.ngram else 1][1])
    name = f"native, {FLOAT32}"
    yield name, Way(plain, few)
    yield (name := f"{name}, overlap"), Way(plain, few, True)
    if shape.ngram:
        yield (name := f"{name}, n-grams"), Way(in_native(forced, float32, cores, steps[1][1]), few, True)
    full = in_native(forced, float32, cores)
    yield (name := f"{name}, cache"), Way(full, few, True)
    yield f"{name}, larger batches", Way(full, many, True)
    yield f"native, {INT8}", Way(in_native(forced, folder / "native/native-int8", cores), many, True)
    if shape.peer:
        converted = folder / "ctranslate2"
        for kind in TYPES:
            yield f"CTranslate2, {kind}", Way(in_ctranslate2(forced, converted, cores, kind), many, True)


def measure(name: str, args: argparse.Namespace, before: dict[str, Any]) -> dict[str, Any]:
    """The entry of a model, with the rounds of before."""
    shape, folder = MODELS[name], args.folder / name
    prepare(shape, folder, args.tokenizer)
    forced = Forced(shape, folder / "native/native-float32")
    lines = lines_of(args.text, shape, forced)
    taking = dict(ways(shape, forced, folder, len(machine.cores())))
    for way in taking.values():  # pages of weights, and threads
        forced.run(way.translate, [lines[0][:200]], 1, False)
    seconds: dict[str, list[float]] = {way: [*before.get("seconds", {}).get(way, [])] for way in taking}
    outputs: dict[str, Numbers] = {}
    for number in range(args.rounds):
        for label, way in taking.items():
            spent, outputs[label] = forced.run(way.translate, lines, way.batch, way.overlap)
            seconds[label].append(round(spent, 3))
            print(f"{name}, round {number + 1}: {label}: {spent:.2f} s", flush=True)
    expected = next(iter(outputs.values()))
    same = {label: sum(map(list.__eq__, found, expected)) for label, found in outputs.items()}
    pieces = sum(map(len, map(forced.tokenizer.encode, lines)))
    work = {**shape._asdict(), "cores": len(machine.cores()), "pieces": pieces}
    return {**work, "seconds": seconds, "same": same, **ratios(shape, seconds)}


def without_cache(name: str, args: argparse.Namespace, before: dict[str, Any]) -> dict[str, Any]:
    """One source in transformers, with and without the keys and values of earlier steps, with the rounds of before."""
    shape, folder = MODELS[name], args.folder / name
    prepare(shape, folder, args.tokenizer)
    forced = Forced(shape, folder / "native/native-float32")
    lines = lines_of(args.text, shape, forced)[:1]
    cached = {"cached": True, "not cached": False}
    taking = {
        label: in_transformers(forced, folder / "huggingface", len(machine.cores()), use_cache)
        for label, use_cache in cached.items()
    }
    forced.run(taking["cached"], [lines[0][:200]], 1, False)  # pages of weights, and threads
    seconds: dict[str, list[float]] = {way: [*before.get("seconds", {}).get(way, [])] for way in taking}
    for _ in range(args.rounds):
        for label, translate in taking.items():
            seconds[label].append(round(forced.run(translate, lines, 1, False)[0], 3))
            print(f"{name}: {label}: {seconds[label][-1]:.2f} s", flush=True)
    return {"sources": len(lines), "seconds": seconds}


def ratios(shape: Shape, seconds: dict[str, list[float]]) -> dict[str, Any]:
    """Sources per second, and how many times faster ways are, round by round: than transformers with its better
    batch, than the way without the last idea, and than CTranslate2 in the same type."""
    middle = {way: statistics.median(runs) for way, runs in seconds.items()}
    baseline = min((way for way in seconds if way.startswith("transformers")), key=middle.__getitem__)
    steps = [way for way in seconds if way.startswith(f"native, {FLOAT32}")]
    peers = {steps[-1]: f"CTranslate2, {FLOAT32}", f"native, {INT8}": f"CTranslate2, {INT8}"}

    def faster(way: str, other: str) -> dict[str, float]:
        values = [slow / fast for slow, fast in zip(seconds[other], seconds[way], strict=True)]
        found = {"median": statistics.median(values), "lowest": min(values), "highest": max(values)}
        return {name: round(value, 3) for name, value in found.items()}

    return {
        "sources_per_second": {way: round(shape.sentences / spent, 3) for way, spent in middle.items()},
        "baseline": baseline,
        "times_faster": {way: faster(way, baseline) for way in seconds if way != baseline},
        "by_idea": {way: faster(way, other) for other, way in itertools.pairwise(steps)},
        "over_ctranslate2": {way: faster(way, peer) for way, peer in peers.items() if peer in seconds},
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--without-cache", action="store_true", help="only transformers, with and without its cache")
    args = parser.parse_args()
    take, key = (without_cache, "without_cache") if args.without_cache else (measure, "models")
    result = {"models": {}} | (read_json(args.output) if args.output.exists() else {}) | described()
    for name in args.models:
        entries = result.setdefault(key, {})
        entries[name] = take(name, args, entries.get(name, {}))
        write_json(args.output, result)


if __name__ == "__main__":
    command(main)
