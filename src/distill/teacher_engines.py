"""The engines of teachers, CTranslate2 and the native one: n-best lists and scores of pieces.

Hypotheses and scores do not depend on the batch, so neither on shards, windows or threads.
"""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from common import gpu_lease
from decode.engines.ctranslate2 import CTranslate2
from formats import ctranslate2_loading
from formats import ctranslate2_products as products
from formats.ctranslate2_loading import compute_type, prepare
from nmt_frontier.errors import UserError
from nmt_frontier.limits import BATCH_TOKENS, MAXIMUM_OUTPUT
from nmt_frontier.model import native_weights, safetensors
from nmt_frontier.model.model_folder import Description
from nmt_frontier.search.batching import batches, in_order
from nmt_frontier.search.engine import Search, in_one_line
from nmt_frontier.search.native import Native, sampled
from nmt_frontier.search.pipeline import GPU
from nmt_frontier.search.sampling import Sampling

if TYPE_CHECKING:
    from numpy.typing import NDArray

Pieces = list[str]  # without control tokens
Pair = tuple[Pieces, Pieces]  # a source and its translation
Scored = tuple[Pieces, float]  # a hypothesis; the mean log-probability of its pieces and its end
BestPieces = tuple["NDArray[Any]", "NDArray[Any]"]  # numbers, int32, and log-probabilities, float32 (positions, most)

SCORING_WINDOW = 20_000  # pairs scored at a time
NATIVE_BATCH_TOKENS = 512  # as fast as 2,048 (measured with beams of 4 and 8), in a quarter of the memory
NOTHING: Pieces = []
WINDOW = 1000  # sentences for each worker, sorted by length
REMEDY = "CTranslate2 may do it, distillation: {engine: ctranslate2}"
REMEDY_OF_ENSEMBLE = "rescoring needs neither one vocabulary nor this engine, mixtures: {NAME: {ensemble: rescoring}}"

Item = TypeVar("Item")
Result = TypeVar("Result")


class Arithmetic(TypedDict):
    """How a teacher computes: engine, the type asked for and the effective one, library or instructions."""

    engine: str
    compute_type: str
    effective_compute_type: str
    library: str | None
    int8_saturates: bool | None


class CTranslate2Teacher:
    """Decodes in ``threads`` single-threaded translators. model: a folder named after the type to compute in.

    batch_tokens: size of a batch, with padding; None chooses a size for the device. On a GPU the process leases one
    that is free, and raises UserError if the machine has no GPU. arithmetic: for the record, the engine, the type asked
    for, the effective type, the library or instructions, and whether int8 saturates.

    Sentences and translations are read up to MAXIMUM_OUTPUT pieces, control tokens included, and no hypothesis is
    longer.
    """

    def __init__(self, model: Path, threads: int, device: str, batch_tokens: int | None = None):
        prepare(model.name, device)
        if device == "cuda":
            gpu_lease.lease(1)
            ctranslate2_loading.use_gpu()
        size = batch_tokens or {"cpu": BATCH_TOKENS, "cuda": GPU}[device]
        self._batches = {"max_batch_size": size, "batch_type": "tokens", "max_input_length": MAXIMUM_OUTPUT}
        workers = {"inter_threads": threads, "intra_threads": 1}
        requested_type = compute_type(model.name, device)
        self._model = model
        self._translator = ctranslate2_loading.translator(model, device=device, compute_type=requested_type, **workers)
        saturates = device == "cpu" and self._translator.compute_type.startswith("int8") and products.int8_saturates()
        if saturates:
            print(products.warning(model), file=sys.stderr)
        self.arithmetic: Arithmetic = {
            "engine": CTranslate2.name,
            "compute_type": model.name,
            "effective_compute_type": self._translator.compute_type,
            "library": products.described() if device == "cpu" else None,
            "int8_saturates": saturates,
        }

    def n_best(
        self, sentences: Iterable[Pieces], beam_size: int, n_best: int, begin: Pieces = NOTHING,
        sampling: Sampling | None = None,
    ) -> Iterator[list[Scored]]:  # fmt: skip
        """Yield the hypotheses of each sentence in order, best first; those of a sentence without pieces are undefined.

        begin: what all of them begin with; it is certain. sampling: draws ``n_best`` instead, in no order, with the
        native engine alone. Holds no more than two windows in memory.
        """
        if sampling:
            needs = "distillation.sampling needs the native engine"
            raise UserError(f"{self._model}: {CTranslate2.label} draws no samples here; {needs}")
        search = {"beam_size": beam_size, "num_hypotheses": n_best, "max_decoding_length": MAXIMUM_OUTPUT}
        search |= {"max_decoding_length": MAXIMUM_OUTPUT + len(begin), "min_decoding_length": 1 + len(begin)}
        sources, again = tee(sentences)
        begins = ([*begin] for _ in again) if begin else None
        results = self._translator.translate_iterable(sources, begins, return_scores=True, **search, **self._batches)
        with self._in_one_line():
            for result in results:
                yield [*zip(result.hypotheses, result.scores, strict=True)]

    def score(self, pairs: Iterable[Pair], begin: Pieces = NOTHING) -> Iterator[float]:
        """Yield the mean log-probability per token of each translation and its end, given its source, in order.

        begin: what all translations begin with; it is certain.
        """
        pairs = iter(pairs)
        while window := list(islice(pairs, SCORING_WINDOW)):
            sources, targets = zip(*window, strict=True)
            forced = [[*begin, *target] for target in targets]
            with self._in_one_line():
                results = self._translator.score_batch([*sources], forced, **self._batches)
            for result in results:
                yield sum(result.log_probs[len(begin) :]) / max(len(result.log_probs), 1)

    def _in_one_line(self) -> contextlib.AbstractContextManager[None]:
        return in_one_line(f"{self._model}: CTranslate2 failed", "lower distillation.batch_tokens")


class NativeTeacher(Native):
    """The same with the native engine, in ``threads`` workers. model: a folder of export.native.

    others: folders of further models, whose probabilities are averaged with those of the first at every step. Raises
    UserError for a damaged file, for models of several vocabularies, and if the engine is not installed.
    """

    def __init__(self, model: Path, threads: int, others: Sequence[Path] = ()):
        super().__init__(model, self._describe(model), Search(workers=threads, others=tuple(others)))
        self._folder, self._threads = model, threads
        self._remedy = REMEDY_OF_ENSEMBLE if others else REMEDY
        self.arithmetic: Arithmetic = {
            "engine": self.name,
            "compute_type": " and ".join(dict.fromkeys(self._describe(each).quantization for each in [model, *others])),
            "effective_compute_type": self.effective_compute_type,
            "library": self.isa,
            "int8_saturates": self.int8_saturates,
        }

    def _describe(self, folder: Path) -> Description:
        """By its weights: the folders of export.native have no ``model.json``."""
        kind = safetensors.metadata(folder / native_weights.NAME).get("type", "")
        return Description(engine=self.name, quantization=kind, vocabulary_map=False)

    def n_best(
        self, sentences: Iterable[Pieces], beam_size: int, n_best: int, begin: Pieces = NOTHING,
        sampling: Sampling | None = None,
    ) -> Iterator[list[Scored]]:  # fmt: skip
        numbers = [self._vocabulary.target_numbers[piece] for piece in begin]
        lengths = {"shortest": 1, "longest": MAXIMUM_OUTPUT}  # no empty translation, as with CTranslate2
        search = sampled(sampling, n_best) if sampling else {"beam_size": beam_size, "n_best": n_best}
        options = replace(self._options, scores=True, **search, **lengths)

        def found(batch: list[Pieces]) -> list[list[Scored]]:
            with self._decoding() as worker:
                prefixes = [numbers] * len(batch) if numbers else None
                lists = worker.translate([*map(self._source_numbers, batch)], options, prefixes)
            return [[(self._vocabulary.pieces(pieces), score) for pieces, score, *_ in best] for best in lists]

        for hypotheses in self._in_order(sentences, list, found):
            yield hypotheses or []

    def score(self, pairs: Iterable[Pair], begin: Pieces = NOTHING) -> Iterator[float]:
        def found(batch: list[Pair]) -> list[float]:
            sources, targets = zip(*batch, strict=True)
            forced = [[*begin, *target] for target in targets]
            with self._decoding() as worker:
                scores = worker.score([*map(self._source_numbers, sources)], [*map(self._target_numbers, forced)])
            return [float(each[len(begin) :].sum(dtype=float)) / len(each) for each in scores]

        for score in self._in_order(pairs, joined, found):
            yield score or 0.0

    def best_pieces(self, pairs: Iterable[Pair], most: int) -> Iterator[BestPieces | None]:
        """Yield the ``most`` most probable pieces at each piece of each translation and at its end, in order.

        None for a pair with an empty side, or with more than ``longest_input`` pieces on one.
        """

        def whole(pair: Pair) -> Pieces:
            return joined(pair) if all(0 < len(side) <= self.longest_input for side in pair) else []

        def found(batch: list[Pair]) -> list[BestPieces]:
            sources, targets = zip(*batch, strict=True)
            numbers = self._vocabulary.target_numbers
            unknown = numbers[self._vocabulary.unknown]
            forced = [[numbers.get(piece, unknown) for piece in target] for target in targets]
            with self._decoding() as worker:
                best: list[BestPieces] = worker.best_pieces([*map(self._vocabulary.numbers, sources)], forced, most)
            return best

        yield from self._in_order(pairs, whole, found)

    def _source_numbers(self, sentence: Pieces) -> list[int]:
        """A source in numbers, cut as CTranslate2 does, so that prefix and suffix stay."""
        frame = len(self._vocabulary.prefix) + len(self._vocabulary.suffix)
        return self._vocabulary.numbers(sentence[: MAXIMUM_OUTPUT - frame])

    def _target_numbers(self, sentence: Pieces) -> list[int]:
        """A given translation in numbers, cut as CTranslate2 does, so that its end stays."""
        numbers = self._vocabulary.target_numbers
        unknown = numbers[self._vocabulary.unknown]
        return [numbers.get(piece, unknown) for piece in sentence[: MAXIMUM_OUTPUT - 1]]

    @contextlib.contextmanager
    def _decoding(self) -> Iterator[Any]:
        """A free worker. Raises UserError for what the engine cannot do."""
        try:
            with self._worker() as worker:
                yield worker
        except (RuntimeError, MemoryError) as error:
            reason = str(error) or "no memory left"
            raise UserError(f"{self._folder}: {reason}; {self._remedy}") from error

    def _in_order(
        self, items: Iterable[Item], pieces: Callable[[Item], Pieces], work: Callable[[list[Item]], list[Result]]
    ) -> Iterator[Result | None]:
        """The results of ``work`` on batches of items of similar length, in order; None for items without pieces."""

        def cut(window: list[Item]) -> Iterator[list[int]]:
            return batches([*map(pieces, window)], NATIVE_BATCH_TOKENS)

        stream, sentences = iter(items), WINDOW * self._threads
        windows = iter(lambda: list(islice(stream, sentences)), [])
        pool = ThreadPoolExecutor(self._threads)
        try:
            for _, results in in_order(windows, list, cut, work, pool, self._threads):
                yield from results
        finally:
            pool.shutdown(cancel_futures=True)


def joined(pair: Pair) -> Pieces:
    """The pieces of a pair, which decide on its batch; none if the source has none, since it gets no score."""
    source, target = pair
    return source and [*source, *target]


def load(
    model: Path, threads: int, device: str, batch_tokens: int | None = None, others: Sequence[Path] = ()
) -> CTranslate2Teacher | NativeTeacher:
    """Load a model with the engine that its weights are for. Raises UserError for a model that cannot be loaded."""
    foreign = [each for each in (model, *others) if not (each / NativeTeacher.weights).exists()]
    if foreign and others:
        needs = "an ensemble that translates token by token needs native models"
        raise UserError(f"{foreign[0]}: {CTranslate2.label} decodes with one model; {needs}")
    if foreign:
        return CTranslate2Teacher(model, threads, device, batch_tokens)
    if device not in NativeTeacher.devices:
        raise UserError(f"{model}: the native engine translates on the CPU; leave out --device")
    return NativeTeacher(model, threads, others)


def installed(models: list[Path], stand_ins: list[Path]) -> list[Path]:
    """``models`` with CTranslate2's folders in place of those that need the native engine, if it is not installed."""
    if not stand_ins or NativeTeacher.supported():
        return models
    usable = []
    for model, stand_in in zip(models, stand_ins, strict=True):
        replaced = (model / NativeTeacher.weights).exists() and stand_in.exists()
        if replaced:
            print(f"{model}: the native engine is not installed; {stand_in} stands in for it", file=sys.stderr)
        usable.append(stand_in if replaced else model)
    return usable
