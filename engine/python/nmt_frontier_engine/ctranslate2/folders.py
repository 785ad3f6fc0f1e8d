"""Model folders of the engine, and those of CTranslate2, which nmt-frontier converts."""

from __future__ import annotations

import contextlib
import json
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nmt_frontier_engine import EngineError

KINDS = {"int8": "int8", "int8_float32": "int8", "int16": "int16", "float32": "float32"}
WEIGHTS, VOCABULARY, MAP = "weights.safetensors", "vocabulary.json", "map.safetensors"  # of the engine's folders


def header(path: Path) -> dict[str, str]:
    """The metadata of a safetensors file. Raises EngineError for a damaged one."""
    try:
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            return json.loads(file.read(length))["__metadata__"]
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise EngineError(f"{path}: missing or damaged ({error}); export the model again") from None


@contextlib.contextmanager
def opened(folder: Path, wanted: str) -> Iterator[Path]:
    """A folder with the engine's files: the given one, or one that is converted for as long as it is opened."""
    if wanted not in (*KINDS, "default", "auto"):
        raise ValueError(f"compute_type={wanted!r}: the engine has {', '.join(KINDS)}, default and auto")
    if (folder / WEIGHTS).exists():
        yield folder
        return
    if not (folder / "model.bin").exists():
        raise RuntimeError(f"Unable to open file 'model.bin' in model '{folder}'")
    with tempfile.TemporaryDirectory(prefix="nmt-frontier-") as scratch:
        _convert(folder, wanted, output := Path(scratch) / "model")
        yield output


def _convert(folder: Path, wanted: str, output: Path) -> None:
    try:
        from common.errors import UserError
        from export import read_ctranslate2
        from formats import ctranslate2_model, native_map
        from formats.native_vocabulary import Vocabulary
    except ImportError:
        raise EngineError(
            f"{folder}: is a model of CTranslate2; nmt-frontier is not installed here, which converts it: "
            f"python -m export.model {folder} --output FOLDER"
        ) from None
    try:
        model = read_ctranslate2.read(folder)
        types = {one.type for one in ctranslate2_model.read(folder).variables.values() if len(one.shape) > 1}
        own = "int8" if 1 in types else "int16" if 2 in types else "float32"
        model.write("int8" if wanted == "auto" else KINDS.get(wanted, own), output)
        if (path := folder / "vmap.txt").exists():
            pieces = Vocabulary.read(output)
            native_map.convert(path, pieces.source_numbers, pieces.target_numbers, output / MAP)
    except UserError as error:
        raise EngineError(str(error)) from None
