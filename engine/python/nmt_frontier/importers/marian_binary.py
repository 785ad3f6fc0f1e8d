"""Marian's binary files, a model's weights and a lexical shortlist, also packed with gzip as Firefox' are published.

The weights (marian-dev, src/common/binary.cpp): version and number of items; for each the length of its name, its type,
its rank and its bytes; then all names, all shapes, padding, all data. A matrix in intgemm's integers is transposed,
embeddings are not; the factor of its integers stands behind them.

The shortlist (src/data/shortlist.h): header, where the candidates of each source piece begin, the candidates.
"""

import gzip
import math
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.model.safetensors import Array

VERSION = 1
GZIP = b"\x1f\x8b"
# intgemm's, the same on every CPU: numbers of Bergamot's branch, then Marian's own. Those packed for one are refused.
INTEGERS: dict[int, np.dtype[Any]] = {
    number + size: np.dtype(f"i{size}") for number in (0x4100, 0x10000) for size in (1, 2)
}
FLOATS: dict[int, np.dtype[Any]] = {0x404: np.dtype(np.float32), 0x402: np.dtype(np.float16)}
TYPES = {**FLOATS, **INTEGERS, 0x101: np.dtype(np.int8)}  # the last: bytes of the options
EMBEDDINGS = "Wemb"  # in the name of a matrix that is not transposed
MAGIC = 0xF11A48D5013417F5  # of a shortlist
FIRST, BEST = 100, 100  # candidates of a shortlist: the first entries of the vocabulary, the best of each source piece
END, UNKNOWN = "</s>", "<unk>"  # the first entries of every vocabulary; Marian has no start token


class MarianItem(NamedTuple):
    """A weight in float32, or the bytes of the options. integers: whether the file has it in integers."""

    value: Array
    integers: bool


class Shortlist(NamedTuple):
    """first: entries of the target vocabulary that are always candidates. candidates: of each source piece."""

    first: int
    candidates: list[Array]


def content(path: Path) -> bytes:
    """The bytes of a file, unpacked if they are packed.

    Raises OSError, EOFError or zlib.error, and UserError as first_bytes.check.
    """
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == GZIP else data
    first_bytes.check(path, data[: first_bytes.HEAD_BYTES], zipped=False)
    return data


def holds_weights(path: Path) -> bool:
    """Whether a file begins as Marian's binary weights of this version do."""
    with open(path, "rb") as file:
        packed = file.read(2) == GZIP
    with gzip.open(path) if packed else open(path, "rb") as file:
        return file.read(8) == struct.pack("<Q", VERSION)


def read(path: Path) -> dict[str, MarianItem]:
    """The weights by name. Raises UserError for another version or type, and ValueError for a damaged file."""
    data = content(path)
    try:
        return _items(path, data)
    except struct.error as error:
        raise ValueError(f"cut off ({error})") from None


def _items(path: Path, data: bytes) -> dict[str, MarianItem]:
    version, count = struct.unpack_from("<2Q", data)
    if version != VERSION:
        raise UserError(f"{path}: has version {version} of Marian's binary format, this can read {VERSION}")
    if 16 + 32 * count > len(data):
        raise ValueError(f"has {len(data):,} bytes, too few for its {count:,} items")
    headers = list(struct.iter_unpack("<4Q", data[16 : 16 + 32 * count]))
    place = 16 + 32 * count
    names, shapes = [], []
    for length, *_ in headers:
        names.append(data[place : place + length].rstrip(b"\0").decode())
        place += length
    for _, _, rank, _ in headers:
        shapes.append(struct.unpack_from(f"<{rank}i", data, place))
        place += 4 * rank
    (padding,) = struct.unpack_from("<Q", data, place)
    place += 8 + padding
    items = {}
    for name, shape, (_, number, _, size) in zip(names, shapes, headers, strict=True):
        if number not in TYPES:
            raise UserError(f"{path}: {name} has Marian's type {number:#x}; convert it with --gemm-type intgemm8")
        if place + size > len(data):
            raise ValueError(f"cut off in {name}")
        items[name] = _item(name, shape, number, data[place : place + size])
        place += size
    return items


def _item(name: str, shape: tuple[int, ...], number: int, data: bytes) -> MarianItem:
    numpy_type, elements = TYPES[number], int(np.prod(shape))
    stored = np.frombuffer(data, numpy_type, elements)
    if number not in INTEGERS:
        return MarianItem(stored.reshape(shape), integers=False)
    (factor,) = struct.unpack_from("<f", data, elements * numpy_type.itemsize)
    if not (factor and math.isfinite(factor)):
        raise ValueError(f"the integers of {name} have the factor {factor}")
    weights = stored.astype(np.float32) * np.float32(1 / factor)
    matrix = weights.reshape(shape) if EMBEDDINGS in name else weights.reshape(shape[::-1]).T
    return MarianItem(matrix, integers=True)


def is_shortlist(path: Path) -> bool:
    """Whether a file is a binary shortlist, not a text. Raises OSError, EOFError or zlib.error."""
    return content(path)[:8] == struct.pack("<Q", MAGIC)


def read_shortlist(path: Path, source: int, target: int) -> Shortlist:
    """A shortlist of vocabularies of so many pieces. Raises UserError for another one, and for a damaged file."""
    data = content(path)
    try:
        _, _, first, _, offsets, pieces = struct.unpack_from("<6Q", data)
        if 48 + 8 * offsets + 4 * pieces != len(data):
            raise ValueError(f"has {len(data):,} bytes, {48 + 8 * offsets + 4 * pieces:,} by its own account")
        starts = np.frombuffer(data, np.uint64, offsets, 48).astype(np.int64)
        candidates = np.frombuffer(data, np.uint32, pieces, 48 + 8 * offsets)
        if not len(starts) or starts[0] != 0 or starts[-1] != pieces or (np.diff(starts) < 0).any():
            raise ValueError("its candidates are not in order")
    except (struct.error, ValueError) as error:
        raise UserError(f"{path}: not a shortlist of Marian's, cut off or damaged ({error})") from None
    if len(starts) - 1 > source or candidates.max(initial=0) >= target:
        sizes = f"{len(starts) - 1:,} source pieces and target pieces up to {candidates.max(initial=0):,}"
        raise UserError(f"{path}: has {sizes}; the model has {source:,} and {target:,}: it was made for another one")
    return Shortlist(first, [candidates[start:end] for start, end in pairwise(starts)])
