"""CTranslate2 as the engine of a teacher, on the CPU or on a GPU."""

import contextlib
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from common import cpu, gpu_lease
from decode.engines.ctranslate2 import CTranslate2
from decode.engines.interface import in_one_line
from decode.pipeline import GPU
from distill.engine import Pair, Pieces, Scored
from formats import loading
from formats.decoding import BATCH_TOKENS, MAXIMUM_OUTPUT, compute_type, prepare

SCORING_WINDOW = 20_000  # pairs scored at a time


class CTranslate2Teacher:
    """Decodes in ``threads`` single-threaded translators. model: a folder named after the type to compute in.

    batch_tokens: of a batch, with padding; None takes as many as suit the device. On a GPU the process takes one of
    those that are free, and raises UserError if there is none at all.
    """

    def __init__(self, model: Path, threads: int, device: str, batch_tokens: int | None = None):
        prepare(model.name, device)
        if device == "cuda":
            gpu_lease.lease(1)
            loading.use_gpu()
        size = batch_tokens or {"cpu": BATCH_TOKENS, "cuda": GPU}[device]
        self._batches = {"max_batch_size": size, "batch_type": "tokens", "max_input_length": MAXIMUM_OUTPUT}
        workers = {"inter_threads": threads, "intra_threads": 1}
        requested_type = compute_type(model.name, device)
        self._model = model
        self._translator = loading.translator(model, device=device, compute_type=requested_type, **workers)
        saturates = device == "cpu" and self._translator.compute_type.startswith("int8") and cpu.int8_saturates()
        if saturates:
            print(cpu.warning(model), file=sys.stderr)
        self.arithmetic = {
            "engine": CTranslate2.name,
            "compute_type": model.name,
            "effective_compute_type": self._translator.compute_type,
            "library": cpu.described() if device == "cpu" else None,
            "int8_saturates": saturates,
        }

    def n_best(self, sentences: Iterable[Pieces], beam_size: int, n_best: int) -> Iterator[list[Scored]]:
        results = self._translator.translate_iterable(
            iter(sentences),
            beam_size=beam_size,
            num_hypotheses=n_best,
            return_scores=True,
            max_decoding_length=MAXIMUM_OUTPUT,
            **self._batches,
        )
        with self._in_one_line():
            for result in results:
                yield [*zip(result.hypotheses, result.scores, strict=True)]

    def score(self, pairs: Iterable[Pair]) -> Iterator[float]:
        pairs = iter(pairs)
        while window := list(islice(pairs, SCORING_WINDOW)):
            sources, targets = zip(*window, strict=True)
            with self._in_one_line():
                results = self._translator.score_batch([*sources], [*targets], **self._batches)
            for result in results:
                yield sum(result.log_probs) / max(len(result.log_probs), 1)

    def _in_one_line(self) -> contextlib.AbstractContextManager[None]:
        return in_one_line(f"{self._model}: CTranslate2 failed", "lower distillation.batch_tokens")
