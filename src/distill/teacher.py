"""A teacher: a model with its own tokenization, which translates text and scores translations."""

import argparse
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from common.command_line import positive
from common.errors import UserError
from decode.pipeline import GPU
from distill.ctranslate2 import CTranslate2Teacher
from distill.engine import TeacherEngine
from distill.n_best_lists import Hypothesis
from distill.native import NativeTeacher
from distill.tokenization import Tokenizer
from formats import records
from formats.decoding import BATCH_TOKENS, MAXIMUM_OUTPUT


class Teacher:
    """Translates text, and scores translations, in ``threads`` single-threaded workers.

    model: a folder of CTranslate2, named after the type to compute in, or of the native engine. tokenizers: of the
    source and the target side. batch_tokens: of CTranslate2 (distill.ctranslate2). arithmetic: for the record
    (distill.engine).
    """

    def __init__(
        self,
        model: Path,
        tokenizers: list[Tokenizer],
        threads: int = 1,
        device: str = "cpu",
        batch_tokens: int | None = None,
    ):
        self._source, self._target = tokenizers
        self._engine = load(model, threads, device, batch_tokens)
        self.arithmetic = self._engine.arithmetic

    def translate(self, sources: Iterable[str], beam_size: int, n_best: int) -> Iterator[list[Hypothesis]]:
        """Yield the n-best list of each sentence in order, reading no more than two windows ahead.

        The list of a source longer than MAXIMUM_OUTPUT pieces is empty, because the model would read it in part only;
        hypotheses that reach MAXIMUM_OUTPUT pieces are left out, because they may not have ended.
        """
        encoded = map(self._source.encode, sources)
        whole = (pieces if len(pieces) <= MAXIMUM_OUTPUT else [] for pieces in encoded)
        for hypotheses in self._engine.n_best(whole, beam_size, n_best):
            yield [
                Hypothesis(records.sentence(self._target.decode(pieces)), score)
                for pieces, score in hypotheses
                if 0 < len(pieces) < MAXIMUM_OUTPUT
            ]

    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[float]:
        """Yield the mean log-probability per token of each target, given its source (forced decoding)."""
        yield from self._engine.score(
            (self._source.encode(source), self._target.encode(target)) for source, target in pairs
        )


def load(model: Path, threads: int, device: str, batch_tokens: int | None = None) -> TeacherEngine:
    """A model with the engine whose weights its folder holds. Raises UserError for a model that cannot be loaded."""
    if not (model / NativeTeacher.weights).exists():
        return CTranslate2Teacher(model, threads, device, batch_tokens)
    if device not in NativeTeacher.devices:
        raise UserError(f"{model}: the native engine translates on the CPU; leave out --device")
    return NativeTeacher(model, threads)


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
        "--threads", type=int, default=os.cpu_count() or 1, help="single-threaded workers (default: one per core)"
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="(default: %(default)s)")
    parser.add_argument(
        "--batch-tokens", type=positive, help=f"of CTranslate2, with padding (default: {BATCH_TOKENS}; {GPU} on a GPU)"
    )
