"""The type that teachers compute in: what the study says, what it began with, or what is exact on this machine."""

from collections.abc import Iterator
from pathlib import Path

from common.cpu import int8_saturates, warning
from common.files import read_json, write_json
from study.identity import results
from study.schema import Config


def default_type(config: Config) -> str:
    """What teachers compute in if the study does not say.

    On a CPU, what the study was last run with, so that the nodes of a cluster and a machine that continues the run
    compute alike, whatever their CPUs; else int8 where its products are exact, float32 where they are not.
    """
    if config["distillation"]["device"] == "cuda":
        return "float16"
    if (note := _note(config)).exists():
        return read_json(note)["compute_type"]
    return "float32" if int8_saturates() else "int8"


def note_teachers_type(config: Config) -> None:
    """Keep the type that the teachers of this run compute in, for the next load of the configuration."""
    if config["distillation"]["device"] == "cpu":
        write_json(_note(config), {"compute_type": config["distillation"]["compute_type"]})


def warnings(config: Config) -> Iterator[str]:
    """A line for each choice that is allowed, but costs quality on this machine."""
    distillation = config["distillation"]
    if config["teachers"] and distillation["device"] == "cpu" and distillation["compute_type"].startswith("int8"):
        yield from filter(None, [warning("distillation.compute_type")])


def _note(config: Config) -> Path:
    return results(config) / "distillation.json"
