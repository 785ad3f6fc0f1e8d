"""What an engine does for a teacher, in pieces: n-best lists of sentences, and scores of given translations."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

Pieces = list[str]  # without control tokens
Pair = tuple[Pieces, Pieces]  # a source and its translation
Scored = tuple[Pieces, float]  # a hypothesis; the mean log-probability of its pieces and its end


class TeacherEngine(Protocol):
    """A loaded model. Both methods keep the order, and hold no more than a window or two in memory.

    A sentence or translation is read up to MAXIMUM_OUTPUT pieces, control tokens included, and no hypothesis is longer.
    arithmetic: for the record, the engine, the type asked for, the type it became, the library or the instructions, and
    whether int8 saturates.
    """

    arithmetic: dict[str, Any]

    def n_best(self, sentences: Iterable[Pieces], beam_size: int, n_best: int) -> Iterator[list[Scored]]:
        """Yield the hypotheses of each sentence, best first; those of a sentence without pieces say nothing."""

    def score(self, pairs: Iterable[Pair]) -> Iterator[float]:
        """Yield the mean log-probability per token of each translation and its end, given its source."""
