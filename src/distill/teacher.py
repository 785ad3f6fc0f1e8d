"""A teacher: a model or an ensemble with its tokenization and engine, which translates text and scores translations."""

import argparse
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from common.document import argument
from decode.engines.ctranslate2 import CTranslate2
from distill.n_best_lists import ScoredText
from distill.settings import Prefix, TranslationSettings
from distill.teacher_engines import BestPieces, NativeTeacher, Pieces, load
from formats import records
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError
from nmt_frontier.limits import BATCH_TOKENS, MAXIMUM_OUTPUT
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.search.pipeline import GPU
from nmt_frontier.search.sampling import Sampling
from nmt_frontier.text.tokenizers import Tokenizer

LANGUAGE = re.compile(r"__[a-z]{2,3}__|[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2}")  # pieces of M2M100, NLLB and mBART

REPLACED = "\ufffd"  # what a tokenizer writes for bytes that are no UTF-8


class Teacher:
    """Translates text and scores translations.

    tokenizers: of the source and the target side. prefix: counts in the length of a translation, as pieces that are
    certain. others: models that translate with the first, token by token. The other arguments, and ``arithmetic``, are
    those of the engines. Raises UserError for a prefix with foreign pieces, and for none where the model has several
    languages.
    """

    def __init__(
        self, model: Path, tokenizers: list[Tokenizer], threads: int = 1, device: str = "cpu",
        batch_tokens: int | None = None, prefix: Prefix | None = None, others: Sequence[Path] = (),
    ):  # fmt: skip
        self._model, (self._source, self._target) = model, tokenizers
        self._engine = load(model, threads, device, batch_tokens, others)
        self._before, self._begin = (prefix or Prefix()).pieces
        check_prefix(model, self._before, self._begin)
        self.arithmetic = self._engine.arithmetic

    def translate(
        self, sources: Iterable[str], beam_size: int, n_best: int, sampling: Sampling | None = None
    ) -> Iterator[list[ScoredText]]:
        """Yield the n-best list of each sentence in order, or its samples, each with the weight 1, reading no more than
        two windows ahead.

        The list of a source of more than MAXIMUM_OUTPUT pieces is empty, because the model would read only part of it;
        hypotheses that reach MAXIMUM_OUTPUT pieces are left out, because they may not have ended. So are those with
        bytes that are no UTF-8, which samples may have (vocabulary.byte_fallback), if there are others.
        """
        encoded, weight = map(self._encode, sources), 1 if sampling else None
        whole = (pieces if len(pieces) <= MAXIMUM_OUTPUT else [] for pieces in encoded)
        for hypotheses in self._engine.n_best(whole, beam_size, n_best, self._begin, sampling):
            own = ((pieces[len(self._begin) :], score) for pieces, score in hypotheses)
            texts = [
                ScoredText(records.sentence(self._target.decode(pieces)), score, weight)
                for pieces, score in own
                if 0 < len(pieces) < MAXIMUM_OUTPUT
            ]
            yield [each for each in texts if REPLACED not in each.text] or texts

    def _encode(self, source: str) -> Pieces:
        """The pieces of a source, with the prefix; none if it has none."""
        pieces = self._source.encode(source)
        return [*self._before, *pieces] if pieces else []

    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[float]:
        """Yield the mean log-probability per token of each target, given its source (forced decoding)."""
        encoded = ((self._encode(source), self._target.encode(target)) for source, target in pairs)
        yield from self._engine.score(encoded, self._begin)

    def best_pieces(self, pairs: Iterable[tuple[str, str]], most: int) -> Iterator[BestPieces | None]:
        """Yield what is most probable at each piece of each target and at its end (NativeTeacher.best_pieces)."""
        if not isinstance(self._engine, NativeTeacher):
            raise UserError(f"{self._model}: word-level distillation needs the native engine, and its models")
        encoded = ((self._encode(source), self._target.encode(target)) for source, target in pairs)
        yield from self._engine.best_pieces(encoded, most)


def check_prefix(model: Path, before: Pieces, begin: Pieces) -> None:
    """Compare prefixes with the vocabulary of a model. Raises UserError as ``Teacher``."""
    if (model / NativeTeacher.weights).exists():
        vocabulary = Vocabulary.read(model)
        source, target = vocabulary.source, vocabulary.target
    else:
        source = target = CTranslate2.vocabulary(model)
    for name, pieces, known in (("source", before, source), ("target", begin, target)):
        if known and (missing := [piece for piece in pieces if piece not in known]):
            raise UserError(f"{model}: prefix.{name} of this teacher has {missing[0]}, which is none of its pieces")
    languages = [piece for piece in target if LANGUAGE.fullmatch(piece)]
    if len(languages) > 1 and not begin:
        some = f"{len(languages)} languages, such as {' and '.join(languages[:2])}"
        raise UserError(f"{model}: has {some}; say in `prefix: {{source, target}}` of this teacher which ones it takes")


def teacher_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command with a teacher has."""
    parser.add_argument("settings", type=argument(TranslationSettings), help="JSON of distill.settings")
    parser.add_argument("--sentencepiece", type=there, nargs="?", help="the study's model, unless all have their own")
    stand_ins = "folder of CTranslate2 for each teacher, where the native engine is not installed"
    parser.add_argument("--stand-ins", type=Path, nargs="*", default=[], help=stand_ins)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="workers (default: one per core)")
    padded = f"of CTranslate2, with padding (default: {BATCH_TOKENS}; {GPU} on a GPU)"
    parser.add_argument("--batch-tokens", type=positive, help=padded)
