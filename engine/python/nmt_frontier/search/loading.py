"""Model folders and their engines: tokens in, tokens out.

The native engine is here. Another package adds its engine as an entry point of the group ``nmt_frontier.engines``: the
name in ``model.json``, and the class.
"""

import os
from functools import cache
from pathlib import Path

from nmt_frontier.errors import UserError
from nmt_frontier.model import model_folder
from nmt_frontier.model.model_folder import Description
from nmt_frontier.search import switches, tuned
from nmt_frontier.search.engine import Engine, Search
from nmt_frontier.search.native import Native

GROUP = "nmt_frontier.engines"


# Names in model.json of engines that the pipeline of this project decodes with.
OF_PIPELINE = {"ctranslate2": "CTranslate2", "marian": "Marian", "opennmt-tf": "OpenNMT-tf"}


@cache
def named(name: str) -> type[Engine] | None:
    """The engine with a name, if it is installed."""
    if name == Native.name:
        return Native
    from importlib.metadata import entry_points  # inside: the native engine needs none

    found: type[Engine] | None = next((point.load() for point in entry_points(group=GROUP, name=name)), None)
    return found


def describe(folder: Path) -> Description:
    """The ``model.json`` of a model folder. Raises UserError if it cannot be read, and without its engine."""
    description = model_folder.describe(folder)
    if not named(name := description.engine):
        if label := OF_PIPELINE.get(name):
            raise UserError(f"{folder}: is for {label}; install nmt-frontier-pipeline, which decodes with it")
        from importlib.metadata import entry_points

        known = sorted({Native.name, *OF_PIPELINE, *entry_points(group=GROUP).names})
        path = folder / model_folder.DESCRIPTION
        raise UserError(f"{path}: unknown engine {name!r}; this version knows {', '.join(known)}")
    return description


def describe_for(folder: Path, engine: type[Engine]) -> Description:
    """The ``model.json`` of a model folder. Raises UserError if it is for another engine."""
    description = describe(folder)
    if description.engine != engine.name:
        raise UserError(f"{folder}: is for {of_description(description).label}, not for {engine.label}")
    return description


def of(folder: Path) -> type[Engine]:
    """The engine of a model folder. Raises UserError as ``describe``."""
    return of_description(describe(folder))


def of_description(description: Description) -> type[Engine]:
    """The engine of a description that ``describe`` has returned."""
    engine = named(description.engine)
    assert engine
    return engine


def load(folder: Path, search: Search, checksums: bool = True, description: Description | None = None) -> Engine:
    """Load a model folder with its engine.

    checksums: check all files against ``model.json`` first, which reads every byte. description: of ``describe``, if it
    was read. Raises UserError for a damaged folder, and for a search that the engine lacks.
    """
    description = description or describe(folder)
    engine = of_description(description)
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
    if search.sampling and not engine.samples:
        raise UserError(f"{folder}: {engine.label} draws no samples here; give a folder of the native engine")
    if search.samples < 1:
        raise UserError(f"{folder}: samples are at least 1, not {search.samples}")
    if search.samples > 1 and not search.sampling:
        raise UserError(f"{folder}: --samples: is of sampling; add --sample")
    if search.sampling and search.beam_size > 1:
        raise UserError(f"{folder}: samples are drawn without a beam; leave out --beam-size or --sample")
    if "remove_finished" in search.without and (search.beam_size > 1 or search.sampling):
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


def isa(folder: Path, engine: type[Engine], beam_size: int = 1) -> str | None:
    """The instruction set to request from a folder's engine: the environment's, else the tuned one, else the widest;
    None if the engine chooses it."""
    if not engine.isa_variable:
        return None
    return os.environ.get(engine.isa_variable) or tuned.settings(folder, beam_size).get("isa") or engine.widest()
