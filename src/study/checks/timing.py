"""Checks of what is timed: the systems of the speed tables, and the student that the maps are fitted to."""

from collections.abc import Iterator

from formats.shape import registry, self_attention
from study.schema import Config, suggestion
from study.systems import systems, untrained

FOREIGN = "is none that CTranslate2 runs; these tables compare it with the others"


def problems(config: Config) -> Iterator[str]:
    yield from _speed_problems(config)
    students = config["students"].values()
    if config["vocabulary_map"]["grid"] is not None and not any(self_attention(entry["shape"]) for entry in students):
        yield "vocabulary_map.grid: the map is fitted to a student, and CTranslate2 runs none of these"


def _speed_problems(config: Config) -> Iterator[str]:
    trained = {system.name: system for system in systems(config) if system.shape}
    for number, name in enumerate(config["speed"]["systems"]):
        if name not in trained:
            yield f"speed.systems.{number}: {name!r} is not one of the systems {', '.join(trained)}"
        elif not self_attention(trained[name].shape):
            yield f"speed.systems.{number}: {name} {FOREIGN}"
    for number, system in enumerate(untrained(config)):
        if system.shape is None:
            unknown = f"unknown shape {system.student!r}{suggestion(system.student, list(registry()))}"
            yield f"speed.untrained.{number}: {unknown}"
