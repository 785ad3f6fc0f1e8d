"""The native engine as the engine of a teacher: workers that share the weights, on the CPU.

A sentence gets the same hypotheses and scores in any batch, so that they do not depend on shards, windows or threads.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from common.errors import UserError
from decode.batching import batches, in_order
from decode.engines.interface import Search
from decode.engines.native import Native
from distill.engine import Pair, Pieces, Scored
from formats import native_model, safetensors
from formats.decoding import MAXIMUM_OUTPUT

BATCH_TOKENS = 512  # as fast as 2,048 (measured with beams of 4 and 8), in a quarter of the memory
WINDOW = 1000  # sentences for each worker, sorted by length
REMEDY = "CTranslate2 may do it, distillation: {engine: ctranslate2}"

Item = TypeVar("Item")
Result = TypeVar("Result")


class NativeTeacher(Native):
    """Decodes in ``threads`` workers. model: a folder of export.native.

    Raises UserError for a damaged file, and where the engine is not installed.
    """

    def __init__(self, model: Path, threads: int):
        kind = safetensors.metadata(model / native_model.NAME).get("type", "")
        super().__init__(model, {"quantization": kind}, Search(workers=threads))
        self._folder, self._threads = model, threads
        self.arithmetic = {
            "engine": self.name,
            "compute_type": kind,
            "effective_compute_type": self.effective_compute_type,
            "library": self.isa,
            "int8_saturates": self.int8_saturates,
        }

    def n_best(self, sentences: Iterable[Pieces], beam_size: int, n_best: int) -> Iterator[list[Scored]]:
        # CTranslate2 lets no translation of a teacher be empty, either.
        lengths = {"shortest": 1, "longest": MAXIMUM_OUTPUT}
        options = replace(self._options, beam_size=beam_size, n_best=n_best, scores=True, **lengths)

        def found(batch: list[Pieces]) -> list[list[Scored]]:
            with self._decoding() as worker:
                lists = worker.translate([*map(self._source_numbers, batch)], options)
            return [[(self._vocabulary.pieces(pieces), score) for pieces, score, *_ in best] for best in lists]

        for hypotheses in self._in_order(sentences, list, found):
            yield hypotheses or []

    def score(self, pairs: Iterable[Pair]) -> Iterator[float]:
        def found(batch: list[Pair]) -> list[float]:
            sources, targets = zip(*batch, strict=True)
            with self._decoding() as worker:
                scores = worker.score([*map(self._source_numbers, sources)], [*map(self._target_numbers, targets)])
            return [float(each.mean(dtype=float)) for each in scores]

        for score in self._in_order(pairs, joined, found):
            yield score or 0.0

    def _source_numbers(self, sentence: Pieces) -> list[int]:
        """A source in numbers, cut as CTranslate2 cuts it: the pieces that frame it stay."""
        frame = len(self._vocabulary.prefix) + len(self._vocabulary.suffix)
        return self._vocabulary.numbers(sentence[: MAXIMUM_OUTPUT - frame])

    def _target_numbers(self, sentence: Pieces) -> list[int]:
        """A given translation in numbers, cut as CTranslate2 cuts it: its end stays."""
        numbers = self._vocabulary.target_numbers
        unknown = numbers[self._vocabulary.unknown]
        return [numbers.get(piece, unknown) for piece in sentence[: MAXIMUM_OUTPUT - 1]]

    @contextlib.contextmanager
    def _decoding(self) -> Iterator[Any]:
        """A worker that is free. Raises UserError for what the engine cannot do."""
        try:
            with self._worker() as worker:
                yield worker
        except (RuntimeError, MemoryError) as error:
            reason = str(error) or "no memory left"
            raise UserError(f"{self._folder}: {reason}; {REMEDY}") from error

    def _in_order(
        self, items: Iterable[Item], pieces: Callable[[Item], Pieces], work: Callable[[list[Item]], list[Result]]
    ) -> Iterator[Result | None]:
        """What ``work`` makes of each item, in batches of items of like length; None for one without pieces."""

        def cut(window: list[Item]) -> Iterator[list[int]]:
            return batches([*map(pieces, window)], BATCH_TOKENS)

        stream, sentences = iter(items), WINDOW * self._threads
        windows = iter(lambda: list(islice(stream, sentences)), [])
        pool = ThreadPoolExecutor(self._threads)
        try:
            for _, results in in_order(windows, list, cut, work, pool):
                yield from results
        finally:
            pool.shutdown(cancel_futures=True)


def joined(pair: Pair) -> Pieces:
    """What decides on the batch of a pair; nothing for a source without pieces, whose translation scores nothing."""
    source, target = pair
    return source and [*source, *target]
