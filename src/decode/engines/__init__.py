"""The engines that decode model folders, one interface to all of them: tokens in, tokens out.

To add an engine, write one module with one class (decode.engines.interface) and add the class to ENGINES.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from common.errors import UserError
from decode import tuned
from decode.engines.ctranslate2 import CTranslate2
from decode.engines.interface import SWITCHES, Batch, Engine, Search, version
from decode.engines.marian import Marian
from decode.engines.native import Native
from decode.engines.opennmt_tf import OpenNMTTF
from formats import model_folder
from formats.model_folder import Description

__all__ = [
    "ENGINES", "SWITCHES", "Batch", "Engine", "Search", "describe", "folders", "load", "of", "refusal", "running",
    "version",
]  # fmt: skip

ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (OpenNMTTF, CTranslate2, Native, Marian)}


def describe(folder: Path) -> Description:
    """The ``model.json`` of a model folder. Raises UserError if it cannot be read or names an unknown engine."""
    description = model_folder.describe(folder)
    if description["engine"] not in ENGINES:
        path, names = folder / model_folder.DESCRIPTION, ", ".join(sorted(ENGINES))
        raise UserError(f"{path}: unknown engine {description['engine']!r}; this version knows {names}")
    return description


def describe_for(folder: Path, engine: type[Engine]) -> Description:
    """The ``model.json`` of a model folder. Raises UserError where it is not for this engine."""
    description = describe(folder)
    if description["engine"] != engine.name:
        raise UserError(f"{folder}: is for {ENGINES[description['engine']].label}, not for {engine.label}")
    return description


def of(folder: Path) -> type[Engine]:
    """The engine of a model folder. Raises UserError as ``describe``."""
    return ENGINES[describe(folder)["engine"]]


def running(shape: Mapping[str, Any], names: Collection[str]) -> list[type[Engine]]:
    """Those of the engines of these names that decode a model of this shape, which OpenNMT-tf trained."""
    return [engine for engine in ENGINES.values() if engine.name in names and engine.runs(shape)]


def refusal(engine: type[Engine], shape: Mapping[str, Any], names: Collection[str] = ENGINES) -> str | None:
    """Why an engine does not decode a model of this shape, and which of the engines of these names do.

    As in ``CTranslate2 has no recurrent model; OpenNMT-tf and native decode it``. None if the engine decodes it.
    """
    if (lacks := engine.lacks(shape)) is None:
        return None
    others = [other.label for other in running(shape, names)]
    decode = f"; {' and '.join(others)} decode{'s' * (len(others) == 1)} it" if others else ""
    return f"{engine.label} {lacks}{decode}"


def folders(shape: Mapping[str, Any], types: Sequence[str], names: Collection[str]) -> list[str]:
    """Names of the model folders of a system of this shape, in a study that asks for these types and engines."""
    return [engine.folder(name) for engine in running(shape, names) for name in engine.exported(types)]


def load(folder: Path, search: Search, checksums: bool = True) -> Engine:
    """Load a model folder with its engine.

    checksums: compare all files with the checksums in ``model.json`` first, which reads every byte once more. Raises
    UserError for a folder that is damaged, and for a search that its engine cannot do.
    """
    description = describe(folder)
    engine = ENGINES[description["engine"]]
    if search.device not in engine.devices:
        raise UserError(f"{folder}: {engine.label} decodes on the CPU here; leave out --device")
    if search.vocabulary_map and engine.map_file is None:
        raise UserError(f"{folder}: {engine.label} has no vocabulary map; decode with --no-vocabulary-map")
    if search.vocabulary_map and not (folder / engine.map_file).exists():
        raise UserError(f"{folder}: its vocabulary map {engine.map_file} is missing; decode with --no-vocabulary-map")
    if refused := told(search) - engine.switches - {"map_per_sentence"}:  # the map of other engines is of the batch
        names = ", ".join(map(option, sorted(refused)))
        raise UserError(f"{folder}: {engine.label} cannot be told {names}; leave it out")
    if "remove_finished" in told(search) and search.beam_size > 1:
        raise UserError(f"{folder}: only greedy search keeps finished sentences; leave out --no-remove-finished")
    if checksums:
        model_folder.check(folder, description)
    return engine(folder, description, search)


def told(search: Search) -> set[str]:
    """The switches of a search that are not as usual."""
    return {name for name in SWITCHES if getattr(search, name) != getattr(Search, name)}


def option(switch: str) -> str:
    """The command line's word for a switch that is not as usual."""
    return f"--{'no-' * (getattr(Search, switch) is True)}{switch.replace('_', '-')}"


def isa(folder: Path, beam_size: int = 1) -> str | None:
    """The instruction set that the folder's engine is told to use: the environment's, else the tuned one, else the
    widest; None if it is told none."""
    engine = of(folder)
    if not engine.isa_variable:
        return None
    return os.environ.get(engine.isa_variable) or tuned.settings(folder, beam_size).get("isa") or engine.widest()
