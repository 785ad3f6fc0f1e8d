"""Checks of what is timed: the systems of the speed tables, and the one that the maps are fitted to."""

from collections.abc import Iterator

from decode import engines
from decode.engines.ctranslate2 import CTranslate2
from formats.shape import registry
from study.schema import Config, suggestion
from study.systems import systems, untrained

COMPARED = "these tables compare it with other engines"


def problems(config: Config) -> Iterator[str]:
    for number, name in enumerate(config["speed"]["systems"]):
        yield from _system_problems(config, f"speed.systems.{number}", name, COMPARED)
    yield from _untrained_problems(config)
    if name := config["search"]["system"]:
        yield from _system_problems(config, "search.system", name, "search compares engines")
    if len(config["decoding"]["cores"]) < config["decoding"]["workers"]:
        yield "decoding.workers: a worker needs a core of its own; name more of decoding.cores"
    if name := config["vocabulary_map"]["system"]:
        yield from _system_problems(config, "vocabulary_map.system", name, "it has no map")
    elif config["vocabulary_map"]["grid"] is not None and not _has_optimised_student(config):
        yield "vocabulary_map.grid: the map is fitted to a student, and OpenNMT-tf alone decodes these; it has no map"


def _system_problems(config: Config, key: str, name: str, reason: str) -> Iterator[str]:
    """Whether a system that a key names is trained here and decoded by another engine than OpenNMT-tf."""
    trained = {system.name: system for system in systems(config) if system.shape}
    if name not in trained:
        yield f"{key}: {name!r} is not one of the systems {', '.join(trained)}"
    elif not _optimised(config, trained[name].shape):
        yield f"{key}: {name} is decoded by OpenNMT-tf alone; {reason}"


def _untrained_problems(config: Config) -> Iterator[str]:
    for number, system in enumerate(untrained(config)):
        if system.shape is None:
            unknown = f"unknown shape {system.student!r}{suggestion(system.student, list(registry()))}"
            yield f"speed.untrained.{number}: {unknown}"


def _has_optimised_student(config: Config) -> bool:
    return any(_optimised(config, student["shape"]) for student in config["students"].values())


def _optimised(config: Config, shape: Config) -> bool:
    """Whether another engine of the study than OpenNMT-tf decodes this shape, in a type that the study exports."""
    decoding = config["decoding"]
    others = engines.running(shape, (CTranslate2.name, *decoding["engines"]))
    return any(engine.exported(decoding["compute_types"]) for engine in others)
