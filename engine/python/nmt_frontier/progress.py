"""Progress of long work on stderr: a bar with rate and estimate on a terminal, plain lines in a log or without tqdm."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")
LOG_SECONDS = 15  # between two lines of a log


def progress(
    items: Iterable[Item],
    what: str,
    total: int | None = None,
    unit: str = "line",
    size: Callable[[Item], int] = lambda _: 1,
    block: int = 1,
) -> Iterator[Item]:
    """Pass the items through; show count, rate and remaining time.

    what: the work, such as ``reading``. total: units of all items. size: units of an item, as the lines of a batch.
    block: units that come together after a wait; a log has no line inside one, where the rate would be too low.
    """
    if bar_of := _bar():
        with bar_of(desc=what, total=total, unit=unit, unit_scale=True) as bar:
            for item in items:
                yield item
                bar.update(size(item))
        return
    start = last = time.monotonic()
    count = 0
    for item in items:
        count += size(item)
        yield item
        now = time.monotonic()
        if now - last >= LOG_SECONDS and count % block == 0:
            last = now
            print(_line(what, count, total, unit, now - start), file=sys.stderr, flush=True)
    print(_line(what, count, total, unit, time.monotonic() - start) + ", done", file=sys.stderr, flush=True)


def _bar() -> Any:
    """The class of a bar; None where there is no terminal or no tqdm, which the runtime does without."""
    if not sys.stderr.isatty():
        return None
    try:
        from tqdm import tqdm  # inside: only a terminal needs it
    except ImportError:
        return None
    return tqdm


def _line(what: str, count: int, total: int | None, unit: str, seconds: float) -> str:
    rate = count / max(seconds, 1e-9)
    of = f" of {total:,}" if total else ""
    left = f", {max(total - count, 0) / rate:,.0f} s left" if total and rate else ""
    speed = f"{rate:,.0f} {unit}s/s" if rate >= 1 or not count else f"{seconds / count:,.1f} s a {unit}"
    return f"{what}: {count:,}{of} {unit}s, {speed}{left}"
