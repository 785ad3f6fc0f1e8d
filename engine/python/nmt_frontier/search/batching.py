"""Batches of sentences of similar length, and their results in the order of the input."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import Generic, TypeVar

from nmt_frontier.search.engine import Batch

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
    count: int,
    ahead: int = AHEAD,
) -> Iterator[tuple[Window, list[Result | None]]]:
    """Yield each window and the results of its items in order; None for items in no batch.

    items: of a window. cut: divides items into batches of indices; each batch is one call of ``work`` in a worker.
    count: of workers. ahead: windows read while another one is worked on.
    """
    running: deque[Job[Window, Item, Result]] = deque()
    try:
        for window in windows:
            found = items(window)
            running.append(Job(window, found, deque(cut(found)), work))
            running[-1].start(workers, count)
            if len(running) > ahead:
                yield running[0].finished()
                running.popleft()
        while running:
            yield running[0].finished()
            running.popleft()
    finally:  # after an error the remaining results are not needed
        for job in running:
            job.cancel()


class Job(Generic[Window, Item, Result]):
    """The batches of a window, which the workers take one after the other.

    A worker is started once a window: to wake a thread takes 20 to 40 microseconds, a third of the time of a short
    sentence.
    """

    def __init__(
        self, window: Window, items: list[Item], waiting: deque[list[int]], work: Callable[[list[Item]], list[Result]]
    ):
        self._window, self._items, self._waiting, self._work = window, items, waiting, work
        self._results: list[Result | None] = [None] * len(items)
        self._started: list[Future[None]] = []

    def start(self, workers: Executor, count: int) -> None:
        self._started = [workers.submit(self._run) for _ in range(min(count, len(self._waiting)))]

    def finished(self) -> tuple[Window, list[Result | None]]:
        """Wait for the batches; return the window and the results in the order of its items."""
        for future in self._started:
            future.result()
        return self._window, self._results

    def cancel(self) -> None:
        self._waiting.clear()

    def _run(self) -> None:
        """Work on batches, in a worker, until none waits."""
        while places := self._next():
            results = self._work([self._items[place] for place in places])
            for place, result in zip(places, results, strict=True):
                self._results[place] = result

    def _next(self) -> list[int]:
        try:
            return self._waiting.popleft()
        except IndexError:  # another worker took the last one
            return []
