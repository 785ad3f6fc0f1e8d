"""Single kernels of the engine, for tests and for benchmarks of a CPU's instructions."""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.bindings import _BYTES, _FLOATS, _INTS, TILES, EngineError, _call, _library

Array = NDArray[Any]

TYPES = {"float32": 0, "int16": 1, "int8": 2, "int4": 3}  # the last of products only: their inputs are int8
ACTIVATIONS = ("relu", "swish", "gelu", "gelu_tanh")
ALIGNMENT = 64


def aligned(array: Array) -> Array:
    """A copy aligned to 64 bytes, which kernels require of weights."""
    buffer = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    start = -buffer.ctypes.data % ALIGNMENT
    copy: Array = buffer[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def quantise(rows: Array, kind: str, signed: bool = True, fixed: float = 0) -> tuple[Array, Array]:
    """Quantised rows of activations and their scales; signed int8 has 128 added.

    fixed: scale of all rows; 0: each row has its own.
    """
    kind, (count, units) = "int8" if kind == "int4" else kind, rows.shape
    to = np.zeros((count, units), {"float32": np.float32, "int16": np.int16, "int8": np.uint8}[kind])
    scale = np.ones(count, np.float32)
    rows = np.ascontiguousarray(rows, np.float32)
    _call("nmt_quantise", TYPES[kind], count, units, rows.ctypes.data_as(_FLOATS), to.ctypes.data_as(_BYTES),
          scale.ctypes.data_as(_FLOATS), int(signed), ctypes.c_float(fixed))  # fmt: skip
    return to, scale


def product(
    weights: dict[str, Array], kind: str, rows: Array, scale: Array, shifted: bool, repeat: int = 1,
    tile: str = "usual",
) -> Array:  # fmt: skip
    """rows times weights, float32 [rows, outputs].

    weights: tensors ``weight``, ``bias``, ``scale``, ``offset`` and ``steps``, as the type has them.
    repeat: how often to compute the product, for benchmarks.
    """
    panels, bias = aligned(weights["weight"]), weights["bias"]
    outputs, inputs = len(bias), rows.shape[1]
    channel_scale = weights.get("scale", bias)
    offset = weights.get("offset", np.zeros(outputs, np.int32))
    steps = weights.get("steps", np.zeros(0, np.int8))
    to = np.zeros((len(rows), outputs), np.float32)
    rows = np.ascontiguousarray(rows)
    _call("nmt_product", TYPES[kind], inputs, outputs, panels.ctypes.data_as(_BYTES), steps.ctypes.data_as(_BYTES),
          channel_scale.ctypes.data_as(_FLOATS), offset.ctypes.data_as(_INTS), bias.ctypes.data_as(_FLOATS),
          len(rows), rows.ctypes.data_as(_BYTES), scale.ctypes.data_as(_FLOATS), int(shifted), TILES.index(tile),
          to.ctypes.data_as(_FLOATS), repeat)  # fmt: skip
    return to


def activate(name: str, rows: Array, gated: bool = False) -> Array:
    """One of ACTIVATIONS of rows, float32 [rows, units]; gated: the second half of each row are linear factors."""
    rows = np.array(rows, np.float32)
    units = rows.shape[1] // (2 if gated else 1)
    _call("nmt_activate", ACTIVATIONS.index(name), int(gated), len(rows), units, rows.ctypes.data_as(_FLOATS))
    return rows.ravel()[: len(rows) * units].reshape(len(rows), units)


def read(data: Array, repeat: int = 1) -> None:
    """Read an array, whose size is a multiple of 512 bytes, so many times, to measure the caches."""
    if data.nbytes % 512:
        raise EngineError("a multiple of 512 bytes is read")
    _library.nmt_read(data.ctypes.data_as(_BYTES), data.nbytes, repeat)


def lstm(inputs: Array, states: Array, output: Array, cell: Array) -> tuple[Array, Array]:
    """The next output and cell of an LSTM, float32 [units].

    inputs, states: products, [4, units], of input gate, forget gate, candidate, output gate.
    """
    state = _cell(0, inputs, states, np.stack([output, cell]))
    return state[0], state[1]


def gru(inputs: Array, states: Array, output: Array) -> Array:
    """The next output of a GRU, float32 [units].

    inputs, states: products, [3, units], of update gate, reset gate, candidate.
    """
    return _cell(1, inputs, states, output)


def _cell(kind: int, inputs: Array, states: Array, state: Array) -> Array:
    inputs, states = (np.ascontiguousarray(products, np.float32) for products in (inputs, states))
    state = np.array(state, np.float32)
    _call("nmt_cell", kind, state.shape[-1], inputs.ctypes.data_as(_FLOATS), states.ctypes.data_as(_FLOATS),
          state.ctypes.data_as(_FLOATS))  # fmt: skip
    return state
