"""Subword regularisation (Kudo 2018): each pass of a training reads other segmentations of the same sentences.

SentencePiece can draw them itself, but salts its generator in every process. Here a draw depends on the seed, the pass
and the number of the line alone, so that a killed training goes on with the same pieces. Pieces of a unigram model
never cross the beginning of a word, and their probabilities multiply: to draw the words one by one is to draw the
sentence.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from math import exp
from pathlib import Path
from typing import Any

from nmt_frontier.errors import UserError
from nmt_frontier.sentence import split_pieces
from nmt_frontier.text import tokenizers

BEST = 64  # segmentations of a word that are drawn from
WORDS = 16_384  # whose segmentations are kept in memory
BEGINNING = "▁"  # of a word

Choices = tuple[list[str], list[float]]  # segmentations, pieces separated by spaces, and their cumulative weights


class Segmentations:
    """Draws segmentations of a SentencePiece model's pieces, by their probabilities to the power of ``alpha``.

    Raises UserError for a model without probabilities.
    """

    def __init__(self, model: Path, alpha: float, seed: int):
        self._processor, self._alpha, self._seed = tokenizers.pieces(model), alpha, seed
        try:
            self._processor.nbest_encode_as_pieces("a", nbest_size=2)
        except RuntimeError:
            reason = f"{model} has no probabilities of pieces; it takes a unigram model"
            raise UserError(f"training.sampling: {reason}") from None
        self._choices = lru_cache(WORDS)(self._of_word)

    def draw(self, line: str, place: str) -> str:
        """A segmentation of a line of pieces. place: of the line, with which the draw changes."""
        generator = random.Random(f"{self._seed} {place}")
        drawn = []
        for word in words(line):
            found, weights = self._choices(word)
            drawn += generator.choices(found, cum_weights=weights) if len(found) > 1 else found
        return " ".join(drawn)

    def _of_word(self, word: str) -> Choices:
        """What a word in pieces is drawn from: itself alone where SentencePiece would split it in another way."""
        text = word.replace(" ", "").removeprefix(BEGINNING)
        found = [*map(" ".join, self._processor.nbest_encode_as_pieces(text, nbest_size=BEST))] if text else []
        if not found or found[0] != word:
            return [word], [1.0]
        scores = [*map(self._score, found)]
        return found, [*accumulate(exp(self._alpha * (score - scores[0])) for score in scores)]

    def _score(self, pieces: str) -> float:
        """The logarithm of the probability, but for pieces that all segmentations of a word have."""
        return sum(self._processor.get_score(self._processor.piece_to_id(piece)) for piece in pieces.split(" "))


def words(line: str) -> Iterator[str]:
    """The words of a line of pieces, each in pieces that are separated by spaces."""
    word: list[str] = []
    for piece in split_pieces(line):
        if piece.startswith(BEGINNING) and word:
            yield " ".join(word)
            word = []
        word.append(piece)
    if word:
        yield " ".join(word)


@contextmanager
def drawn(model: Any, segmentations: Segmentations, reading: int) -> Iterator[None]:
    """Inside, the datasets for training that an OpenNMT-tf model makes draw the segmentations of pass ``reading``."""
    import opennmt
    import tensorflow as tf

    class Drawing(opennmt.tokenizers.Tokenizer):
        def __init__(self, side: str):
            self._side = side

        def _tokenize_string(self, text: str, training: bool) -> list[str]:
            number, _, line = text.partition(" ")
            return split_pieces(segmentations.draw(line, f"{reading} {self._side} {number}"))

        def _detokenize_string(self, tokens: list[str]) -> str:
            raise NotImplementedError

    def numbered(file: str, training: bool | None = None) -> Any:
        lines = tf.data.TextLineDataset(file).enumerate()
        return lines.map(lambda number, line: tf.strings.join([tf.strings.as_string(number), line], " "))

    sides = {"source": model.features_inputter, "target": model.labels_inputter}
    before = {side: inputter.tokenizer for side, inputter in sides.items()}
    for side, inputter in sides.items():
        inputter.tokenizer, inputter.make_dataset = Drawing(side), numbered
    try:
        yield
    finally:
        for side, inputter in sides.items():
            inputter.tokenizer = before[side]
            del inputter.make_dataset
