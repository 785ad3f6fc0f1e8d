"""Models from elsewhere: what they bring, and which of their files are missing on this machine."""

from collections.abc import Iterator
from pathlib import Path

from formats.converters import ENVIRONMENTS, PATH_OPTIONS
from study.schema import Config

ORIGINS = ("shape", "checkpoint", "ctranslate2", "converted")  # a teacher has one of them; shape: it is trained here


def splits_as_study(teacher: Config) -> bool:
    """Whether a teacher splits text with the study's vocabulary, which must be there before it translates."""
    return teacher["tokenization"] is None


def is_folder(start: str) -> bool:
    """Whether ``start_from`` names a folder with weights from elsewhere, not a teacher of the study."""
    return "/" in start


def absent_models(config: Config) -> list[str]:
    """A line for each file or folder that a model from elsewhere needs and that is not there."""
    absent = [
        f"{name}: no {path}{_remedy(teacher, path)}"
        for name, teacher in config["teachers"].items()
        for path in paths(teacher)
        if not Path(path).exists()
    ]
    starts = [(name, entry["start_from"]) for name, entry in (config["teachers"] | config["students"]).items()]
    absent += [
        f"{name}: no {start}" for name, start in starts if start and is_folder(start) and not Path(start).is_dir()
    ]
    return absent


def _remedy(teacher: Config, path: str) -> str:
    converted = teacher["converted"] or {}
    commands = ENVIRONMENTS.get(converted.get("from"))
    return f"; make it: {commands.format(path)}" if commands and path == converted["environment"] else ""


def paths(teacher: Config) -> Iterator[str]:
    """Files and folders that the entry of a teacher names. Names of models to download are not among them."""
    yield from (teacher[origin] for origin in ("checkpoint", "ctranslate2") if teacher[origin])
    converted = teacher["converted"] or {"options": {}, "environment": None}
    if converted["environment"]:
        yield converted["environment"]
    values = [value for option, value in converted["options"].items() if option in PATH_OPTIONS]
    values += [value for value in (teacher["tokenization"] or {}).values() if value]
    for value in values:
        yield from value if isinstance(value, list) else [value]
