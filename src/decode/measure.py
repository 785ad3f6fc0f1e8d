"""One measurement: one process that loads one model folder once and decodes test sets with one configuration.

The clock runs on loading (engine, its library, SentencePiece), tokenization, decoding and detokenization; a short
warm-up before is reported apart. So is looking for damaged files, which comes first: the clock on loading starts with
all files of the model folder read once. Peak memory is that of the whole process.
"""

import argparse
import hashlib
import itertools
import os
import statistics
import time
from pathlib import Path
from typing import Any

from decode import engines
from decode.pipeline import Pipeline
from decode.tokenizer import Tokenizer
from decode.translate import Translator, decoding_options, positive
from decode.watch import peak_rss_bytes, watch
from formats import records
from formats.errors import UserError, command
from formats.files import write_json, write_text
from formats.loading import intact
from formats.vocabulary_map import VocabularyMap

WARM_UP_SENTENCES = 8
VMAP = "vmap.txt"  # CTranslate2's; Marian's shortlist is binary


def pin(cores: list[int]) -> None:
    """Keep this process, and every thread it will start, on these cores."""
    try:
        os.sched_setaffinity(0, cores)
    except OSError:
        usable = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
        raise UserError(f"cores {', '.join(map(str, cores))} cannot be used; this process may use {usable}") from None


def named_path(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    if not name or not path:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=path")
    return name, Path(path)


def sources(path: Path) -> list[str]:
    """The source side of a test set. Raises UserError for an empty one."""
    if not (lines := [record[0] for record in records.read(path)]):
        raise UserError(f"{path}: a test set without sentences")
    return lines


def references(path: Path, sentences: int) -> list[str]:
    """The target side of the first sentences of a test set; nothing where it has none."""
    return [record[1] for record in itertools.islice(records.read(path), sentences) if len(record) > 1]


def decode(translator: Pipeline, lines: list[str], cores: list[int]) -> tuple[list[str], dict[str, Any]]:
    """Translate a test set on these cores; return the translation and what it took."""
    seconds, counts = dict(translator.seconds), translator.counts.copy()
    with watch(cores) as usage:
        outputs = [output for window in translator.windows(lines) for output in window]
    figures = {"text_seconds": usage.seconds, "cpu_seconds": usage.cpu_seconds, "joules": usage.joules}
    figures |= {"others": usage.others}
    figures |= {f"{stage}_seconds": value - seconds[stage] for stage, value in translator.seconds.items()}
    figures |= {
        "sentences": len(lines),
        "source_words": sum(len(line.split()) for line in lines),
        "source_tokens": translator.counts["source_tokens"] - counts["source_tokens"],
        "target_tokens": translator.counts["target_tokens"] - counts["target_tokens"],
        "output_sha256": hashlib.sha256(text(outputs).encode()).hexdigest(),
    }
    return outputs, figures


def about(translator: Translator, folder: Path, lines: list[str], references: list[str]) -> dict[str, Any]:
    """What explains the times, found after they are taken.

    reference_tokens: pieces of the references, to hold ``target_tokens`` against; None of a text that has none.
    candidates: mean number of pieces that the output layer scores in a batch; None without a map that can be read.
    """
    encode = Tokenizer(folder).encode
    found = {"reference_tokens": sum(len(encode(line)) for line in references) or None, "candidates": None}
    if translator.search.vocabulary_map and (folder / VMAP).exists():
        cut = [*translator.cut(lines)]
        allowed = VocabularyMap.load(folder / VMAP, [sentence for batch in cut for sentence in batch])
        found["candidates"] = statistics.mean(len(allowed.candidates(batch)) for batch in cut)
    return found


def text(outputs: list[str]) -> str:
    return "".join(f"{output}\n" for output in outputs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    decoding_options(parser)
    parser.add_argument("--no-overlap", dest="overlap", action="store_false", help="one stage after the other")
    parser.add_argument("--no-sorting", dest="sorting", action="store_false", help="batches as the sentences come")
    parser.add_argument("--threads", type=positive, default=1, help="that share a batch, in each worker")
    parser.add_argument("--sentences", type=positive, help="the first of each test set (default: all)")
    parser.add_argument("--batch-sentences", type=positive, help="largest batch in sentences, in place of its tokens")
    parser.add_argument("--cores", type=int, nargs="+", required=True, help="the only cores to use")
    parser.add_argument("--test-sets", type=named_path, nargs="+", required=True, help="name=path of records")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    parser.add_argument("--translations", help="beginning of the names of the translations, <this>.<test set>.txt")
    args = parser.parse_args()

    pin(args.cores)
    test_sets = {name: sources(path)[: args.sentences] for name, path in args.test_sets}
    start = time.perf_counter()
    if args.checksums:
        intact(args.model, engines.describe(args.model))
    checksum_seconds = time.perf_counter() - start
    start = time.perf_counter()
    switches = {
        name: getattr(args, name) for name in ("long_lines", "overlap", "sorting", "threads", "batch_sentences")
    }
    translator = Translator(
        args.model, args.beam_size, args.vocabulary_map, args.workers, args.batch_tokens, **switches, checksums=False
    )
    load_seconds = time.perf_counter() - start
    start = time.perf_counter()
    list(translator.translate(next(iter(test_sets.values()))[:WARM_UP_SENTENCES]))
    warmup_seconds = time.perf_counter() - start

    results = {}
    for name, lines in test_sets.items():
        outputs, results[name] = decode(translator, lines, args.cores)
        if args.translations:
            write_text(f"{args.translations}.{name}.txt", text(outputs))
    peak = peak_rss_bytes()  # of decoding, and not of what follows
    for name, path in args.test_sets:
        results[name] |= about(translator, args.model, test_sets[name], references(path, len(test_sets[name])))
    engine = translator.engine
    run = {
        "engine_version": engine.version,
        "effective_compute_type": engine.effective_compute_type,
        "forced_isa": engine.isa,
        "library": engine.library,
        "int8_saturates": engine.int8_saturates,
        "checksum_seconds": checksum_seconds,
        "load_seconds": load_seconds,
        "warmup_seconds": warmup_seconds,
        "peak_rss_bytes": peak,
        "test_sets": results,
    }
    write_json(args.output, run)


if __name__ == "__main__":
    command(main)
