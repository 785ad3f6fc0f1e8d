"""The engine and the type that teachers compute with: those in the configuration, those that the study began with, or
the best on this machine.

``here`` is False for a plan, which is for other machines: there every engine is installed, int8 is exact, and nothing
has begun.
"""

from collections.abc import Iterator
from pathlib import Path

from common.cpu import int8_saturates, warning
from common.files import read_json, write_json
from decode.engines.ctranslate2 import CTranslate2
from decode.engines.native import Native
from study.schema import Config, results


def chosen(config: Config, here: bool = True) -> Config:
    """The engine and the type of ``distillation``, with defaults instead of null.

    On a CPU a study continues with those of its last run, so that all nodes of a cluster compute alike.
    """
    distillation = config["distillation"]
    wish = distillation["engine"] or default_engine(config, here)
    named = config | {"distillation": distillation | {"engine": wish}}
    begun = _begun(config, here)
    kept = begun["compute_type"] if begun.get("engine") == engine(named, here) else default_type(named, here)
    return {"engine": wish, "compute_type": distillation["compute_type"] or kept}


def default_engine(config: Config, here: bool = True) -> str:
    """The engine of a study that names none: the native one where it is sure to decode every teacher.

    The architecture of a teacher from elsewhere is unknown until it is there; CTranslate2 is the safe choice for it.
    """
    teachers = config["teachers"].values()
    trained = teachers and all(teacher["shape"] for teacher in teachers)
    sure = Native.name if trained else CTranslate2.name
    return CTranslate2.name if obstacle(config, here) else _begun(config, here).get("engine", sure)


def default_type(config: Config, here: bool = True) -> str:
    """int8 where its products are exact, else float32; float16 on a GPU.

    On CPUs int8 is the fastest type. Exact, it costs 0.11 BLEU at most (results/reference/engine), and the native
    engine's is exact on every CPU. On GPUs float16 is: CTranslate2's README has 10,990 tokens/s in float16, 8,725 in
    int8_float16 and 8,567 in int8 (a base Transformer on an A10G), with the BLEU of float32. A GPU without it computes
    in another type (formats.decoding.compute_type), which is recorded in the JSON beside each n-best list.
    """
    if config["distillation"]["device"] == "cuda":
        return "float16"
    return "float32" if here and engine(config) == CTranslate2.name and int8_saturates() else "int8"


def engine(config: Config, here: bool = True) -> str:
    """The engine that the teachers run in: the one that the study names, or CTranslate2 where it is not available."""
    wish = config["distillation"]["engine"]
    return CTranslate2.name if wish == Native.name and obstacle(config, here) else wish


def obstacle(config: Config, here: bool = True) -> str | None:
    """Why the native engine cannot translate for this study, if so."""
    distillation = config["distillation"]
    if distillation["device"] not in Native.devices:
        return f"does not run on {distillation['device']}"
    if here and not Native.supported():
        return "is not installed"
    if (type := distillation["compute_type"]) and type not in Native.types:
        return f"does not compute in {type}, only in {', '.join(Native.types)}"
    shapes = {name: teacher["shape"] for name, teacher in config["teachers"].items() if teacher["shape"]}
    lacking = {name: lacks for name, shape in shapes.items() if (lacks := Native.lacks(shape))}
    return next((f"{lacks} (teachers.{name})" for name, lacks in lacking.items()), None)


def note_teachers(config: Config) -> None:
    """Store the engine and the type of the teachers of this run, for the next load of the configuration."""
    if config["distillation"]["device"] == "cpu":
        type = config["distillation"]["compute_type"]
        write_json(_note(config), {"engine": engine(config), "compute_type": type})


def warnings(config: Config) -> Iterator[str]:
    """A line for an engine that is not available here, and for a type that costs quality."""
    distillation = config["distillation"]
    if not config["teachers"]:
        return
    if engine(config) != distillation["engine"]:
        yield f"distillation.engine: {Native.name} {obstacle(config)}; {CTranslate2.label} translates in its place"
    saturating = engine(config) == CTranslate2.name and distillation["device"] == "cpu"
    if saturating and distillation["compute_type"].startswith("int8"):
        yield from filter(None, [warning("distillation.compute_type")])


def _begun(config: Config, here: bool) -> Config:
    """The note of the last run of the study on a CPU, if there was one."""
    if not here or config["distillation"]["device"] != "cpu" or not _note(config).exists():
        return {}
    return {"engine": CTranslate2.name} | read_json(_note(config))  # older notes name no engine


def _note(config: Config) -> Path:
    return results(config) / "distillation.json"
