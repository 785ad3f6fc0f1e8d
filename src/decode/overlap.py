"""What the pipeline costs over the bare engine: one stage after the other against all overlapping (FastSeq, section
4.3).

Three ways to the same translations, in turn: the engine alone on batches of pieces that were cut before the clock
runs (none of it is reading, tokenizing or joining text); the pipeline with each stage waiting for the one before; the
pipeline with overlapping stages. Where a core is free, overlapping should cost nothing. On a single core no overlap
can hide the time of tokenizing: what is left then is what the engine does not do.
"""

import argparse
import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from decode import engines, turns
from decode.engines import Batch, Engine, Search
from decode.measure import pin, sources
from decode.pipeline import WINDOW_BATCHES, Line, Pipeline, batches, windows
from decode.tokenizer import Tokenizer
from decode.translate import MANY_CORES, ONE_CORE, positive
from formats.errors import UserError, command
from formats.files import write_json

LINES = 40_000
ENGINE, SYNCHRONOUS, ASYNCHRONOUS = "engine", "synchronous", "asynchronous"


def cut(tokenizer: Tokenizer, lines: list[str], batch_tokens: int, workers: int) -> list[Batch]:
    """The batches that the pipeline makes of these lines."""
    encoded = (Line([tokenizer.encode(line)]) for line in lines)
    return [
        [window.parts[place] for place in places]
        for window in windows(encoded, WINDOW_BATCHES * batch_tokens * workers)
        for places in batches(window.parts, batch_tokens)
    ]


def agree(engine: Engine, prepared: list[Batch], pipelines: dict[str, Pipeline], lines: list[str]) -> None:
    """Raises UserError where the ways do not lead to the same pieces and lines."""
    one, other = (
        [line for window in pipelines[way].windows(lines) for line in window] for way in (SYNCHRONOUS, ASYNCHRONOUS)
    )
    pieces = sum(len(output) for batch in prepared for output in engine.translate(batch))
    if one != other or any(pipeline.counts["target_tokens"] != pieces for pipeline in pipelines.values()):
        raise UserError("the pipeline's translations are not those of the engine, so their times cannot be compared")


def compared(lines: list[str], cores: list[int], workers: int, args: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each way, with ``workers`` workers on these cores."""
    pin(cores)  # what is started from here on stays there
    engine, tokenizer = engines.load(args.model, Search(workers=workers)), Tokenizer(args.model)
    batch_tokens = ONE_CORE if workers == 1 else MANY_CORES
    prepared = cut(tokenizer, lines, batch_tokens, workers)
    pipelines = {
        way: Pipeline(tokenizer, engine.translate, batch_tokens, workers, overlap=way == ASYNCHRONOUS)
        for way in (SYNCHRONOUS, ASYNCHRONOUS)
    }
    agree(engine, prepared, pipelines, lines)
    with ThreadPoolExecutor(workers) as pool:
        ways = {ENGINE: lambda: list(pool.map(engine.translate, prepared))}
        ways |= {way: lambda pipeline=pipeline: list(pipeline.windows(lines)) for way, pipeline in pipelines.items()}
        usages = turns.timed(ways, args, cores, f"{workers} workers on {len(cores)} cores")
    words = sum(len(line.split()) for line in lines)
    setting = {"workers": workers, "cores": cores, "batch_tokens": batch_tokens}
    return [
        setting
        | {"way": way, "source_words": words, **turns.seconds(found)}
        | {"source_words_per_second": words / turns.seconds(found)["seconds"]}
        | turns.ratio("times_engine", found, usages[ENGINE], "seconds")
        for way, found in usages.items()
    ]


def settings(cores: list[int]) -> list[tuple[list[int], int]]:
    """One worker on one core; where there are more, one that has a core beside it, and a worker on every core."""
    more = [(cores[:2], 1), (cores, len(cores))] if len(cores) > 1 else []
    return [(cores[:1], 1), *more]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder")
    parser.add_argument("--lines", type=positive, default=LINES, help="of the test set, again and again")
    turns.options(parser)
    args = parser.parse_args()

    description = engines.describe(args.model)
    lines = list(itertools.islice(itertools.cycle(sources(args.test_set)[: args.sentences]), args.lines))
    cores = sorted(os.sched_getaffinity(0))
    cores.sort(key=lambda core: core != args.core)  # that one first
    conditions = turns.conditions(args) | {"lines": len(lines), "model": description}
    rows = [row for some, workers in settings(cores) for row in compared(lines, some, workers, args)]
    write_json(args.output, {**conditions, "rows": rows})


if __name__ == "__main__":
    command(main)
