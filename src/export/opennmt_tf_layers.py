"""What readers of OpenNMT-tf's models share: dense layers as products, and what a reader gives."""

from typing import Any

import numpy as np

from export.float_model import Product

# Products and vectors by the engine's names, and metadata of the native file.
Layers = tuple[dict[str, Product], dict[str, np.ndarray], dict[str, object]]


def dense(layer: Any) -> Product:
    """The weights of a dense layer, [outputs, inputs], and its bias, zeros if it has none."""
    return product(layer.kernel, layer.bias)


def product(kernel: Any, bias: Any | None) -> Product:
    """A kernel of Keras, [inputs, outputs], and a bias, zeros in place of None."""
    weights = np.asarray(kernel).T
    return weights, np.zeros(len(weights), np.float32) if bias is None else np.asarray(bias)


def joined(*layers: Any) -> Product:
    """Dense layers of the same inputs as one."""
    weights, biases = zip(*map(dense, layers), strict=True)
    return np.concatenate(weights), np.concatenate(biases)
