"""Batches of sentences by length, and streams that are read some batches ahead."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any

BATCH = 64  # sentences, where the caller names no size: a translation does not depend on it
READ = 16  # batches that are read and sorted together


def divided(lengths: list[int], most: int, kind: str) -> list[list[int]]:
    """The places of the sentences of each batch, longest sentences first."""
    if kind not in ("examples", "tokens"):
        raise ValueError(f"Invalid batch type: {kind}")
    most, kind = (most, kind) if most else (BATCH, "examples")
    batches: list[list[int]] = []
    room = 0
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if not room:
            batches.append([])
            room = most if kind == "examples" else most // max(lengths[place], 1) or 1
        batches[-1].append(place)
        room -= 1
    return batches


def streamed(
    function: Callable[..., Any],  # returns AsyncResult
    streams: Sequence[Iterable[Any]],
    size: int,
    kind: str,
    options: dict[str, Any],
) -> Iterator[Any]:
    """The results of endless streams; some batches are read and sorted together, and the next ones meanwhile."""
    if size < 1:
        raise ValueError("max_batch_size must be >= 1")
    rows, waiting = zip(*streams, strict=True), SimpleQueue()  # type: ignore[var-annotated]
    while chunk := _chunk(rows, size * READ if size > 1 else 1, kind):
        for result in function(*map(list, zip(*chunk, strict=True)), **options):
            waiting.put(result)
        while waiting.qsize() > len(chunk):
            yield waiting.get().result()
    while not waiting.empty():
        yield waiting.get().result()


def _chunk(rows: Iterator[tuple[Any, ...]], most: int, kind: str) -> list[tuple[Any, ...]]:
    if kind == "examples":
        return [*itertools.islice(rows, most)]
    chunk, tokens = [], 0
    for row in rows:
        chunk.append(row)
        tokens += len(row[0])
        if tokens >= most:
            break
    return chunk
