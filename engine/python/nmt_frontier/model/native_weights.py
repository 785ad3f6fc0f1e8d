"""The weights of the native engine, ``weights.safetensors``, read by engine/model: tensors of products and tables.

The file is a safetensors file, which the engine maps into memory and uses unchanged on every CPU. Weights have one of
TYPES (model.native_quantization); matrices of products are packed in panels (model.native_packing), embeddings and the
output layer's matrix are in rows. All dimensions are padded with zeros to multiples of 16.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nmt_frontier.errors import UserError
from nmt_frontier.model import native_files, safetensors
from nmt_frontier.model.native_files import PANEL
from nmt_frontier.model.native_packing import half_bytes, pad, padded, panels
from nmt_frontier.model.native_quantization import INT4_INPUTS, halved, offset, quantized
from nmt_frontier.model.safetensors import Array

NAME, TYPES = native_files.WEIGHTS, native_files.TYPES
FORMAT = "nmt-frontier-native-1"
ROWS = {"int4": "int8"}  # the type of embeddings and output layer, where it is another


def kind(folder: Path) -> str:
    """The type at the end of a folder's name, after a hyphen. Raises UserError for another name."""
    if (name := folder.name.rpartition("-")[2]) not in TYPES:
        raise UserError(f"{folder}: its name must end in -{', -'.join(TYPES)}")
    return name


def of_product(kind: str, inputs: int) -> str:
    """The type of a product with these inputs in a model of a type."""
    return "int8" if kind == "int4" and inputs % INT4_INPUTS else kind


def linear(name: str, weights: Array, bias: Array, kind: str, keep: bool = False) -> dict[str, Array]:
    """The tensors of a product. weights: float32 [outputs, inputs], multiples of 16. keep: as for ``quantized``."""
    kind = of_product(kind, weights.shape[1])
    tensors = {f"{name}.bias": bias.astype(np.float32)}
    if kind == "int4":
        integers, step, scale = halved(weights)
        wide = integers * np.repeat(step.astype(np.int64), INT4_INPUTS, axis=1)
        return {
            f"{name}.weight": half_bytes(panels(integers)),
            f"{name}.steps": np.ascontiguousarray(step.reshape(-1, PANEL, step.shape[1]).transpose(0, 2, 1)),
            f"{name}.scale": scale,
            f"{name}.offset": offset(wide),
            **tensors,
        }
    if kind == "float32":
        return {f"{name}.weight": panels(weights.astype(np.float32)), **tensors}
    integers, scale = quantized(weights, kind, keep=keep)
    tensors |= {f"{name}.weight": panels(integers), f"{name}.scale": scale}
    if kind == "int8":
        tensors[f"{name}.offset"] = offset(integers)
    return tensors


def rows(name: str, weights: Array, kind: str, bounded: bool, keep: bool = False) -> dict[str, Array]:
    """The tensors of a lookup table: [entries, units], entries padded with zeros."""
    weights = pad(weights.astype(np.float32), padded(len(weights)), weights.shape[1])
    if kind == "float32":
        return {f"{name}.rows": weights}
    integers, scale = quantized(weights, kind, bounded, keep)
    return {f"{name}.rows": integers, f"{name}.scale": scale}


def write(path: Path, tensors: Mapping[str, Array], metadata: Mapping[str, object]) -> None:
    """Write a model. metadata: as engine/model and the folder of each architecture read it."""
    text = {name: str(int(value) if isinstance(value, bool) else value) for name, value in metadata.items()}
    safetensors.write(path, tensors, {"format": FORMAT, **text})
