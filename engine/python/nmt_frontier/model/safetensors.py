"""Read and write safetensors files whose tensors can be used where they are mapped into memory.

The format is that of https://github.com/huggingface/safetensors, whose library aligns tensors to 8 bytes at most. Here
tensors whose sizes are multiples of 64 bytes start at multiples of 64.
"""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.model import safetensors_header
from nmt_frontier.model.safetensors_header import metadata as metadata

Array = NDArray[Any]  # of the types and shapes that docstrings name

TYPES: dict[np.dtype[Any], str] = {
    np.dtype(np.float32): "F32", np.dtype(np.int32): "I32", np.dtype(np.int16): "I16", np.dtype(np.int8): "I8",
}  # fmt: skip
READ: dict[str, np.dtype[Any]] = {name: of_numpy for of_numpy, name in TYPES.items()} | {
    "F64": np.dtype(np.float64), "F16": np.dtype(np.float16), "I64": np.dtype(np.int64), "U8": np.dtype(np.uint8),
    "BF16": np.dtype(np.uint16),
}  # fmt: skip
ALIGNMENT = 64


def read(path: Path) -> dict[str, Array]:
    """The tensors of a file, mapped into memory where it can be. Raises UserError for a missing or damaged file."""
    header = safetensors_header.read(path)
    with safetensors_header.damaged(path):
        data = _bytes(path)[header.data :]
        return {name: _tensor(data, **tensor) for name, tensor in header.tensors.items()}


def _bytes(path: Path) -> Array:
    """A file, uint8; read where it cannot be mapped, as some systems and file systems map none."""
    try:
        return np.memmap(path, np.uint8, mode="r")
    except (ImportError, OSError):
        return np.fromfile(path, np.uint8)


def _tensor(data: Array, dtype: str, shape: list[int], data_offsets: list[int]) -> Array:
    """A tensor where it is mapped; bfloat16, which NumPy lacks, becomes float32."""
    start, end = data_offsets
    array = data[start:end].view(READ[dtype]).reshape(shape)
    return (array.astype(np.uint32) << 16).view(np.float32) if dtype == "BF16" else array


def write(path: Path, tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
    """Write a file with tensors of TYPES. The format allows no gaps, so tensors of other sizes come last."""
    ordered = sorted(tensors, key=lambda name: tensors[name].nbytes % ALIGNMENT != 0)
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    place = 0
    for name in ordered:
        tensor, end = tensors[name], place + tensors[name].nbytes
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [place, end]}
        place = end
    text = json.dumps(header, ensure_ascii=True).encode()
    text += b" " * (-(len(text) + 8) % ALIGNMENT)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in ordered:
            file.write(np.ascontiguousarray(tensors[name]).data)
