"""A teacher: a CTranslate2 folder with its own tokenization, which translates text and scores translations."""

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from distill.candidates import Candidate
from distill.tokenization import Tokenizer
from formats import cpu, records
from formats.decoding import MAXIMUM_OUTPUT, compute_type, prepare
from formats.loading import translator

BATCH_TOKENS = 2048  # CTranslate2 reads a window of 16 batches and sorts it by length
SCORED = 20_000  # pairs that are scored at a time


class Teacher:
    """Translates and scores text in ``threads`` single-threaded translators.

    model: a folder that is named after the type to compute in. tokenizers: of the source and of the target side.
    computed: the type that was asked for, what became of it, and whether its products are exact, for the record.
    """

    def __init__(self, model: Path, tokenizers: list[Tokenizer], threads: int = 1, device: str = "cpu"):
        self._source, self._target = tokenizers
        prepare(model.name, device)
        workers = {"inter_threads": threads, "intra_threads": 1}
        self._engine = translator(model, device=device, compute_type=compute_type(model.name, device), **workers)
        saturates = device == "cpu" and self._engine.compute_type.startswith("int8") and cpu.int8_saturates()
        if saturates:
            print(cpu.warning(model), file=sys.stderr)
        self.computed = {
            "compute_type": model.name,
            "effective_compute_type": self._engine.compute_type,
            "library": cpu.described() if device == "cpu" else None,
            "int8_saturates": saturates,
        }

    def translate(self, sources: Iterable[str], beam_size: int, n_best: int) -> Iterator[list[Candidate]]:
        """Yield the n-best list of each sentence, in order, reading ahead one window only.

        There are no translations of a source that is too long to be read to its end, and none that do not end.
        """
        lengths: deque[int] = deque()

        def encoded() -> Iterator[list[str]]:
            for source in sources:
                pieces = self._source.encode(source)
                lengths.append(len(pieces))
                yield pieces

        results = self._engine.translate_iterable(
            encoded(),
            max_batch_size=BATCH_TOKENS,
            batch_type="tokens",
            beam_size=beam_size,
            num_hypotheses=n_best,
            return_scores=True,
            max_input_length=MAXIMUM_OUTPUT,
            max_decoding_length=MAXIMUM_OUTPUT,
        )
        for result in results:
            whole = lengths.popleft() <= MAXIMUM_OUTPUT
            yield [
                Candidate(records.sentence(self._target.decode(pieces)), score)
                for pieces, score in zip(result.hypotheses, result.scores, strict=True)
                if whole and len(pieces) < MAXIMUM_OUTPUT
            ]

    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[float]:
        """Yield the mean log-probability of a token of each translation, given its source (forced decoding)."""
        pairs = iter(pairs)
        while window := list(islice(pairs, SCORED)):
            sources, targets = zip(*window, strict=True)
            results = self._engine.score_batch(
                [self._source.encode(source) for source in sources],
                [self._target.encode(target) for target in targets],
                max_batch_size=BATCH_TOKENS,
                batch_type="tokens",
                max_input_length=MAXIMUM_OUTPUT,
            )
            for result in results:
                yield sum(result.log_probs) / max(len(result.log_probs), 1)
