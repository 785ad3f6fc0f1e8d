"""Model folders of the engine, and those of CTranslate2, which are converted when they are opened."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nmt_frontier.bindings import EngineError
from nmt_frontier.errors import UserError
from nmt_frontier.importers import ctranslate2_model, read_ctranslate2
from nmt_frontier.model import native_map, native_weights
from nmt_frontier.model.native_vocabulary import Vocabulary

KINDS = {"int8": "int8", "int8_float32": "int8", "int16": "int16", "float32": "float32"}


@contextlib.contextmanager
def opened(folder: Path, wanted: str) -> Iterator[Path]:
    """A folder with the engine's files: the given one, or one that is converted for as long as it is opened.

    Raises EngineError for a damaged one.
    """
    if wanted not in (*KINDS, "default", "auto"):
        raise ValueError(f"compute_type={wanted!r}: the engine has {', '.join(KINDS)}, default and auto")
    try:
        if (folder / native_weights.NAME).exists():
            yield folder
            return
        if not (folder / ctranslate2_model.NAME).exists():
            raise RuntimeError(f"Unable to open file 'model.bin' in model '{folder}'")
        with tempfile.TemporaryDirectory(prefix="nmt-frontier-") as scratch:
            _convert(folder, wanted, output := Path(scratch) / "model")
            yield output
    except UserError as error:
        raise EngineError(str(error)) from None


def _convert(folder: Path, wanted: str, output: Path) -> None:
    model = read_ctranslate2.read(folder)
    types = {one.type for one in ctranslate2_model.read(folder).variables.values() if len(one.shape) > 1}
    own = "int8" if 1 in types else "int16" if 2 in types else "float32"
    model.write("int8" if wanted == "auto" else KINDS.get(wanted, own), output)
    if (path := folder / ctranslate2_model.MAP).exists():
        pieces = Vocabulary.read(output)
        native_map.convert(path, pieces.source_numbers, pieces.target_numbers, output / native_map.NAME)
