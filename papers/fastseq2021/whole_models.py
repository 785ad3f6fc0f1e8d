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
import gzip
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from formats import ctranslate2_loading, experiments
from nmt_frontier import machine
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import read_json, write_json
from nmt_frontier.model import native_weights
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.search import native
from nmt_frontier.search.engine import Batch
from nmt_frontier.search.pipeline import Pipeline
from nmt_frontier.translator import Tokenizer
from papers.fastseq2021.random_models import LANGUAGES, MODELS, Shape, make

Numbers = list[list[int]]
Translate = Callable[[Numbers], Numbers]  # the best hypothesis of each source, without what it begins with

TYPES = FLOAT32, INT8 = "float32", "int8"


class Forced:
    """What all ways share: the numbers of a sentence's pieces, and the length of its translation."""

    def __init__(self, shape: Shape, folder: Path):
        self.shape, self.vocabulary, self.tokenizer = shape, Vocabulary.read(folder), Tokenizer(folder)
        vocabulary = self.vocabulary
        self.begin = [vocabulary.target_numbers[piece] for piece in vocabulary.target_prefix]
        frame = len(vocabulary.prefix) + len(vocabulary.suffix)
        self.longest = shape.source - frame if shape.source else 200

    def run(self, translate: Translate, lines: list[str], batch: int, overlap: bool) -> tuple[float, Numbers]:
        """Seconds from text to text, and the numbers of all translations, by line."""
        found: dict[tuple[str, ...], list[int]] = {}

        def decoded(sentences: Batch) -> Batch:
            outputs = translate([self.vocabulary.numbers(sentence) for sentence in sentences])
            found.update(zip(map(tuple, sentences), outputs, strict=True))
            return [self.vocabulary.pieces(self.vocabulary.without_hidden(output)) for output in outputs]

        pipeline = Pipeline(self.tokenizer, decoded, overlap=overlap, batch_sentences=batch, longest_input=self.longest)
        start = time.perf_counter()
        for _ in pipeline.windows(lines):
            pass
        seconds = time.perf_counter() - start
        pipeline.close()
        return seconds, [found[key] for key in sorted(found)]


def in_transformers(forced: Forced, folder: Path, cores: int, use_cache: bool = True) -> Translate:
    import torch  # inside: they are no dependencies
    import transformers

    torch.set_num_threads(cores)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
    shape, size, pad = forced.shape, len(forced.begin), model.config.pad_token_id
    length = {"min_new_tokens": shape.output + size, "max_new_tokens": shape.output + size}
    search = {"num_beams": shape.beam, "early_stopping": True, "no_repeat_ngram_size": shape.ngram, "do_sample": False}
    search["use_cache"] = use_cache
    search |= {"forced_bos_token_id": forced.begin[0]} if forced.begin else {}

    def translate(sources: Numbers) -> Numbers:
        widest = max(map(len, sources))
        ids = torch.tensor([source + [pad] * (widest - len(source)) for source in sources])
        mask = torch.tensor([[1] * len(source) + [0] * (widest - len(source)) for source in sources])
        with torch.inference_mode():
            found = model.generate(input_ids=ids, attention_mask=mask, **search, **length)
        return [output[1 + size :] for output in found.tolist()]

    return translate


def in_native(forced: Forced, folder: Path, cores: int, without: frozenset[str] = frozenset()) -> Translate:
    engine, shape = native.library(), forced.shape
    worker = engine.Worker(engine.Model(folder / native_weights.NAME, without=without), cores)
    length = {"shortest": shape.output, "longest": shape.output}
    search = {"beam_size": shape.beam, "blocked_ngram": shape.ngram, "as_transformers": True}
    options = engine.Options(**search, **length, without=without)

    def translate(sources: Numbers) -> Numbers:
        prefixes = [forced.begin] * len(sources) if forced.begin else None
        return [best.pieces[len(forced.begin) :] for best, *_ in worker.translate(sources, options, prefixes)]

    return translate


def in_ctranslate2(forced: Forced, folder: Path, cores: int, kind: str) -> Translate:
    model = ctranslate2_loading.translator(folder, compute_type=kind, intra_threads=cores)
    shape, pieces = forced.shape, read_json(folder / "shared_vocabulary.json")
    pieces_out = shape.output + len(forced.begin)  # it counts what translations begin with
    length = {"min_decoding_length": pieces_out, "max_decoding_length": pieces_out, "max_input_length": 0}
    search = {"beam_size": shape.beam, "no_repeat_ngram_size": shape.ngram, "max_batch_size": 0, **length}
    numbers = {piece: number for number, piece in enumerate(pieces)}

    def translate(sources: Numbers) -> Numbers:
        begin = {"target_prefix": [[pieces[number] for number in forced.begin]] * len(sources)} if forced.begin else {}
        texts = [[pieces[number] for number in source] for source in sources]
        found = model.translate_batch(texts, **search, **begin)
        return [[numbers[piece] for piece in each.hypotheses[0]][len(forced.begin) :] for each in found]

    return translate


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


def lines_of(path: Path, shape: Shape, forced: Forced) -> list[str]:
    """Sentences, or as many in a line as fill a document. Raises UserError for a short text."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        text = [line.strip() for line in file]
    lines: list[str] = []
    pieces, start = 0, 0
    for end, line in enumerate(text, 1):
        pieces += len(forced.tokenizer.encode(line))
        if pieces >= (forced.longest if shape.source else 1):
            lines.append(" ".join(text[start:end]))
            pieces, start = 0, end
    if len(lines) < shape.sentences:
        raise UserError(f"{path}: has text for {len(lines)} of {shape.sentences} sources")
    return lines[: shape.sentences]


def prepare(shape: Shape, folder: Path, tokenizer: Path) -> None:
    """Make a model, as Hugging Face's and exported."""
    folder.mkdir(parents=True, exist_ok=True)
    source = make(shape, tokenizer, folder)
    if not (folder / "native").exists():
        export = [
            sys.executable,
            "-m",
            "nmt_frontier",
            "import",
            source,
            "--output",
            folder / "native",
            "--types",
            *TYPES,
        ]
        subprocess.run([*export, *(["--languages", *LANGUAGES] if shape.kind == "m2m_100" else [])], check=True)
    if shape.peer and not (folder / "ctranslate2").exists():
        from ctranslate2.converters import TransformersConverter  # inside: it needs transformers

        TransformersConverter(str(source)).convert(str(folder / "ctranslate2"))


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


def arguments(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", choices=MODELS)
    parser.add_argument("--text", type=there, required=True, help="sentences, a line each; .gz as it is")
    parser.add_argument("--tokenizer", type=there, required=True, help="SentencePiece model of at most 32,000 pieces")
    parser.add_argument("--folder", type=Path, required=True, help="of the models, to use them again")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write, or to add to")
    return parser


def described() -> dict[str, Any]:
    versions = {name: version(name) for name in ("torch", "transformers", "ctranslate2")}
    return {"versions": versions, "date": datetime.now(UTC).date().isoformat(), **experiments.here()}


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
