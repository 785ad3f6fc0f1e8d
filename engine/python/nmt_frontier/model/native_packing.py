"""Packing of the native engine's weights: in panels of 16 channels, with all dimensions padded to multiples of 16.

A panel has ``[inputs / g, 16, g]`` weights, where g elements have 4 bytes; a matrix has ``[outputs / 16]`` panels.
"""

import numpy as np

from nmt_frontier.model.native_files import PANEL
from nmt_frontier.model.safetensors import Array


def padded(count: int) -> int:
    return -(-count // PANEL) * PANEL


def panels(matrix: Array) -> Array:
    """[outputs, inputs] to [outputs / 16, inputs / g, 16, g]; both dimensions are multiples of 16."""
    group = 4 // matrix.itemsize
    outputs, inputs = matrix.shape
    return np.ascontiguousarray(matrix.reshape(outputs // PANEL, PANEL, inputs // group, group).transpose(0, 2, 1, 3))


def half_bytes(integers: Array) -> Array:
    """Panels of 8-bit integers, each group of inputs with the next: its own in the lower halves of the bytes."""
    lower, upper = integers[:, ::2] & 15, integers[:, 1::2] << 4
    packed: Array = lower | upper
    return packed


def pad(matrix: Array, *shape: int) -> Array:
    """A matrix or vector padded with zeros to this shape."""
    result = np.zeros(shape, matrix.dtype)
    result[tuple(map(slice, matrix.shape))] = matrix
    return result


def pad_outputs(weights: Array, bias: Array, groups: int) -> tuple[Array, Array]:
    """Pad the outputs of each group (head, gate) to a multiple of 16. weights: [groups x size, inputs]."""
    size = len(bias) // groups
    wide, inputs = padded(size), weights.shape[1]
    return (
        pad(weights.reshape(groups, size, inputs), groups, wide, inputs).reshape(groups * wide, inputs),
        pad(bias.reshape(groups, size), groups, wide).reshape(-1),
    )


def pad_inputs(weights: Array, groups: int) -> Array:
    """Pad the inputs of each group to a multiple of 16. weights: [outputs, groups x size]."""
    outputs, inputs = weights.shape
    size = inputs // groups
    return pad(weights.reshape(outputs, groups, size), outputs, groups, padded(size)).reshape(outputs, -1)
