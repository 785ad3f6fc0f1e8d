"""The engines that decode model folders, behind one interface: tokens in, tokens out.

To add an engine, write one module with one class (decode.engines.interface) and add the class to ENGINES; name it at
the switches that it has (formats.switches).
"""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from decode import tuned
from decode.engines.ctranslate2 import CTranslate2
from decode.engines.interface import Batch, Engine, Search, version
from decode.engines.marian import Marian
from decode.engines.native import Native
from decode.engines.opennmt_tf import OpenNMTTF
from formats import model_folder, switches
from formats.model_folder import Description

__all__ = [
    "ENGINES", "Batch", "Engine", "Search", "describe", "folders", "load", "of", "refusal", "running", "version",
]  # fmt: skip

ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (OpenNMTTF, CTranslate2, Native, Marian)}


def describe(folder: Path) -> Description:
    """The ``model.json`` of a model folder. Raises UserError if it cannot be read or names an unknown engine."""
    description = model_folder.describe(folder)
    if description.engine not in ENGINES:
        path, names = folder / model_folder.DESCRIPTION, ", ".join(sorted(ENGINES))
        raise UserError(f"{path}: unknown engine {description.engine!r}; this version knows {names}")
    return description


def describe_for(folder: Path, engine: type[Engine]) -> Description:
    """The ``model.json`` of a model folder. Raises UserError if it is for another engine."""
    description = describe(folder)
    if description.engine != engine.name:
        raise UserError(f"{folder}: is for {ENGINES[description.engine].label}, not for {engine.label}")
    return description


def of(folder: Path) -> type[Engine]:
    """The engine of a model folder. Raises UserError as ``describe``."""
    return ENGINES[describe(folder).engine]


def running(shape: Mapping[str, Any], names: Collection[str]) -> list[type[Engine]]:
    """The engines among ``names`` that decode a model of this shape trained by OpenNMT-tf."""
    return [engine for engine in ENGINES.values() if engine.name in names and engine.runs(shape)]


def refusal(engine: type[Engine], shape: Mapping[str, Any], names: Collection[str] = ENGINES) -> str | None:
    """Why an engine does not decode a model of this shape, and which engines among ``names`` do; None if it does.

    Example: ``CTranslate2 has no recurrent model; OpenNMT-tf and native decode it``.
    """
    if (lacks := engine.lacks(shape)) is None:
        return None
    others = [other.label for other in running(shape, names)]
    decode = f"; {' and '.join(others)} decode{'s' * (len(others) == 1)} it" if others else ""
    return f"{engine.label} {lacks}{decode}"


def folders(shape: Mapping[str, Any], types: Sequence[str], names: Collection[str]) -> list[str]:
    """Names of a system's model folders, given its shape and the types and engines of the study."""
    return [engine.folder(name) for engine in running(shape, names) for name in engine.exported(types)]


def load(folder: Path, search: Search, checksums: bool = True) -> Engine:
    """Load a model folder with its engine.

    checksums: check all files against ``model.json`` first, which reads every byte. Raises UserError for a damaged
    folder, and for a search that the engine lacks.
    """
    description = describe(folder)
    engine = ENGINES[description.engine]
    if search.device not in engine.devices:
        raise UserError(f"{folder}: {engine.label} decodes on the CPU here; leave out --device")
    if search.vocabulary_map:
        if engine.map_file is None:
            raise UserError(f"{folder}: {engine.label} has no vocabulary map; decode with --no-vocabulary-map")
        if not (folder / engine.map_file).exists():
            missing = f"its vocabulary map {engine.map_file} is missing"
            raise UserError(f"{folder}: {missing}; decode with --no-vocabulary-map")
    had = {*switches.of_engine(engine.name), *switches.of_pipeline(), "map_per_sentence"}  # others map batches anyway
    if refused := switches.changed(search).keys() - had:
        names = ", ".join(map(switches.option, sorted(refused)))
        raise UserError(f"{folder}: {engine.label} has no {names}; leave it out")
    if "remove_finished" in search.without and search.beam_size > 1:
        raise UserError(f"{folder}: only greedy search keeps finished sentences; leave out --no-remove-finished")
    if (search.source_prefix or search.target_prefix) and not engine.prefixes:
        raise UserError(f"{folder}: {engine.label} has no --source-prefix and no --target-prefix; leave them out")
    if search.alignment and not engine.aligns:
        raise UserError(f"{folder}: {engine.label} tells no attention; give a folder of the native engine")
    if search.others and not engine.ensembles:
        raise UserError(f"{folder}: {engine.label} decodes with one model; give --model only one folder")
    others = {other: describe_for(other, engine) for other in search.others}
    if checksums:
        for each, about in {folder: description, **others}.items():
            model_folder.check(each, about)
    return engine(folder, description, search)


def isa(folder: Path, beam_size: int = 1) -> str | None:
    """The instruction set to request from a folder's engine: the environment's, else the tuned one, else the widest;
    None if the engine chooses it."""
    engine = of(folder)
    if not engine.isa_variable:
        return None
    return os.environ.get(engine.isa_variable) or tuned.settings(folder, beam_size).get("isa") or engine.widest()
