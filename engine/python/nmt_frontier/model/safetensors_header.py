"""The header of a safetensors file. To decode takes no more in Python, as the engine maps the tensors, and no NumPy."""

import contextlib
import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypedDict

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError


class Tensor(TypedDict):
    """What a header says of a tensor."""

    dtype: str
    shape: list[int]
    data_offsets: list[int]


class Header(NamedTuple):
    """tensors: by name. data: where their ``data_offsets`` count from."""

    tensors: dict[str, Tensor]
    metadata: dict[str, str]
    data: int


def read(path: Path) -> Header:
    """The header of a file. Raises UserError for a missing or damaged file."""
    with damaged(path), open(path, "rb") as file:
        left = os.fstat(file.fileno()).st_size - 8
        (length,) = struct.unpack("<Q", file.read(8))
        if length > left:
            raise ValueError(f"its header has {length:,} bytes")
        tensors = json.loads(file.read(length), object_pairs_hook=_once)
        metadata = tensors.pop("__metadata__", {})
        for tensor in tensors.values():
            shape, (start, end) = tensor["shape"], tensor["data_offsets"]
            if not 0 <= start <= end <= left - length or min(shape, default=0) < 0:
                raise ValueError(f"no tensor {shape} from {start} to {end}")
    return Header(tensors, metadata, 8 + length)


def metadata(path: Path) -> dict[str, str]:
    """The metadata of a file. Raises UserError as ``read``."""
    return read(path).metadata


@contextlib.contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Raise UserError for what reading a missing or damaged file raises."""
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"{path}: is missing; export the model again") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
        first_bytes.check_files([path], zipped=False)
        raise UserError(f"{path}: not a safetensors file, cut off or damaged ({error})") from None


def _once(members: list[tuple[str, object]]) -> dict[str, object]:
    if len(found := dict(members)) < len(members):
        raise ValueError("a name occurs twice")
    return found
