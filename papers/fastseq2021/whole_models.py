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
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from msgspec import convert

from findings.comparison import CTRANSLATE2, NATIVE
from nmt_frontier import machine
from nmt_frontier.command_line import positive
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_json
from papers.fastseq2021.documents import (
    BATCHES,
    CACHE,
    IDEAS,
    NGRAMS,
    OVERLAP,
    TRANSFORMERS,
    Times,
    Uncached,
    WayRow,
    WholeModel,
)
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


class TimedWay(NamedTuple):
    """As ``documents.WayRow``, and what translates."""

    engine: str
    compute_type: str
    batch: int
    ideas: tuple[str, ...]
    translate: Translate

    @property
    def overlap(self) -> bool:
        return self.engine == CTRANSLATE2 or OVERLAP in self.ideas

    def is_of(self, row: WayRow) -> bool:
        return self[:4] == (row["engine"], row["compute_type"], row["batch"], tuple(row["ideas"]))

    def __str__(self) -> str:
        return " ".join(map(str, (*self[:3], *self.ideas)))


def ways(shape: Shape, forced: Forced, folder: Path, cores: int) -> Iterator[TimedWay]:
    """In the order in which they take turns."""
    few, many = shape.batches
    baseline = in_transformers(forced, folder / "huggingface", cores)
    for batch in shape.batches:
        yield TimedWay(TRANSFORMERS, FLOAT32, batch, (), baseline)
    ideas = tuple(idea for idea in IDEAS if shape.ngram or idea != NGRAMS)
    native = cache(partial(in_native, forced, folder / "native/native-float32", cores))  # a model for each of its sets
    for taken in (ideas[:count] for count in range(len(ideas) + 1)):
        without = frozenset({NGRAMS, CACHE}.intersection(ideas).difference(taken))
        yield TimedWay(NATIVE, FLOAT32, many if BATCHES in taken else few, taken, native(without))
    yield TimedWay(NATIVE, INT8, many, ideas, in_native(forced, folder / "native/native-int8", cores))
    if shape.peer:
        for kind in TYPES:
            yield TimedWay(CTRANSLATE2, kind, many, (), in_ctranslate2(forced, folder / "ctranslate2", cores, kind))


def measure(name: str, args: argparse.Namespace, before: WholeModel | None) -> WholeModel:
    """The entry of a model, with the rounds of before."""
    shape, folder = MODELS[name], args.folder / name
    prepare(shape, folder, args.tokenizer)
    forced = Forced(shape, folder / "native/native-float32")
    lines = lines_of(args.text, shape, forced)
    taking = [*ways(shape, forced, folder, len(machine.cores()))]
    for way in taking:  # pages of weights, and threads
        forced.run(way.translate, [lines[0][:200]], 1, False)
    known = before["ways"] if before else []
    seconds = {way: [spent for row in known if way.is_of(row) for spent in row["seconds"]] for way in taking}
    outputs: dict[TimedWay, Numbers] = {}
    for number in range(args.rounds):
        for way in taking:
            spent, outputs[way] = forced.run(way.translate, lines, way.batch, way.overlap)
            seconds[way].append(round(spent, 3))
            print(f"{name}, round {number + 1}: {way}: {spent:.2f} s", flush=True)
    expected = outputs[taking[0]]
    rows = [row(way, seconds[way], sum(map(list.__eq__, outputs[way], expected))) for way in taking]
    add_ratios(rows, shape.sentences)
    pieces = sum(map(len, map(forced.tokenizer.encode, lines)))
    made = {**shape._asdict(), "cores": len(machine.cores()), "pieces": pieces, "ways": rows}
    return convert(made, WholeModel)


def row(way: TimedWay, seconds: list[float], same: int) -> WayRow:
    return {
        "engine": way.engine,
        "compute_type": way.compute_type,
        "batch": way.batch,
        "ideas": [*way.ideas],
        "seconds": seconds,
        "same": same,
    }


def without_cache(name: str, args: argparse.Namespace, before: Uncached | None) -> Uncached:
    """One source in transformers, with and without the keys and values of earlier steps, with the rounds of before."""
    shape, folder = MODELS[name], args.folder / name
    prepare(shape, folder, args.tokenizer)
    forced = Forced(shape, folder / "native/native-float32")
    lines = lines_of(args.text, shape, forced)[:1]
    cached = {"cached": True, "uncached": False}
    taking = {
        label: in_transformers(forced, folder / "huggingface", len(machine.cores()), use_cache)
        for label, use_cache in cached.items()
    }
    forced.run(taking["cached"], [lines[0][:200]], 1, False)  # pages of weights, and threads
    seconds = {label: [*before["seconds"][label]] if before else [] for label in taking}
    for _ in range(args.rounds):
        for label, translate in taking.items():
            seconds[label].append(round(forced.run(translate, lines, 1, False)[0], 3))
            print(f"{name}: {label}: {seconds[label][-1]:.2f} s", flush=True)
    return {"sources": len(lines), "seconds": seconds}


def add_ratios(rows: list[WayRow], sentences: int) -> None:
    """Sources per second, and how many times faster ways are, round by round: than transformers with its better
    batch, than the way without the last idea, and than CTranslate2 in the same type."""
    baseline = min((row for row in rows if row["engine"] == TRANSFORMERS), key=middle)
    for row in rows:
        row["sources_per_second"] = round(sentences / middle(row), 3)
        row["times_faster"] = None if row is baseline else faster(row, baseline)
    native = [row for row in rows if row["engine"] == NATIVE]
    steps = [row for row in native if row["compute_type"] == FLOAT32]
    for before, step in itertools.pairwise(steps):
        step["by_idea"] = faster(step, before)
    complete = [row for row in native if row is steps[-1] or row not in steps]
    for own, peer in itertools.product(complete, (row for row in rows if row["engine"] == CTRANSLATE2)):
        if own["compute_type"] == peer["compute_type"]:
            own["over_ctranslate2"] = faster(own, peer)


def middle(row: WayRow) -> float:
    return statistics.median(row["seconds"])


def faster(row: WayRow, other: WayRow) -> Times:
    values = [slow / fast for slow, fast in zip(other["seconds"], row["seconds"], strict=True)]
    median, lowest, highest = (round(value, 3) for value in (statistics.median(values), min(values), max(values)))
    return {"median": median, "lowest": lowest, "highest": highest}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--without-cache", action="store_true", help="only transformers, with and without its cache")
    args = parser.parse_args()
    take, key = (without_cache, "without_cache") if args.without_cache else (measure, "models")
    result = {"models": {}} | (read_json(args.output) if args.output.exists() else {}) | described()
    for name in args.models:
        entries = result.setdefault(key, {})
        entries[name] = take(name, args, entries.get(name))
        write_json(args.output, result)


if __name__ == "__main__":
    command(main)
