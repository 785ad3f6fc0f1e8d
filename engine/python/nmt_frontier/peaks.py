"""How fast a core multiplies at best: the engine's product with weights and inputs in the first-level cache."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from nmt_frontier.model import native_weights

ROWS, OUTPUTS, INPUTS = (12, 32), 32, 256  # whole tiles of vectors, of AMX; 8 KiB of int8 weights
SECONDS = 0.2  # to try each number of rows
REPEAT = 1000


def peak(kind: str) -> float:
    """Operations per second of this thread in a type of weights; the best of several tries."""
    from nmt_frontier import kernels  # inside: reports may be made where the engine is not built

    random = np.random.default_rng(1)
    matrix = random.normal(size=(OUTPUTS, INPUTS)).astype(np.float32)
    weights = native_weights.linear("w", matrix, np.zeros(OUTPUTS), kind)
    tensors = {name.partition(".")[2]: tensor for name, tensor in weights.items()}
    best = 0.0
    for count in ROWS:
        rows, scale = kernels.quantise(random.normal(size=(count, INPUTS)).astype(np.float32), kind)

        def call(rows: Any = rows, scale: Any = scale) -> None:
            kernels.product(tensors, kind, rows, scale, True, REPEAT)

        best = max(best, 2 * count * OUTPUTS * INPUTS * REPEAT / fastest(call))
    return best


def fastest(call: Callable[[], None]) -> float:
    """The seconds of the fastest call among those of SECONDS, one at least; the first does not count."""
    call()
    found: list[float] = []
    end = time.perf_counter() + SECONDS
    while not found or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)
