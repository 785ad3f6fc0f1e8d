"""The weights of a CTranslate2 model as arrays: its file model.bin, as CTranslate2's converters write it."""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from formats.errors import UserError

VERSION = 6  # of the binary format; CTranslate2's _serialize in specs/model_spec.py
BFLOAT16 = 5  # the upper half of a float32; NumPy has no such type
TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16, BFLOAT16: np.uint16}


def read(folder: Path) -> dict[str, np.ndarray]:
    """Arrays by the name of the layer; of layers that share their weights only the first is there. Raises UserError.

    What is stored in bfloat16 comes in float32.
    """
    path = folder / "model.bin"
    data = memoryview(path.read_bytes())
    try:
        return dict(_variables(path, data))
    except (struct.error, ValueError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a model of CTranslate2, cut off or damaged ({error})") from None


def _variables(path: Path, data: memoryview) -> Iterator[tuple[str, np.ndarray]]:
    (version,) = struct.unpack_from("I", data)
    if version != VERSION:
        raise UserError(f"{path}: has version {version} of CTranslate2's format, this can read {VERSION}")
    _, place = _string(data, 4)
    _, count = struct.unpack_from("II", data, place)
    place += 8
    for _ in range(count):
        name, place = _string(data, place)
        (rank,) = struct.unpack_from("B", data, place)
        shape = struct.unpack_from(f"{rank}I", data, place + 1)
        place += 1 + 4 * rank
        kind, size = struct.unpack_from("=BI", data, place)
        place += 5
        if kind not in TYPES:
            raise UserError(f"{path}: {name} has type {kind}, this can read {', '.join(map(str, TYPES))}")
        array = np.frombuffer(data[place : place + size], TYPES[kind]).reshape(shape)
        yield name, (array.astype(np.uint32) << 16).view(np.float32) if kind == BFLOAT16 else array
        place += size
    (aliases,) = struct.unpack_from("I", data, place)
    place += 4
    for _ in range(2 * aliases):  # a name, and the name of the layer whose weights it shares
        _, place = _string(data, place)
    if place != len(data):
        raise ValueError(f"{len(data):,} bytes, {place:,} by its own account")


def _string(data: memoryview, place: int) -> tuple[str, int]:
    """A string with its length before it and a zero behind, and the place after it."""
    (length,) = struct.unpack_from("H", data, place)
    end = place + 2 + length
    return bytes(data[place + 2 : end - 1]).decode(), end
