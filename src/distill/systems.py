"""The systems of a study: what its configuration says of teachers, students, mixtures and seeds, spelled out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from formats.shape import registry

PATH_OPTIONS = ("model_path", "data_dir", "vocab_paths", "model_dir", "user_dir")  # of CTranslate2's converters


# Toolkits that do not import on Python 3.11, and the two commands that make an environment in which they do.
ENVIRONMENTS = {
    "fairseq": (
        "python3.10 -m venv {0} && {0}/bin/pip install fairseq==0.12.2 torch==1.13.1 torchaudio==0.13.1 'numpy<1.24' "
        "ctranslate2==4.8.5"
    ),
}


class System(NamedTuple):
    """A model of the study.

    student: its name in the configuration, the same for all mixtures and seeds. mixture: what it is trained on.
    shape, training: values of the configuration. All but the names are None for a teacher that is not trained here.
    What is untrained has neither mixture nor training; its student is the name of its shape. start_from: the teacher
    whose weights its training begins with.
    """

    name: str
    role: str  # teacher, student, control or untrained
    student: str
    mixture: str | None
    seed: int | None
    shape: dict[str, Any] | None
    training: dict[str, Any] | None
    start_from: str | None = None


ORIGINAL = "original"  # the mixture of the teachers: the bilingual corpora with their own weights


def teachers(config: dict[str, Any]) -> list[System]:
    return [
        System(
            name,
            "teacher",
            name,
            ORIGINAL if entry["shape"] else None,
            (config["seed"] if entry["seed"] is None else entry["seed"]) if entry["shape"] else None,
            entry["shape"],
            entry["training"],
        )
        for name, entry in config["teachers"].items()
    ]


def students(config: dict[str, Any]) -> list[System]:
    """Every student for each of its mixtures and seeds.

    The name is the student's, with the mixture unless it is the study's first one, with the seed where there are more.
    """
    first = next(iter(config["mixtures"]))
    found = []
    for student, entry in config["students"].items():
        seeds = entry["seeds"] or [config["seed"]]
        for mixture in entry["mixtures"] or [first]:
            original = config["mixtures"].get(mixture, {}).get("targets") == "original"
            for seed in seeds:
                parts = [student, "" if mixture == first else f"-{mixture}", f"-seed{seed}" if len(seeds) > 1 else ""]
                role = "control" if original else "student"
                values = (entry[key] for key in ("shape", "training", "start_from"))
                found.append(System("".join(parts), role, student, mixture, seed, *values))
    return found


def systems(config: dict[str, Any]) -> list[System]:
    """Teachers, then students."""
    return [*teachers(config), *students(config)]


def untrained(config: dict[str, Any]) -> list[System]:
    """Models of named shapes with random weights, for their speed only; an unknown name has no shape."""
    return [
        System(f"{name}-untrained", "untrained", name, None, config["seed"], registry().get(name), None)
        for name in config["speed"]["untrained"]
    ]


def first_seed(config: dict[str, Any], system: System) -> int | None:
    """Of the systems that differ in their seed only, that of the first."""
    same = (other for other in systems(config) if (other.student, other.mixture) == (system.student, system.mixture))
    return next(same).seed


def weights(config: dict[str, Any], mixture: str) -> dict[str, float]:
    """The corpora of a mixture with their weights. ORIGINAL is there even where no mixture has this name."""
    entry = config["mixtures"].get(mixture, {"targets": "original", "weights": None})
    if entry["weights"]:
        return entry["weights"]
    roles = ("train",) if entry["targets"] == "original" else ("train", "monolingual")
    return {name: corpus["weight"] for name, corpus in config["corpora"].items() if corpus["role"] in roles}


def learned_from(config: dict[str, Any], mixture: str) -> list[str]:
    """The teachers whose translations a mixture is made of."""
    entry = config["mixtures"].get(mixture, {"targets": "original"})
    if entry["targets"] == "original":
        return []
    return [entry["teacher"]] if entry["teacher"] else list(config["teachers"])


def mixed(config: dict[str, Any], mixture: str) -> dict[str, Any]:
    """What a mixture is made of: whose translations, the corpora with their shares, what is dropped."""
    entry = config["mixtures"].get(mixture, {"targets": "original", "drop_worst": 0})
    given = weights(config, mixture)
    return {
        "targets": entry["targets"],
        "teachers": learned_from(config, mixture),
        "shares": {name: round(weight / sum(given.values()), 6) for name, weight in sorted(given.items())},
        "drop_worst": entry["drop_worst"],
    }


def splits_as_study(teacher: dict[str, Any]) -> bool:
    """Whether a teacher has the pieces of the study's vocabulary, so that this must be there before it translates."""
    return teacher["tokenization"] is None


def absent_teachers(config: dict[str, Any]) -> list[str]:
    """What is missing of the teachers that are not trained here, a line for each file or folder."""
    teachers = config["teachers"] | (
        {"reverse_teacher": config["reverse_teacher"]} if config["reverse_teacher"] else {}
    )
    return [
        f"{name}: no {path}{_remedy(entry, path)}"
        for name, entry in teachers.items()
        for path in _paths(entry)
        if not Path(path).exists()
    ]


def _remedy(teacher: dict[str, Any], path: str) -> str:
    converted = teacher["converted"] or {}
    commands = ENVIRONMENTS.get(converted.get("from"))
    return f"; make it: {commands.format(path)}" if commands and path == converted["environment"] else ""


def _paths(teacher: dict[str, Any]) -> Iterator[str]:
    """Files and folders that the entry of a teacher names. Names of models to download are none."""
    yield from (teacher[kind] for kind in ("checkpoint", "ctranslate2") if teacher[kind])
    converted = teacher["converted"] or {"options": {}, "environment": None}
    yield from [converted["environment"]] if converted["environment"] else []
    options = converted["options"]
    given = [value for key, value in options.items() if key in PATH_OPTIONS]
    given += [value for value in (teacher["tokenization"] or {}).values() if value]
    for value in given:
        yield from value if isinstance(value, list) else [value]
