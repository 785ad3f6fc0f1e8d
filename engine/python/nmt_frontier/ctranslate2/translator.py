"""CTranslate2's class."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace as changed
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from nmt_frontier import machine
from nmt_frontier.bindings import Hypothesis, Model, Options, Worker
from nmt_frontier.ctranslate2.batches import divided, streamed
from nmt_frontier.ctranslate2.folders import KINDS, opened
from nmt_frontier.ctranslate2.request import Request, refuse, supported
from nmt_frontier.ctranslate2.results import AsyncResult, ExecutionStats, ScoringResult, TranslationResult
from nmt_frontier.importers import ctranslate2_model
from nmt_frontier.model import native_map, native_weights, safetensors
from nmt_frontier.model.native_vocabulary import Vocabulary

MOST_THREADS = 4  # CTranslate2's default

Tokens = Sequence[str]


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
        refuse(others)
        if device not in ("cpu", "auto"):
            raise ValueError(f"device={device!r}: the engine decodes on the CPU")
        wanted = compute_type.get("cpu", "default") if isinstance(compute_type, dict) else compute_type
        self._folder, self._wanted = Path(os.fsdecode(model_path)), wanted
        self.num_translators = max(inter_threads, 1)
        cores = len(machine.cores())
        self._threads = intra_threads or max(1, min(MOST_THREADS, cores // self.num_translators))
        self._workers: SimpleQueue[Worker] | None = None
        self._pool = ThreadPoolExecutor(self.num_translators)
        self.load_model()

    def load_model(self, keep_cache: bool = False) -> None:
        if self.model_is_loaded:
            return
        with opened(self._folder, self._wanted) as folder:
            about, vocabulary = safetensors.metadata(folder / native_weights.NAME), Vocabulary.read(folder)
            self.compute_type = about["type"]
            if KINDS.get(self._wanted, self.compute_type) != self.compute_type:
                raise ValueError(f"{folder}: its weights are {self.compute_type}, not {self._wanted}")
            self._mapped = (folder / native_map.NAME).exists()
            model = Model(folder / native_weights.NAME, folder / native_map.NAME if self._mapped else None)
        self._source, self._target = vocabulary.source_numbers, vocabulary.target
        self._frame = (
            [self._source[piece] for piece in vocabulary.prefix],
            [self._source[piece] for piece in vocabulary.suffix],
        )
        self._unknown, self._end = vocabulary.unknown, self._target[int(about["end"])]
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
        request = Request(**supported(options))
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
        request = Request(max_input_length=max_input_length)

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
        return streamed(self.translate_batch, streams, max_batch_size, batch_type, options)

    def score_iterable(
        self,
        source: Iterable[Tokens],
        target: Iterable[Tokens],
        max_batch_size: int = 64,
        batch_type: str = "examples",
        **options: Any,
    ) -> Iterator[ScoringResult]:
        options |= {"max_batch_size": max_batch_size, "batch_type": batch_type, "asynchronous": True}
        return streamed(self.score_batch, [source, target], max_batch_size, batch_type, options)

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
        return ExecutionStats(counts[0], counts[1], (time.perf_counter() - start) * 1000)

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
        batches = divided([len(sentence) for sentence in source], max_batch_size, batch_type)

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
        self, worker: Worker, sources: list[Tokens], prefixes: list[Tokens], request: Request
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
        self, worker: Worker, sources: list[Tokens], forced: list[list[int]] | None, request: Request, options: Options
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

    def _result(self, source: Tokens, found: list[Hypothesis], request: Request) -> TranslationResult:
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
        self, worker: Worker, sources: list[Tokens], targets: list[Tokens], request: Request, offset: int
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
        if (self._folder / native_weights.NAME).exists():
            return self._layer, 0
        stored = ctranslate2_model.read(self._folder).variables
        defaults = {"alignment_layer": -1, "alignment_heads": 1, "num_heads": 0}
        layer, used, heads = (
            int(stored[f"decoder/{name}"].array()) if f"decoder/{name}" in stored else default
            for name, default in defaults.items()
        )
        if used not in (0, 1, heads):
            raise NotImplementedError(f"attention of {used} of {heads} heads: the engine has one or all")
        return (layer if layer >= 0 else layer + self._layer + 1), (0 if used == 1 else -1)
