"""Checks of what is timed: the systems of the speed tables, and the student that the maps are fitted to."""

from collections.abc import Iterator

from decode import engines
from decode.engines.ctranslate2 import CTranslate2
from formats.shape import registry
from study.schema import Config, suggestion
from study.systems import systems, untrained

FOREIGN = "is decoded by OpenNMT-tf alone; these tables compare it with other engines"


def problems(config: Config) -> Iterator[str]:
    yield from _speed_problems(config)
    students = config["students"].values()
    if config["vocabulary_map"]["grid"] is not None and not any(_optimised(config, s["shape"]) for s in students):
        yield "vocabulary_map.grid: the map is fitted to a student, and OpenNMT-tf alone decodes these; it has no map"


def _optimised(config: Config, shape: Config) -> bool:
    """Whether another engine of the study than OpenNMT-tf decodes this shape."""
    names = (CTranslate2.name, *config["decoding"]["engines"])
    return any(engines.ENGINES[name].runs(shape) for name in names)


def _speed_problems(config: Config) -> Iterator[str]:
    trained = {system.name: system for system in systems(config) if system.shape}
    for number, name in enumerate(config["speed"]["systems"]):
        if name not in trained:
            yield f"speed.systems.{number}: {name!r} is not one of the systems {', '.join(trained)}"
        elif not _optimised(config, trained[name].shape):
            yield f"speed.systems.{number}: {name} {FOREIGN}"
    for number, system in enumerate(untrained(config)):
        if system.shape is None:
            unknown = f"unknown shape {system.student!r}{suggestion(system.student, list(registry()))}"
            yield f"speed.untrained.{number}: {unknown}"
