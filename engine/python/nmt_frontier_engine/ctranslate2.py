"""CTranslate2's ``Translator`` with this engine inside, so that programs written for that class run unchanged.

It opens model folders of the native engine, and CTranslate2's, which nmt-frontier converts when they are opened. An
argument that the engine does not have is an error with its name. New programs better use ``nmt_frontier_engine``.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import struct
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from dataclasses import replace as changed
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from nmt_frontier_engine import EngineError, Hypothesis, Model, Options, Worker

# Arguments of CTranslate2 that the engine does not have, and the values without effect.
UNSUPPORTED = {
    "patience": 1, "coverage_penalty": 0, "repetition_penalty": 1, "disable_unk": False, "suppress_sequences": None,
    "end_token": None, "return_end_token": False, "prefix_bias_beta": 0, "return_logits_vocab": False,
    "return_alternatives": False, "sampling_topk": 1, "callback": None, "flash_attention": False,
    "tensor_parallel": False, "files": None,
}  # fmt: skip
OF_OPENING = ("flash_attention", "tensor_parallel", "files")  # those of the constructor
UNUSED = ("sampling_topp", "sampling_temperature", "min_alternative_expansion_prob")  # without sampling, alternatives
KINDS = {"int8": "int8", "int8_float32": "int8", "int16": "int16", "float32": "float32"}
WEIGHTS, VOCABULARY, MAP = "weights.safetensors", "vocabulary.json", "map.safetensors"  # of the engine's folders
BATCH = 64  # sentences, where the caller names no size: a translation does not depend on it
MOST_THREADS = 4  # CTranslate2's default
READ = 16  # batches that are read and sorted together

Tokens = Sequence[str]


@dataclass
class TranslationResult:
    hypotheses: list[list[str]]
    scores: list[float] = field(default_factory=list)
    attention: list[list[list[float]]] = field(default_factory=list)
    logits: list[Any] = field(default_factory=list)


@dataclass
class ScoringResult:
    tokens: list[str]
    log_probs: list[float]


@dataclass
class ExecutionStats:
    num_tokens: int
    num_examples: int
    total_time_in_ms: float


class AsyncResult:
    """One result of a batch that is computed in another thread."""

    def __init__(self, batch: Future, place: int):
        self._batch, self._place = batch, place

    def done(self) -> bool:
        return self._batch.done()

    def result(self) -> Any:
        """Wait for the result. Raises what computing it raised."""
        return self._batch.result()[self._place]


AsyncTranslationResult = AsyncScoringResult = AsyncResult


class Translator:
    """Arguments and methods are those of ``ctranslate2.Translator``."""

    device, device_index, tensor_parallel, num_queued_batches = "cpu", [0], False, 0

    def __init__(
        self,
        model_path: str,
        device: str = "cpu",
        *,
        device_index: int | list[int] = 0,
        compute_type: str | dict[str, str] = "default",
        inter_threads: int = 1,
        intra_threads: int = 0,
        max_queued_batches: int = 0,
        **others: object,
    ):
        _refuse(others)
        if device not in ("cpu", "auto"):
            raise ValueError(f"device={device!r}: the engine decodes on the CPU")
        wanted = compute_type.get("cpu", "default") if isinstance(compute_type, dict) else compute_type
        self._folder, self._wanted = Path(os.fsdecode(model_path)), wanted
        self.num_translators = max(inter_threads, 1)
        cores = len(os.sched_getaffinity(0))
        self._threads = intra_threads or max(1, min(MOST_THREADS, cores // self.num_translators))
        self._workers: SimpleQueue[Worker] | None = None
        self._pool = ThreadPoolExecutor(self.num_translators)
        self.load_model()

    def load_model(self, keep_cache: bool = False) -> None:
        if self.model_is_loaded:
            return
        with _native(self._folder, self._wanted) as folder:
            about, vocabulary = _header(folder / WEIGHTS), json.loads((folder / VOCABULARY).read_text("utf-8"))
            self.compute_type = about["type"]
            if KINDS.get(self._wanted, self.compute_type) != self.compute_type:
                raise ValueError(f"{folder}: its weights are {self.compute_type}, not {self._wanted}")
            self._mapped = (folder / MAP).exists()
            model = Model(folder / WEIGHTS, folder / MAP if self._mapped else None)
        self._source = {piece: number for number, piece in enumerate(vocabulary["source"])}
        self._target = vocabulary.get("target", vocabulary["source"])
        self._frame = (
            [self._source[piece] for piece in vocabulary["prefix"]],
            [self._source[piece] for piece in vocabulary["suffix"]],
        )
        self._unknown, self._end = vocabulary["unknown"], self._target[int(about["end"])]
        self._layer = int(about["decoder_layers"]) - 1 if about.get("architecture") == "transformer" else 0
        self._positions = model.positions
        workers: SimpleQueue[Worker] = SimpleQueue()
        for _ in range(self.num_translators):
            workers.put(Worker(model, self._threads))
        self._workers = workers

    def unload_model(self, to_cpu: bool = False) -> None:
        self._workers = None

    @property
    def model_is_loaded(self) -> bool:
        return self._workers is not None

    @property
    def num_active_batches(self) -> int:
        return self._pool._work_queue.qsize() + self.num_translators - self._free().qsize()

    def translate_batch(
        self,
        source: Sequence[Tokens],
        target_prefix: Sequence[Tokens | None] | None = None,
        *,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        asynchronous: bool = False,
        **options: Any,
    ) -> list[TranslationResult] | list[AsyncResult]:
        request = _Request(**_supported(options))
        prefixes = [prefix or [] for prefix in target_prefix] if target_prefix is not None else [[]] * len(source)
        if len(prefixes) != len(source):
            raise RuntimeError("target_prefix has another number of sentences than source")

        def work(worker: Worker, batch: list[int]) -> list[TranslationResult]:
            return self._translate(worker, [source[i] for i in batch], [prefixes[i] for i in batch], request)

        return self._run(source, work, max_batch_size, batch_type, asynchronous)

    def score_batch(
        self,
        source: Sequence[Tokens],
        target: Sequence[Tokens],
        *,
        max_batch_size: int = 0,
        batch_type: str = "examples",
        max_input_length: int = 1024,
        offset: int = 0,
        asynchronous: bool = False,
    ) -> list[ScoringResult] | list[AsyncResult]:
        if len(target) != len(source):
            raise RuntimeError("target has another number of sentences than source")
        request = _Request(max_input_length=max_input_length)

        def work(worker: Worker, batch: list[int]) -> list[ScoringResult]:
            return self._score(worker, [source[i] for i in batch], [target[i] for i in batch], request, offset)

        return self._run(source, work, max_batch_size, batch_type, asynchronous)

    def translate_iterable(
        self,
        source: Iterable[Tokens],
        target_prefix: Iterable[Tokens | None] | None = None,
        max_batch_size: int = 32,
        batch_type: str = "examples",
        **options: Any,
    ) -> Iterator[TranslationResult]:
        streams = [source] if target_prefix is None else [source, target_prefix]
        options |= {"max_batch_size": max_batch_size, "batch_type": batch_type, "asynchronous": True}
        return _streamed(self.translate_batch, streams, max_batch_size, batch_type, options)

    def score_iterable(
        self,
        source: Iterable[Tokens],
        target: Iterable[Tokens],
        max_batch_size: int = 64,
        batch_type: str = "examples",
        **options: Any,
    ) -> Iterator[ScoringResult]:
        options |= {"max_batch_size": max_batch_size, "batch_type": batch_type, "asynchronous": True}
        return _streamed(self.score_batch, [source, target], max_batch_size, batch_type, options)

    def translate_file(
        self,
        source_path: str,
        output_path: str,
        target_path: str | None = None,
        *,
        max_batch_size: int = 32,
        read_batch_size: int = 0,
        batch_type: str = "examples",
        with_scores: bool = False,
        source_tokenize_fn: Callable[[str], Tokens] = str.split,
        target_tokenize_fn: Callable[[str], Tokens] = str.split,
        target_detokenize_fn: Callable[[Tokens], str] = " ".join,
        **options: Any,
    ) -> ExecutionStats:
        start, counts = time.perf_counter(), [0, 0]
        with contextlib.ExitStack() as stack:

            def lines(path: str, tokenize: Callable[[str], Tokens]) -> Iterator[Tokens]:
                file = stack.enter_context(open(path, encoding="utf-8"))
                return (tokenize(line.rstrip("\n")) for line in file)

            source = lines(source_path, source_tokenize_fn)
            prefixes = None if target_path is None else lines(target_path, target_tokenize_fn)
            output = stack.enter_context(open(output_path, "w", encoding="utf-8"))
            options |= {"return_scores": with_scores}
            for result in self.translate_iterable(source, prefixes, max_batch_size, batch_type, **options):
                counts[0] += len(result.hypotheses[0])
                counts[1] += 1
                for place, hypothesis in enumerate(result.hypotheses):
                    score = f"{result.scores[place]:g} ||| " if with_scores else ""
                    output.write(f"{score}{target_detokenize_fn(hypothesis)}\n")
        return ExecutionStats(*counts, (time.perf_counter() - start) * 1000)

    def _run(
        self,
        source: Sequence[Tokens],
        work: Callable[[Worker, list[int]], list[Any]],
        max_batch_size: int,
        batch_type: str,
        asynchronous: bool,
    ) -> list[Any]:
        """The results of the sentences in their order; ``work`` computes those of a batch, by their places."""
        workers = self._free()
        batches = _batches([len(sentence) for sentence in source], max_batch_size, batch_type)

        def run(batch: list[int]) -> list[Any]:
            worker = workers.get()
            try:
                return work(worker, batch)
            finally:
                workers.put(worker)

        results: list[Any] = [None] * len(source)
        if asynchronous:
            for batch in batches:
                future = self._pool.submit(run, batch)
                for place, sentence in enumerate(batch):
                    results[sentence] = AsyncResult(future, place)
            return results
        found = map(run, batches) if len(batches) == 1 else self._pool.map(run, batches)
        for sentence, result in zip(itertools.chain(*batches), itertools.chain.from_iterable(found), strict=True):
            results[sentence] = result
        return results

    def _free(self) -> SimpleQueue[Worker]:
        if self._workers is None:
            raise RuntimeError("The model for this translator was unloaded")
        return self._workers

    def _numbers(self, sentence: Tokens, most: int) -> list[int]:
        before, after = self._frame
        kept = sentence[: max(most - len(before) - len(after), 0)] if most else sentence
        unknown = self._source[self._unknown]
        return [*before, *(self._source.get(piece, unknown) for piece in kept), *after]

    @cached_property
    def _target_numbers(self) -> dict[str, int]:
        return {piece: number for number, piece in enumerate(self._target)}

    def _target_pieces(self, sentence: Tokens) -> list[int]:
        unknown = self._target_numbers.get(self._unknown, 0)
        return [self._target_numbers.get(piece, unknown) for piece in sentence]

    def _translate(
        self, worker: Worker, sources: list[Tokens], prefixes: list[Tokens], request: _Request
    ) -> list[TranslationResult]:
        """Sentences are decoded together whose prefixes are equally long, because lengths count the prefix."""
        results: list[Any] = [None] * len(sources)
        groups: dict[int, list[int]] = {}
        for place, (source, prefix) in enumerate(zip(sources, prefixes, strict=True)):
            if source:
                groups.setdefault(len(prefix), []).append(place)
            else:
                results[place] = request.empty()
        for length, places in groups.items():
            options = request.options(length, self._mapped, self._positions)
            batch = [sources[place] for place in places]
            forced = [self._target_pieces(prefixes[place]) for place in places] if length else None
            for place, result in zip(places, self._group(worker, batch, forced, request, options), strict=True):
                results[place] = result
        return results

    def _group(
        self, worker: Worker, sources: list[Tokens], forced: list[list[int]] | None, request: _Request, options: Options
    ) -> list[TranslationResult]:
        batch = [self._numbers(source, request.max_input_length) for source in sources]
        unknown = self._target_numbers.get(self._unknown)
        found = None
        if not request.return_attention:
            found = worker.translate(batch, options, forced)
            seen = request.replace_unknowns and any(unknown in best.pieces for each in found for best in each)
            found = None if seen else found
        if found is None:  # attention costs time, so that it is computed only where it is needed
            layer, head = self._alignment
            found = worker.translate(batch, changed(options, attention_layer=layer, attention_head=head), forced)
        return [self._result(*one, request) for one in zip(sources, found, strict=True)]

    def _result(self, source: Tokens, found: list[Hypothesis], request: _Request) -> TranslationResult:
        hypotheses = [[self._target[piece] for piece in one.pieces] for one in found]
        first = len(self._frame[0])
        attention = [
            one.attention[: len(one.pieces), first : first + len(source)] for one in found if one.attention is not None
        ]
        if request.replace_unknowns and attention:
            for pieces, weights in zip(hypotheses, attention, strict=True):
                for place, piece in enumerate(pieces):
                    if piece == self._unknown:
                        pieces[place] = source[int(np.argmax(weights[place]))]
        return TranslationResult(
            hypotheses,
            [one.score for one in found] if request.return_scores else [],
            [weights.tolist() for weights in attention] if request.return_attention else [],
        )

    def _score(
        self, worker: Worker, sources: list[Tokens], targets: list[Tokens], request: _Request, offset: int
    ) -> list[ScoringResult]:
        most = request.max_input_length
        cut = [target[: most - 1] if most else target for target in targets]
        batch = [self._numbers(source, most) for source in sources]
        places = [place for place, numbers in enumerate(batch) if numbers]
        forced = [self._target_pieces(cut[place]) for place in places]
        found = dict(zip(places, worker.score([batch[place] for place in places], forced), strict=True))
        results = []
        for place, target in enumerate(cut):
            tokens = [*target, self._end]
            if place in found:
                tokens = [piece if piece in self._target_numbers else self._unknown for piece in tokens]
                results.append(ScoringResult(tokens[offset:], found[place][offset:].tolist()))
            else:
                results.append(ScoringResult(tokens, [0.0] * len(tokens)))
        return results

    @cached_property
    def _alignment(self) -> tuple[int, int]:
        """The layer and the head whose attention CTranslate2 returns; -1 for the mean of all heads."""
        if (self._folder / WEIGHTS).exists():
            return self._layer, 0
        from formats import ctranslate2_model

        stored = ctranslate2_model.read(self._folder).variables
        defaults = {"alignment_layer": -1, "alignment_heads": 1, "num_heads": 0}
        layer, used, heads = (
            int(stored[f"decoder/{name}"].array()) if f"decoder/{name}" in stored else default
            for name, default in defaults.items()
        )
        if used not in (0, 1, heads):
            raise NotImplementedError(f"attention of {used} of {heads} heads: the engine has one or all")
        return (layer if layer >= 0 else layer + self._layer + 1), (0 if used == 1 else -1)


@dataclass(frozen=True)
class _Request:
    """What a call of ``translate_batch`` asks for, with CTranslate2's defaults."""

    beam_size: int = 2
    num_hypotheses: int = 1
    length_penalty: float = 1
    no_repeat_ngram_size: int = 0
    max_input_length: int = 1024
    max_decoding_length: int = 256
    min_decoding_length: int = 1
    use_vmap: bool = False
    return_scores: bool = False
    return_attention: bool = False
    replace_unknowns: bool = False

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise ValueError("The beam size must be > 0")
        if self.num_hypotheses > self.beam_size:
            raise ValueError("The number of hypotheses cannot be greater than beam_size")
        if self.min_decoding_length > self.max_decoding_length:
            raise ValueError("The minimum decoding length is greater than the maximum decoding length")

    def options(self, prefix: int, mapped: bool, positions: int) -> Options:
        """prefix: its length, which counts in the lengths of CTranslate2 but not in the engine's."""
        return Options(
            beam_size=self.beam_size,
            n_best=self.num_hypotheses,
            length_penalty=self.length_penalty,
            shortest=max(self.min_decoding_length - prefix, 0),
            longest=max(min(self.max_decoding_length, positions) - prefix, 1),
            blocked_ngram=self.no_repeat_ngram_size,
            vocabulary_map=self.use_vmap and mapped,
            scores=self.return_scores,
        )

    def empty(self) -> TranslationResult:
        """The result of a sentence without pieces."""
        every = range(self.num_hypotheses)
        scores = [0.0 for _ in every] if self.return_scores else []
        return TranslationResult([[] for _ in every], scores, [[] for _ in every] if self.return_attention else [])


def _supported(options: dict[str, Any]) -> dict[str, Any]:
    """The options that the engine has. Raises NotImplementedError for others that would have an effect."""
    known = _Request.__dataclass_fields__
    _refuse({name: value for name, value in options.items() if name not in known and name not in UNUSED})
    return {name: value for name, value in options.items() if name in known}


def _refuse(others: dict[str, object]) -> None:
    for name, value in others.items():
        if name not in UNSUPPORTED:
            raise TypeError(f"CTranslate2's Translator has no argument {name!r}")
        if value != UNSUPPORTED[name]:
            raise NotImplementedError(f"{name}={value!r}: the native engine does not have it")


def _batches(lengths: list[int], most: int, kind: str) -> list[list[int]]:
    """The places of the sentences of each batch, longest sentences first."""
    if kind not in ("examples", "tokens"):
        raise ValueError(f"Invalid batch type: {kind}")
    most, kind = (most, kind) if most else (BATCH, "examples")
    batches: list[list[int]] = []
    room = 0
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if not room:
            batches.append([])
            room = most if kind == "examples" else most // max(lengths[place], 1) or 1
        batches[-1].append(place)
        room -= 1
    return batches


def _streamed(
    function: Callable[..., list[AsyncResult]],
    streams: Sequence[Iterable[Any]],
    size: int,
    kind: str,
    options: dict[str, Any],
) -> Iterator[Any]:
    """The results of endless streams; some batches are read and sorted together, and the next ones meanwhile."""
    if size < 1:
        raise ValueError("max_batch_size must be >= 1")
    rows, waiting = zip(*streams, strict=True), SimpleQueue()  # type: ignore[var-annotated]
    while chunk := _chunk(rows, size * READ if size > 1 else 1, kind):
        for result in function(*map(list, zip(*chunk, strict=True)), **options):
            waiting.put(result)
        while waiting.qsize() > len(chunk):
            yield waiting.get().result()
    while not waiting.empty():
        yield waiting.get().result()


def _chunk(rows: Iterator[tuple[Any, ...]], most: int, kind: str) -> list[tuple[Any, ...]]:
    if kind == "examples":
        return [*itertools.islice(rows, most)]
    chunk, tokens = [], 0
    for row in rows:
        chunk.append(row)
        tokens += len(row[0])
        if tokens >= most:
            break
    return chunk


def _header(path: Path) -> dict[str, str]:
    """The metadata of a safetensors file. Raises EngineError for a damaged one."""
    try:
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            return json.loads(file.read(length))["__metadata__"]
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise EngineError(f"{path}: missing or damaged ({error}); export the model again") from None


@contextlib.contextmanager
def _native(folder: Path, wanted: str) -> Iterator[Path]:
    """A folder with the engine's files: the given one, or one that is converted for as long as it is opened."""
    if wanted not in (*KINDS, "default", "auto"):
        raise ValueError(f"compute_type={wanted!r}: the engine has {', '.join(KINDS)}, default and auto")
    if (folder / WEIGHTS).exists():
        yield folder
        return
    if not (folder / "model.bin").exists():
        raise RuntimeError(f"Unable to open file 'model.bin' in model '{folder}'")
    with tempfile.TemporaryDirectory(prefix="nmt-frontier-") as scratch:
        _convert(folder, wanted, output := Path(scratch) / "model")
        yield output


def _convert(folder: Path, wanted: str, output: Path) -> None:
    try:
        from common.errors import UserError
        from export import read_ctranslate2
        from formats import ctranslate2_model, native_model
    except ImportError:
        raise EngineError(
            f"{folder}: is a model of CTranslate2; nmt-frontier is not installed here, which converts it: "
            f"python -m export.model {folder} --output FOLDER"
        ) from None
    try:
        model = read_ctranslate2.read(folder)
        types = {one.type for one in ctranslate2_model.read(folder).variables.values() if len(one.shape) > 1}
        own = "int8" if 1 in types else "int16" if 2 in types else "float32"
        model.write("int8" if wanted == "auto" else KINDS.get(wanted, own), output)
        if (path := folder / "vmap.txt").exists():
            pieces = native_model.Vocabulary.read(output)
            native_model.convert_map(path, pieces.source_numbers, pieces.target_numbers, output / MAP)
    except UserError as error:
        raise EngineError(str(error)) from None
