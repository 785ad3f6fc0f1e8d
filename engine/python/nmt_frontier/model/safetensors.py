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

from nmt_frontier.errors import UserError

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
    """The tensors of a file, mapped into memory. Raises UserError for a missing or damaged file."""
    return _opened(path)[0]


def metadata(path: Path) -> dict[str, str]:
    """The metadata of a file. Raises UserError as ``read``."""
    return _opened(path)[1]


def _opened(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    try:
        data = np.memmap(path, np.uint8, mode="r")
        (length,) = struct.unpack("<Q", data[:8].tobytes())
        if length > len(data) - 8:
            raise ValueError(f"its header has {length:,} bytes")
        header = json.loads(data[8 : 8 + length].tobytes(), object_pairs_hook=_once)
        about = header.pop("__metadata__", {})
        return {name: _tensor(data[8 + length :], **tensor) for name, tensor in header.items()}, about
    except FileNotFoundError:
        raise UserError(f"{path}: is missing; export the model again") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
        raise UserError(f"{path}: not a safetensors file, cut off or damaged ({error})") from None


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(members)) < len(members):
        raise ValueError("a name occurs twice")
    return found


def _tensor(data: Array, dtype: str, shape: list[int], data_offsets: list[int]) -> Array:
    """A tensor where it is mapped; bfloat16, which NumPy lacks, becomes float32."""
    start, end = data_offsets
    if not 0 <= start <= end <= len(data) or min(shape, default=0) < 0:
        raise ValueError(f"no tensor {shape} from {start} to {end}")
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
