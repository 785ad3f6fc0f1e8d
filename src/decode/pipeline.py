"""From lines to translated lines in order, with bounded memory and a clock on every stage.

As in the WNGT 2020 submission: read a window of 8N tokens, sort it by length, cut it into batches of N tokens,
decode, put the translations back in order. The batches of a window are spread over workers.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from decode.engines import Batch

WINDOW_BATCHES = 8  # for each worker
MAXIMUM_INPUT = 1000  # pieces; attention grows with the square, so one endless line would take all memory

Result = TypeVar("Result")


class Tokenizer(Protocol):
    def encode(self, line: str) -> list[str]: ...
    def decode(self, pieces: list[str]) -> str: ...


def windows(sentences: Iterable[list[str]], tokens: int) -> Iterator[Batch]:
    """Group sentences in order; a window is full when it holds ``tokens`` pieces or lines."""
    window: Batch = []
    size = 0
    for sentence in sentences:
        window.append(sentence)
        size += max(len(sentence), 1)  # a line without pieces takes memory, too
        if size >= tokens:
            yield window
            window, size = [], 0
    if window:
        yield window


def batches(window: Batch, tokens: int) -> Iterator[list[int]]:
    """Cut a window into batches of at most ``tokens`` pieces, padding included: yield places in the window.

    The longest sentences come first. Lines without pieces are left out; a longer sentence is a batch of its own.
    """
    order = sorted((place for place, sentence in enumerate(window) if sentence), key=lambda place: -len(window[place]))
    start = 0
    while start < len(order):
        size = max(tokens // len(window[order[start]]), 1)
        yield order[start : start + size]
        start += size


class Pipeline:
    """Translates lines with a tokenizer and the ``translate`` of an engine.

    seconds: wall time by stage (tokenization, decode, detokenization); counts: source and target pieces without
    control tokens, and lines cut at MAXIMUM_INPUT pieces. Both grow with every line translated.
    """

    def __init__(
        self, tokenizer: Tokenizer, translate: Callable[[Batch], Batch], batch_tokens: int = 512, workers: int = 1
    ):
        self.seconds: dict[str, float] = dict.fromkeys(("tokenization", "decode", "detokenization"), 0.0)
        self.counts: Counter[str] = Counter()
        self._tokenizer, self._translate, self._batch_tokens = tokenizer, translate, batch_tokens
        self._window_tokens = WINDOW_BATCHES * batch_tokens * workers
        self._map = ThreadPoolExecutor(workers).map if workers > 1 else map

    def windows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Yield the translations of one window after the other, a line for each line read."""
        for window in windows(map(self._encode, lines), self._window_tokens):
            pieces = self._timed("decode", self._decode, window)
            yield self._timed("detokenization", lambda pieces: [*map(self._tokenizer.decode, pieces)], pieces)

    def _timed(self, stage: str, function: Callable[..., Result], *arguments) -> Result:
        start = time.perf_counter()
        result = function(*arguments)
        self.seconds[stage] += time.perf_counter() - start
        return result

    def _encode(self, line: str) -> list[str]:
        pieces = self._timed("tokenization", self._tokenizer.encode, line)
        self.counts["lines_cut"] += len(pieces) > MAXIMUM_INPUT
        self.counts["source_tokens"] += len(pieces)
        return pieces[:MAXIMUM_INPUT]

    def _decode(self, window: Batch) -> Batch:
        outputs: Batch = [[] for _ in window]
        cut = [*batches(window, self._batch_tokens)]
        translated = self._map(self._translate, [[window[place] for place in batch] for batch in cut])
        for places, results in zip(cut, translated, strict=True):
            for place, output in zip(places, results, strict=True):
                outputs[place] = output
                self.counts["target_tokens"] += len(output)
        return outputs
