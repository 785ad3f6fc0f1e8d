"""The systems of a study: its teachers, students and untrained models, for each mixture and seed."""

from typing import NamedTuple

from formats import shape
from study.mixtures import ORIGINAL
from study.schema import Config

ENSEMBLE = "ensemble"  # all teachers together


class System(NamedTuple):
    """A model of the study.

    student: its name in the configuration, the same for all mixtures and seeds. mixture: what it is trained on.
    shape, training: values of the configuration. All but the names are None for a teacher that is not trained here.
    An untrained system has neither mixture nor training; its student is the name of its shape. start_from: the teacher,
    or the folder, whose weights its training begins with.
    """

    name: str
    role: str  # teacher, student, control or untrained
    student: str
    mixture: str | None
    seed: int | None
    shape: Config | None
    training: Config | None
    start_from: str | None = None


def systems(config: Config) -> list[System]:
    """Teachers, then students."""
    return [*teachers(config), *students(config)]


def teachers(config: Config) -> list[System]:
    """Every teacher, trained here or not."""
    return [_teacher(name, entry, config["seed"]) for name, entry in config["teachers"].items()]


def _teacher(name: str, entry: Config, default_seed: int) -> System:
    if not entry["shape"]:
        return System(name, "teacher", name, None, None, None, entry["training"])
    seed = default_seed if entry["seed"] is None else entry["seed"]
    return System(name, "teacher", name, ORIGINAL, seed, entry["shape"], entry["training"], entry["start_from"])


def students(config: Config) -> list[System]:
    """Every student for each of its mixtures and seeds.

    The name is the student's, with the mixture unless it is the study's first one, with the seed if there are several.
    """
    first = next(iter(config["mixtures"]))
    trained = []
    for student, entry in config["students"].items():
        seeds = entry["seeds"] or [config["seed"]]
        for mixture in entry["mixtures"] or [first]:
            original = config["mixtures"].get(mixture, {}).get("targets") == "original"
            for seed in seeds:
                parts = [student, "" if mixture == first else f"-{mixture}", f"-seed{seed}" if len(seeds) > 1 else ""]
                role = "control" if original else "student"
                values = (entry[key] for key in ("shape", "training", "start_from"))
                trained.append(System("".join(parts), role, student, mixture, seed, *values))
    return trained


def settings(system: System) -> Config:
    """What decides what is learned, by the names of the configuration: network, training, the weights at its start."""
    shape = {key: value for key, value in (system.shape or {}).items() if value is not None}
    training = dict(system.training or {})
    watching = ("averages", "threads", "device", *(() if training.get("patience") else ("validation_steps",)))
    return (
        shape
        | {key: value for key, value in training.items() if key not in watching}
        | {"start_from": system.start_from}
    )


def untrained(config: Config) -> list[System]:
    """Models of named shapes with random weights, for their speed only; an unknown name has no shape."""
    return [
        System(f"{name}-untrained", "untrained", name, None, config["seed"], shape.registry().get(name), None)
        for name in config["speed"]["untrained"]
    ]
