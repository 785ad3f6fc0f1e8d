"""The cost of the pipeline over the bare engine, with and without overlapping stages (FastSeq, section 4.3).

Three ways to the same translations: the engine alone, on batches of pieces prepared beforehand; the pipeline with each
stage waiting for the one before; the pipeline with overlapping stages. With a spare core the overlapping pipeline
should cost nothing; on one core the difference is the work outside the engine. A faster engine hides less of it, so
model folders of several engines are measured, one after the other.
"""

import argparse
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from msgspec import convert

from formats.records import sources
from formats.spread import Spread
from measure import in_process
from measure.in_process import Session
from nmt_frontier import machine
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from nmt_frontier.limits import ONE_CORE
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Batch, Engine, Search
from nmt_frontier.search.pipeline import MANY_CORES, Pipeline
from nmt_frontier.translator import LineTokenizer
from papers.fastseq2021.documents import ASYNCHRONOUS, ENGINE, SYNCHRONOUS, PipelineRow

LINES = 10_000


def agree(engine: Engine, prepared: list[Batch], pipelines: dict[str, Pipeline], lines: list[str]) -> None:
    """Raises UserError where the ways do not yield the same pieces and lines."""
    synchronous, asynchronous = (
        [line for window in pipelines[way].windows(lines) for line in window] for way in (SYNCHRONOUS, ASYNCHRONOUS)
    )
    pieces = sum(len(output) for batch in prepared for output in engine.translate(batch))
    counts = {pipeline.counts["target_tokens"] for pipeline in pipelines.values()}
    if synchronous != asynchronous or counts != {pieces}:
        raise UserError("the pipeline's translations are not those of the engine, so their times cannot be compared")


def compared(model: Path, lines: list[str], cores: list[int], workers: int, session: Session) -> list[PipelineRow]:
    """A row for each way, with this number of workers on these cores."""
    machine.pin(cores)  # before the engine starts its threads
    engine, tokenizer = loading.load(model, Search(workers=workers)), LineTokenizer(model)
    batch_tokens = ONE_CORE if workers == 1 else MANY_CORES
    pipelines = {
        way: Pipeline(tokenizer, engine.translate, batch_tokens, workers, overlap=way == ASYNCHRONOUS)
        for way in (SYNCHRONOUS, ASYNCHRONOUS)
    }
    prepared = [*pipelines[SYNCHRONOUS].cut(lines)]
    agree(engine, prepared, pipelines, lines)
    with ThreadPoolExecutor(workers) as pool:
        calls: dict[str, Callable[[], object]] = {ENGINE: lambda: list(pool.map(engine.translate, prepared))}
        calls |= {way: partial(translated, pipeline, lines) for way, pipeline in pipelines.items()}
        usages = in_process.timed(calls, session, cores, f"{workers} workers on {len(cores)} cores")
    words = sum(len(line.split()) for line in lines)
    setting = {"engine_label": engine.label, "workers": workers, "cores": cores, "batch_tokens": batch_tokens}
    rows = []
    for way, runs in usages.items():
        speed = words / Spread.of(usage.seconds for usage in runs).middle
        row = {**setting, "way": way, "source_words": words, "source_words_per_second": speed}
        times = in_process.seconds(runs) | in_process.ratio("times_engine", runs, usages[ENGINE], "seconds")
        rows.append(convert(row | times, PipelineRow))
    return rows


def translated(pipeline: Pipeline, lines: list[str]) -> list[object]:
    return [*pipeline.windows(lines)]


def settings(cores: list[int]) -> list[tuple[list[int], int]]:
    """Cores and workers: one on one core; on larger machines also one on two cores, and a worker on every core."""
    on_several = [(cores[:2], 1), (cores, len(cores))] if len(cores) > 1 else []
    return [(cores[:1], 1), *on_several]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=there, nargs="+", required=True, help="folders of one system, an engine each")
    parser.add_argument("--lines", type=positive, default=LINES, help="of the test set, repeated as needed")
    in_process.options(parser)
    args = parser.parse_args()

    description = loading.describe(args.models[0])
    lines = list(itertools.islice(itertools.cycle(sources(args.test_set)[: args.sentences]), args.lines))
    cores = sorted(machine.cores(), key=lambda core: core != args.core)  # --core first
    session, shared = in_process.prepared(args)  # after ``cores``, as it leaves one only
    rows = [
        row
        for model in args.models
        for used, workers in settings(cores)
        for row in compared(model, lines, used, workers, session)
    ]
    write_json(args.output, {**shared, "lines": len(lines), "model": description, "rows": rows})


if __name__ == "__main__":
    command(main)
