"""How fast this machine multiplies: each product of a native model, in each type and tile of its engine.

Marian's auto-tuner (Junczys-Dowmunt et al. 2018) times the matrix libraries that it has for each shape and keeps the
fastest. Here the tile is what the engine chooses; a model folder has one type, so the times of the others say whether
another folder of the model would be faster.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from common.progress import progress
from formats import native_model, safetensors

ROWS = 60  # as many as the encoder multiplies at a time
CANDIDATES = 512  # outputs of the output layer, whose vocabulary map leaves some hundred
SECONDS = 0.01  # of a call
ROUNDS = 5  # the tiles take turns; the fastest call counts, as other work only slows

Times = dict[str, dict[str, dict[str, float]]]  # shape, as "128x512", type, tile: 10^9 operations a second


def products(folder: Path) -> Times:
    """The times of all products of the model in a folder."""
    shapes = sorted({*of_model(folder)})
    return {
        f"{inputs}x{outputs}": {kind: tiles(inputs, min(outputs, CANDIDATES), kind) for kind in native_model.TYPES}
        for inputs, outputs in progress(shapes, "tuning products", total=len(shapes), unit="shape")
    }


def of_model(folder: Path) -> Iterator[tuple[int, int]]:
    """Inputs and outputs of its products; the output layer has as many outputs as there are target pieces."""
    path = folder / native_model.NAME
    tensors, shape = safetensors.read(path), safetensors.metadata(path)
    for name, tensor in tensors.items():
        if name.endswith(".weight"):  # [outputs / 16][inputs / group][16][group]
            yield tensor.shape[1] * tensor.shape[3], tensor.shape[0] * tensor.shape[2]
    yield tensors[f"{shape['rows.output']}.rows"].shape[1], int(shape["target_pieces"])


def tiles(inputs: int, outputs: int, kind: str) -> dict[str, float]:
    """The times of a product in a type, by its tile."""
    from nmt_frontier_engine import TILES, kernels

    random = np.random.default_rng(1)
    outputs = native_model.padded(outputs)
    matrix = random.normal(size=(outputs, inputs)).astype(np.float32)
    weights = native_model.linear("w", matrix, np.zeros(outputs), kind)
    tensors = {name.partition(".")[2]: tensor for name, tensor in weights.items()}
    rows, scale = kernels.quantise(random.normal(size=(ROWS, inputs)).astype(np.float32), kind)

    def call(tile: str, repeat: int) -> None:
        kernels.product(tensors, kind, rows, scale, True, repeat, tile)

    once = min(seconds(lambda: call("usual", 10)) for _ in range(ROUNDS)) / 10
    repeat = max(1, round(SECONDS / once))
    named = [tile for tile in TILES if tile != "usual"]
    spent = [{tile: seconds(lambda tile=tile: call(tile, repeat)) for tile in named} for _ in range(ROUNDS)]
    operations = 2e-9 * ROWS * inputs * outputs * repeat
    return {tile: float(f"{operations / min(times[tile] for times in spent):.4g}") for tile in named}


def seconds(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
