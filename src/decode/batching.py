"""Batches of sentences of similar length, and their results in the order of the input."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

from decode.engines import Batch

AHEAD = 1  # windows read while another one is decoded

Window = TypeVar("Window")
Item = TypeVar("Item")
Result = TypeVar("Result")
Weigh = Callable[[list[str]], int]  # size of a sentence in windows and batches: pieces, or 1


def by_sentence(sentence: list[str]) -> int:
    """Weight of a sentence if sizes are numbers of sentences."""
    return 1


def batches(window: Batch, most: int, sorting: bool = True, weigh: Weigh = len) -> Iterator[list[int]]:
    """Yield batches of at most ``most`` with padding, as indices into the window.

    With ``sorting`` the longest sentences come first. Empty sentences are left out; one above ``most`` is a batch of
    its own.
    """
    order = [place for place, sentence in enumerate(window) if sentence]
    if sorting:
        order.sort(key=lambda place: -len(window[place]))
    start = 0
    while start < len(order):
        longest, end = weigh(window[order[start]]), start + 1
        while end < len(order) and max(longest, weigh(window[order[end]])) * (end + 1 - start) <= most:
            longest, end = max(longest, weigh(window[order[end]])), end + 1
        yield order[start:end]
        start = end


def in_order(
    windows: Iterable[Window],
    items: Callable[[Window], list[Item]],
    cut: Callable[[list[Item]], Iterable[list[int]]],
    work: Callable[[list[Item]], list[Result]],
    workers: Executor,
    ahead: int = AHEAD,
) -> Iterator[tuple[Window, list[Result | None]]]:
    """Yield each window and the results of its items in order; None for items in no batch.

    items: of a window. cut: divides items into batches of indices; each batch is one call of ``work`` in a worker.
    ahead: windows read while another one is worked on.
    """
    running: deque[tuple[Window, int, list[tuple[list[int], Future[list[Result]]]]]] = deque()
    try:
        for window in windows:
            found = items(window)
            submitted = [(places, workers.submit(work, [found[place] for place in places])) for places in [*cut(found)]]
            running.append((window, len(found), submitted))
            if len(running) > ahead:
                yield gathered(*running[0])
                running.popleft()
        while running:
            yield gathered(*running[0])
            running.popleft()
    finally:  # after an error the remaining results are not needed
        for *_, submitted in running:
            for _, future in submitted:
                future.cancel()


def gathered(
    window: Window, count: int, submitted: list[tuple[list[int], Future[list[Result]]]]
) -> tuple[Window, list[Result | None]]:
    """Wait for a window's batches; return the results in the order of its ``count`` items."""
    results: list[Result | None] = [None] * count
    for places, future in submitted:
        for place, result in zip(places, future.result(), strict=True):
            results[place] = result
    return window, results
