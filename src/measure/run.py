"""One run of a measurement: a process that loads one model folder and decodes test sets with one configuration.

Loading (engine, its library, SentencePiece), tokenization, decoding and detokenization are timed. Verifying the
checksums and a short warm-up are timed apart; the former reads all files once before loading. Peak memory is that of
the whole process until it has decoded the first test set.
"""

import argparse
import hashlib
import itertools
import statistics
import time
from pathlib import Path

import msgspec

from decode import engines
from formats.records import references, sources
from measure import code_fingerprint
from measure.task import DecodedTestSet, Run, RunTask
from measure.timing_loop import peak_rss_bytes, watch
from nmt_frontier import machine
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json, write_text
from nmt_frontier.model import model_folder
from nmt_frontier.search import loading, switches
from nmt_frontier.search.engine import Engine
from nmt_frontier.translator import LineTokenizer, Translator

WARM_UP_SENTENCES = 8


def decode(translator: Translator, lines: list[str], cores: list[int]) -> tuple[list[str], DecodedTestSet]:
    """Translate a test set on these cores."""
    pipeline = translator.pipeline
    seconds, counts = dict(pipeline.seconds), pipeline.counts.copy()
    with watch(cores) as usage:
        outputs = [output for window in translator.windows(lines) for output in window]
    passed = {stage: value - seconds[stage] for stage, value in pipeline.seconds.items()}
    return outputs, DecodedTestSet(
        text_seconds=usage.seconds,
        cpu_seconds=usage.cpu_seconds,
        joules=usage.joules,
        others=usage.others,
        tokenization_seconds=passed["tokenization"],
        decode_seconds=passed["decode"],
        detokenization_seconds=passed["detokenization"],
        sentences=len(lines),
        source_words=sum(len(line.split()) for line in lines),
        source_tokens=pipeline.counts["source_tokens"] - counts["source_tokens"],
        target_tokens=pipeline.counts["target_tokens"] - counts["target_tokens"],
        output_sha256=hashlib.sha256(text(outputs).encode()).hexdigest(),
    )


def about(translator: Translator, folder: Path, lines: list[str], references: list[str]) -> dict[str, float | None]:
    """The fields of a run that explain its times, the same in every run.

    Counted after timing, of lines that are tokenized again: their pieces would count in the peak memory if they stayed.

    reference_tokens: pieces of the references, to compare ``target_tokens`` with; None without references. candidates:
    mean number of pieces that the output layer scores for a sentence, or for a batch if the map is per batch; None
    without a map, or with one that Python cannot read.
    """
    encode = LineTokenizer(folder, translator.description).encode
    reference_tokens = sum(len(encode(line)) for line in references)
    fields: dict[str, float | None] = {"reference_tokens": reference_tokens or None, "candidates": None}
    if translator.search.vocabulary_map:
        batches = [*translator.pipeline.cut(lines)]
        sentences = [*itertools.chain.from_iterable(batches)]
        has = "map_per_sentence" in switches.of_engine(translator.engine.name)
        by_itself = has and "map_per_sentence" not in translator.search.without
        together = [[sentence] for sentence in sentences] if by_itself else batches
        if vocabulary_map := translator.engine.read_map(folder, sentences):
            fields["candidates"] = statistics.mean(len(vocabulary_map.candidates(group)) for group in together)
    return fields


def other_engines(engine: Engine) -> set[str]:
    """Modules of the engines that did not decode, whose changes do not invalidate the run."""
    return {other.__module__ for other in engines.ENGINES.values()} - {base.__module__ for base in type(engine).__mro__}


def text(outputs: list[str]) -> str:
    return "".join(f"{output}\n" for output in outputs)


def loaded(task: RunTask, first: list[str]) -> tuple[Translator, dict[str, float]]:
    """The translator, warmed up with the first lines, and the seconds of each step, by their fields."""
    start = time.perf_counter()
    model_folder.check(task.model, loading.describe(task.model))
    checked = time.perf_counter()
    translator = Translator(task.model, checksums=False, **task.options)
    opened = time.perf_counter()
    list(translator.translate(first))
    seconds = {"load_seconds": opened - checked, "warmup_seconds": time.perf_counter() - opened}
    return translator, {"checksum_seconds": checked - start, **seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", type=there, help="JSON of measure.task")
    task = RunTask.read(parser.parse_args().task)
    model, cores = task.model, [*task.decoding.cores]

    machine.pin(cores)
    test_sets = {name: sources(path)[: task.decoding.sentences] for name, path in task.test_sets}
    translator, seconds = loaded(task, next(iter(test_sets.values()))[:WARM_UP_SENTENCES])
    results, peaks = {}, []
    for name, lines in test_sets.items():
        outputs, results[name] = decode(translator, lines, cores)
        peaks.append(peak_rss_bytes())
        if task.translations:
            write_text(f"{task.translations}.{name}.txt", text(outputs))
    for name, path in task.test_sets if task.translations else ():
        counts = about(translator, model, test_sets[name], references(path, len(test_sets[name])))
        results[name] = msgspec.structs.replace(results[name], **counts)
    engine = translator.engine
    run = Run(
        engine_version=engine.version,
        effective_compute_type=engine.effective_compute_type,
        forced_isa=engine.isa,
        library=engine.library,
        int8_saturates=engine.int8_saturates,
        **seconds,
        peak_rss_bytes=peaks[0],  # of the timed test set, which every run decodes
        code=code_fingerprint.checksums(unused=other_engines(engine)),
        test_sets=results,
    )
    write_json(task.output, run)


if __name__ == "__main__":
    command(main)
