"""A teacher: a CTranslate2 folder with its own tokenization, which translates text and scores translations."""

import argparse
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from common import cpu
from distill.n_best_lists import Hypothesis
from distill.tokenization import Tokenizer
from formats import loading, records
from formats.decoding import BATCH_TOKENS, MAXIMUM_OUTPUT, compute_type, prepare

SCORING_WINDOW = 20_000  # pairs scored at a time


class Teacher:
    """Translates text, and scores translations, in ``threads`` single-threaded translators.

    model: a CTranslate2 folder named after the type to compute in. tokenizers: of the source and the target side.
    arithmetic: for the record, the type asked for, the type it became, the library, and whether int8 saturates.
    """

    def __init__(self, model: Path, tokenizers: list[Tokenizer], threads: int = 1, device: str = "cpu"):
        self._source, self._target = tokenizers
        prepare(model.name, device)
        workers = {"inter_threads": threads, "intra_threads": 1}
        requested_type = compute_type(model.name, device)
        self._translator = loading.translator(model, device=device, compute_type=requested_type, **workers)
        saturates = device == "cpu" and self._translator.compute_type.startswith("int8") and cpu.int8_saturates()
        if saturates:
            print(cpu.warning(model), file=sys.stderr)
        self.arithmetic = {
            "compute_type": model.name,
            "effective_compute_type": self._translator.compute_type,
            "library": cpu.described() if device == "cpu" else None,
            "int8_saturates": saturates,
        }

    def translate(self, sources: Iterable[str], beam_size: int, n_best: int) -> Iterator[list[Hypothesis]]:
        """Yield the n-best list of each sentence in order, reading no more than one window ahead.

        The list of a source longer than MAXIMUM_OUTPUT pieces is empty, because the model would read it in part only;
        hypotheses that reach MAXIMUM_OUTPUT pieces are left out, because they may not have ended.
        """
        lengths: deque[int] = deque()

        def encoded() -> Iterator[list[str]]:
            for source in sources:
                pieces = self._source.encode(source)
                lengths.append(len(pieces))
                yield pieces

        results = self._translator.translate_iterable(
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
            fits = lengths.popleft() <= MAXIMUM_OUTPUT
            yield [
                Hypothesis(records.sentence(self._target.decode(pieces)), score)
                for pieces, score in zip(result.hypotheses, result.scores, strict=True)
                if fits and len(pieces) < MAXIMUM_OUTPUT
            ]

    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[float]:
        """Yield the mean log-probability per token of each target, given its source (forced decoding)."""
        pairs = iter(pairs)
        while window := list(islice(pairs, SCORING_WINDOW)):
            sources, targets = zip(*window, strict=True)
            results = self._translator.score_batch(
                [self._source.encode(source) for source in sources],
                [self._target.encode(target) for target in targets],
                max_batch_size=BATCH_TOKENS,
                batch_type="tokens",
                max_input_length=MAXIMUM_OUTPUT,
            )
            for result in results:
                yield sum(result.log_probs) / max(len(result.log_probs), 1)


def teacher_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command with a teacher has."""
    parser.add_argument(
        "--sentencepiece",
        type=Path,
        nargs="?",
        help="the study's model, unless all teachers have their own",
    )
    parser.add_argument("--languages", nargs=2, required=True, help="codes of the study's source and target language")
    parser.add_argument(
        "--threads", type=int, default=os.cpu_count() or 1, help="single-threaded translators (default: one per core)"
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="(default: %(default)s)")
