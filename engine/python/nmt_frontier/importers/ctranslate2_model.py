"""Read and write ``model.bin``, the weights of a CTranslate2 model; its converters from other toolkits.

The format is that of ``_serialize`` in CTranslate2's specs/model_spec.py: version, name and revision of the model's
specification, variables, aliases. Numbers are little-endian and unpadded; a string begins with its length, which
includes its final zero byte. Version 1 has no name and revision, versions before 3 have no aliases, and versions before
4 the size of an element for its type.
"""

import math
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_frontier import first_bytes
from nmt_frontier.errors import UserError
from nmt_frontier.model.safetensors import Array

NAME, MAP = "model.bin", "vmap.txt"  # of a model folder: weights, vocabulary map
VERSION = 6  # of the format; it reads older ones, too
BFLOAT16 = 5  # the upper half of a float32; NumPy has no such type
OF_SIZE = {4: 0, 2: 2, 1: 1}  # types of versions before 4 by the bytes of an element
TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16, BFLOAT16: np.uint16}  # by their numbers

PATH_OPTIONS = ("model_path", "data_dir", "vocab_paths", "model_dir", "user_dir")

# Commands that install a toolkit in an environment of its own, in the folder {0}. fairseq needs Python 3.10.
INSTALL = "{python} -m venv {{0}} && {{0}}/bin/pip install {packages} ctranslate2==4.8.5"
FAIRSEQ = "fairseq==0.12.2 torch==1.13.1 torchaudio==0.13.1 'numpy<1.24'"
TRANSFORMERS = "transformers==5.24.0 torch==2.14.1 sentencepiece"
ENVIRONMENTS = {
    "fairseq": INSTALL.format(python="python3.10", packages=FAIRSEQ),
    "transformers": INSTALL.format(python="python3", packages=TRANSFORMERS),
}


class Variable(NamedTuple):
    """A weight as stored. type: a key of TYPES."""

    shape: tuple[int, ...]
    type: int
    data: memoryview

    def array(self) -> Array:
        """The weight as an array of its shape; bfloat16 becomes float32."""
        array = np.frombuffer(self.data, TYPES[self.type]).reshape(self.shape)
        return (array.astype(np.uint32) << 16).view(np.float32) if self.type == BFLOAT16 else array


class ModelBin(NamedTuple):
    """A ``model.bin``. specification: name of the architecture. aliases: names of variables that share weights."""

    specification: str
    revision: int
    variables: dict[str, Variable]
    aliases: dict[str, str]
    version: int = VERSION  # of the format of the file; ``write`` writes the newest


def read(folder: Path) -> ModelBin:
    """Parse the weights in a folder. Raises UserError for a damaged file, another version or an unknown type."""
    path = folder / NAME
    data = memoryview(path.read_bytes())
    first_bytes.check(path, bytes(data[: first_bytes.HEAD_BYTES]), zipped=False)
    try:
        return _parsed(path, data)
    except (struct.error, ValueError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a model of CTranslate2, cut off or damaged ({error})") from None


def arrays(folder: Path) -> dict[str, Array]:
    """The weights in a folder by name, without aliases. Raises UserError as ``read``."""
    return {name: variable.array() for name, variable in read(folder).variables.items()}


def write(folder: Path, model: ModelBin) -> None:
    """Write ``model.bin`` byte for byte as CTranslate2's converters would."""
    parts: list[bytes | memoryview] = [struct.pack("<I", VERSION), _packed(model.specification)]
    parts.append(struct.pack("<II", model.revision, len(model.variables)))
    for name, (shape, kind, data) in model.variables.items():
        parts += [_packed(name), struct.pack(f"<B{len(shape)}IBI", len(shape), *shape, kind, len(data)), data]
    parts.append(struct.pack("<I", len(model.aliases)))
    parts += [_packed(name) + _packed(target) for name, target in model.aliases.items()]
    (folder / NAME).write_bytes(b"".join(parts))


def _parsed(path: Path, data: memoryview) -> ModelBin:
    (version,) = struct.unpack_from("<I", data)
    if not 1 <= version <= VERSION:
        raise UserError(f"{path}: has version {version} of CTranslate2's format, this can read 1 to {VERSION}")
    specification, revision, place = "", 1, 4
    if version > 1:
        specification, place = _string(data, 4)
        (revision,) = struct.unpack_from("<I", data, place)
        place += 4
    (count,) = struct.unpack_from("<I", data, place)
    place += 4
    variables, aliases = {}, {}
    for _ in range(count):
        name, place = _string(data, place)
        variable, place = _variable(data, place, version)
        if variable.type not in TYPES:
            raise UserError(f"{path}: {name} has type {variable.type}, this can read {', '.join(map(str, TYPES))}")
        if len(variable.data) != math.prod(variable.shape) * np.dtype(TYPES[variable.type]).itemsize:
            raise ValueError(f"{name} has {len(variable.data):,} bytes, which do not fill its shape {variable.shape}")
        variables[name] = variable
    count = 0
    if version > 2:
        (count,) = struct.unpack_from("<I", data, place)
        place += 4
    for _ in range(count):
        name, place = _string(data, place)
        aliases[name], place = _string(data, place)
    if place != len(data):
        raise ValueError(f"{len(data):,} bytes, {place:,} by its own account")
    return ModelBin(specification, revision, variables, aliases, version)


def _variable(data: memoryview, place: int, version: int) -> tuple[Variable, int]:
    """A variable, and the offset of what follows."""
    (rank,) = struct.unpack_from("<B", data, place)
    *shape, kind, size = struct.unpack_from(f"<{rank}IBI", data, place + 1)
    start = place + 1 + 4 * rank + 5
    if version < 4:
        kind, size = OF_SIZE.get(kind, kind), size * kind
    return Variable(tuple(shape), kind, data[start : start + size]), start + size


def _string(data: memoryview, place: int) -> tuple[str, int]:
    """A string, and the offset of what follows."""
    (length,) = struct.unpack_from("<H", data, place)
    end = place + 2 + length
    return bytes(data[place + 2 : end - 1]).decode(), end


def _packed(text: str) -> bytes:
    encoded = text.encode() + b"\0"
    return struct.pack("<H", len(encoded)) + encoded
