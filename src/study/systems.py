"""The systems of a study: its teachers, students and untrained models, for each mixture and seed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from formats import shape
from formats.ctranslate2_model import ENVIRONMENTS, PATH_OPTIONS
from study.schema import Config

TRANSLATED = ("best", "interpolated", "mbr", "all")  # the targets that teachers make, as distill.select names them
ORIGINAL = "original"  # the mixture of the teachers: the bilingual corpora with their own weights
ENSEMBLE = "ensemble"  # all teachers together
ORIGINS = ("shape", "checkpoint", "ctranslate2", "converted")  # a teacher has one of them; shape: it is trained here


def mixture(config: Config, name: str) -> Config:
    """The entry of a mixture, with a default for ORIGINAL."""
    absent = {"targets": "original", "teacher": None, "weights": None, "drop_worst": 0}
    return config["mixtures"].get(name, absent)


def weights(config: Config, name: str) -> dict[str, float]:
    """The corpora of a mixture with their weights."""
    entry = mixture(config, name)
    if entry["weights"]:
        return entry["weights"]
    roles = ("train",) if entry["targets"] == "original" else ("train", "monolingual")
    return {corpus: values["weight"] for corpus, values in config["corpora"].items() if values["role"] in roles}


def learned_from(config: Config, name: str) -> list[str]:
    """The teachers whose translations a mixture is made of."""
    entry = mixture(config, name)
    if entry["targets"] == "original":
        return []
    return [entry["teacher"]] if entry["teacher"] else list(config["teachers"])


def composition(config: Config, name: str) -> dict[str, Any]:
    """A mixture's teachers, each corpus's share of the pairs (0 to 1), and the per cent that are dropped."""
    entry, weighted = mixture(config, name), weights(config, name)
    return {
        "targets": entry["targets"],
        "teachers": learned_from(config, name),
        "shares": {corpus: round(w / sum(weighted.values()), 6) for corpus, w in sorted(weighted.items())},
        "drop_worst": entry["drop_worst"],
    }


class System(NamedTuple):
    """A model of the study.

    student: its name in the configuration, the same for all mixtures and seeds; an untrained system's name of a shape.
    mixture, seed, shape, training: None for a teacher from elsewhere; an untrained system has no mixture or training.
    start_from: the teacher, or the folder, whose weights its training begins with.
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
    """All teachers, trained here or not, then the students."""
    return [*(_teacher(name, entry, config["seed"]) for name, entry in config["teachers"].items()), *students(config)]


def _teacher(name: str, entry: Config, default_seed: int) -> System:
    if not entry["shape"]:
        return System(name, "teacher", name, None, None, None, entry["training"])
    seed = default_seed if entry["seed"] is None else entry["seed"]
    return System(name, "teacher", name, ORIGINAL, seed, entry["shape"], entry["training"], entry["start_from"])


def students(config: Config) -> list[System]:
    """Every student for each of its mixtures and seeds.

    A name has the mixture unless that is the study's first one, and the seed if there are several.
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
    """All that decides what is learned, by the keys of the configuration: network, training, weights at its start."""
    shape = {key: value for key, value in (system.shape or {}).items() if value is not None}
    training = dict(system.training or {})
    watching = ("averages", "threads", "device", *(() if training.get("patience") else ("validation_steps",)))
    learned = {key: value for key, value in training.items() if key not in watching}
    return shape | learned | {"start_from": system.start_from}


def untrained(config: Config) -> list[System]:
    """Models of named shapes with random weights, for their speed only; an unknown name has no shape."""
    return [
        System(f"{name}-untrained", "untrained", name, None, config["seed"], shape.registry().get(name), None)
        for name in config["speed"]["untrained"]
    ]


def splits_as_study(teacher: Config) -> bool:
    """Whether a teacher splits text with the study's vocabulary, which must be there before it translates."""
    return teacher["tokenization"] is None


def is_folder(start: str) -> bool:
    """Whether ``start_from`` names a folder with weights from elsewhere, not a teacher of the study."""
    return "/" in start


def absent_models(config: Config) -> list[str]:
    """A line for each file or folder that a model from elsewhere needs and that is not there."""
    absent = []
    for name, teacher in config["teachers"].items():
        converted = teacher["converted"] or {}
        commands = ENVIRONMENTS.get(converted.get("from"))
        for path in (path for path in teacher_paths(teacher) if not Path(path).exists()):
            remedy = f"; make it: {commands.format(path)}" if commands and path == converted["environment"] else ""
            absent.append(f"{name}: no {path}{remedy}")
    starts = [(name, entry["start_from"]) for name, entry in (config["teachers"] | config["students"]).items()]
    starts = [(name, start) for name, start in starts if start and is_folder(start)]
    return absent + [f"{name}: no {start}" for name, start in starts if not Path(start).is_dir()]


def teacher_paths(teacher: Config) -> Iterator[str]:
    """Files and folders that the entry of a teacher names, without models to download."""
    yield from (teacher[origin] for origin in ("checkpoint", "ctranslate2") if teacher[origin])
    converted = teacher["converted"] or {"options": {}, "environment": None}
    values = [converted["environment"]]
    values += [value for option, value in converted["options"].items() if option in PATH_OPTIONS]
    for value in filter(None, [*values, *(teacher["tokenization"] or {}).values()]):
        yield from value if isinstance(value, list) else [value]
