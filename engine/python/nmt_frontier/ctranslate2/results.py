"""What the methods of the translator return, with the names and fields of CTranslate2."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any


@dataclass
class TranslationResult:
    hypotheses: list[list[str]]
    scores: list[float] = field(default_factory=list)
    attention: list[list[list[float]]] = field(default_factory=list)
    logits: list[Any] = field(default_factory=list)


@dataclass
class ScoringResult:
    tokens: list[str]
    log_probs: list[float]


@dataclass
class ExecutionStats:
    num_tokens: int
    num_examples: int
    total_time_in_ms: float


class AsyncResult:
    """One result of a batch that is computed in another thread."""

    def __init__(self, batch: Future[Any], place: int):
        self._batch, self._place = batch, place

    def done(self) -> bool:
        return self._batch.done()

    def result(self) -> Any:
        """Wait for the result. Raises what computing it raised."""
        return self._batch.result()[self._place]


AsyncTranslationResult = AsyncScoringResult = AsyncResult
