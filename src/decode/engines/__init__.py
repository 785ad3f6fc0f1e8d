"""One interface to every engine that can decode a model folder: tokens in, tokens out.

A model folder names its engine in ``model.json``. An engine is one module of this package with a class of the
interface below; its library is imported with it, so that a process loads no engine but the one it decodes with.
"""

import importlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from formats import loading
from formats.decoding import prepare
from formats.errors import UserError
from formats.files import read_json

ENGINES = {  # name in model.json: module and class
    "ctranslate2": ("decode.engines.ctranslate2", "CTranslate2"),
    "marian": ("decode.engines.marian", "Marian"),
    "opennmt-tf": ("decode.engines.opennmt_tf", "OpenNMTTF"),
}

Batch = list[list[str]]


@dataclass(frozen=True)
class Search:
    """How an engine searches. Batches are cut by the caller; an engine decodes each as it comes.

    All engines score a finished hypothesis by its log probability / length^``length_penalty``, where the length counts
    the end token. OpenNMT-tf's own formula, ((5 + length) / 6)^penalty (Wu et al. 2016), is not used, so that equal
    weights give equal translations. Without a penalty beam search likes short hypotheses: 3 BLEU were lost to brevity
    in the demo (measured).
    """

    beam_size: int = 1  # 1 is greedy search
    length_penalty: float = 1.0
    vocabulary_map: bool = False  # score only the target pieces that the source may bring
    workers: int = 1  # batches decoded at a time, with one copy of the weights
    threads: int = 1  # that share the work of one batch, in each worker
    device: Literal["cpu", "cuda"] = "cpu"


class Engine(ABC):
    """A loaded model. ``translate`` may be called from ``search.workers`` threads at a time."""

    name: ClassVar[str]
    version: str
    effective_compute_type: str  # the type the engine really computes in, whatever it was asked for
    isa: str | None = None  # the instructions that it is told to use; None where it chooses them itself
    library: str | None = None  # for products of matrices, where there is a choice
    int8_saturates: bool | None = False  # whether its 8-bit products may be cut off here (formats.cpu); None: not known

    @abstractmethod
    def __init__(self, folder: Path, description: dict[str, Any], search: Search):
        """Load the weights. Raises UserError for a missing or damaged file or a type this CPU lacks."""

    @abstractmethod
    def translate(self, batch: Batch) -> Batch:
        """Translate sentences of at least one piece each; no control tokens on either side."""


def describe(folder: Path) -> dict[str, Any]:
    """The ``model.json`` of a model folder. Raises UserError where there is none that can be read."""
    path = folder / "model.json"
    try:
        description = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{folder}: not a model folder, it has no model.json") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid JSON ({error}); export the model again") from error
    missing = sorted({"engine", "quantization", "vocabulary_map"} - set(description))
    if missing:
        raise UserError(f"{path}: lacks {', '.join(missing)}; export the model again")
    if description["engine"] not in ENGINES:
        known = ", ".join(sorted(ENGINES))
        raise UserError(f"{path}: unknown engine {description['engine']!r}; this version knows {known}")
    return description


def load(folder: Path, search: Search, checksums: bool = True) -> Engine:
    """Load the model with the engine its folder names.

    Raises UserError for a file that is damaged, or another model's: ``checksums`` of all files are held against those
    of ``model.json``, which reads every byte once more.
    """
    description = describe(folder)
    if search.device != "cpu" and description["engine"] != "ctranslate2":
        raise UserError(f"{folder}: {description['engine']} decodes on the CPU here; leave out --device")
    if checksums:
        loading.intact(folder, description)
    prepare(description["quantization"], search.device)
    module, name = ENGINES[description["engine"]]
    return getattr(importlib.import_module(module), name)(folder, description, search)
