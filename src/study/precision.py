"""The engine and the type that teachers compute with: those in the configuration, or what is exact on every machine.

Both follow from the configuration alone, so that its hash says what a study computes. What the machine lacks shows when
jobs run (study.machine_checks, distill.teacher).
"""

from collections.abc import Iterator

from msgspec.structs import replace

from decode.engines.ctranslate2 import CTranslate2
from formats.shape import Values
from nmt_frontier.search.native import Native
from study.configuration import StudyConfiguration
from study.systems import all_teachers, assistants, placed_teachers


def chosen(config: StudyConfiguration) -> StudyConfiguration:
    """With defaults for the engine and the type of ``distillation`` where these are null."""
    distillation = replace(config.distillation, engine=config.distillation.engine or default_engine(config))
    named = replace(config, distillation=distillation)
    type = distillation.compute_type or default_type(named)
    return replace(config, distillation=replace(distillation, compute_type=type))


def default_engine(config: StudyConfiguration) -> str:
    """The engine of a study that names none: the native one where it is sure to decode every teacher.

    The architecture of a teacher from elsewhere is unknown until it is there; CTranslate2 is the safe choice for it.
    """
    teachers = [teacher for teacher in all_teachers(config).values() if not teacher.http]
    trained = (teachers or assistants(config)) and all(teacher.shape for teacher in teachers)
    return Native.name if trained and not obstacle(config) else CTranslate2.name


def default_type(config: StudyConfiguration) -> str:
    """int8 in the native engine, float32 in CTranslate2; float16 on a GPU.

    On CPUs int8 is the fastest type. Exact, it costs 0.3 BLEU at most (results/reference/engine), and the native
    engine's is exact on every CPU; CTranslate2's is on some. On GPUs float16 is: CTranslate2's README has 10,990
    tokens/s in float16, 8,725 in int8_float16 and 8,567 in int8 (a base Transformer on an A10G), with the BLEU of
    float32. A GPU without it computes in another type (formats.ctranslate2_loading.compute_type), which is recorded in
    the JSON beside each n-best list.
    """
    if config.distillation.device == "cuda":
        return "float16"
    return "float32" if engine(config) == CTranslate2.name else "int8"


def engine(config: StudyConfiguration) -> str:
    """The engine of the teachers: the one that the study names, or CTranslate2 where it cannot translate for it."""
    wish = config.distillation.engine or default_engine(config)
    return CTranslate2.name if wish == Native.name and obstacle(config) else wish


def obstacle(config: StudyConfiguration) -> str | None:
    """Why the native engine cannot translate for this study, if so."""
    distillation = config.distillation
    if distillation.device not in Native.devices:
        return f"does not run on {distillation.device}"
    if (type := distillation.compute_type) and type not in Native.types:
        return f"does not compute in {type}, only in {', '.join(Native.types)}"
    return next((f"{lacks} ({path})" for path, shape in shapes(config).items() if (lacks := Native.lacks(shape))), None)


def shapes(config: StudyConfiguration) -> dict[str, Values]:
    """Those of the teachers that are trained here, students that teach others among them, by their keys."""
    teachers = {path: teacher.shape for path, teacher in placed_teachers(config).items() if teacher.shape}
    taught = {f"students.{system.student}": system.shape for system in assistants(config).values()}
    return {path: shape.document for path, shape in teachers.items()} | taught


def warnings(config: StudyConfiguration) -> Iterator[str]:
    """A line if the study names an engine that cannot translate for it."""
    if (all_teachers(config) or assistants(config)) and engine(config) != config.distillation.engine:
        yield f"distillation.engine: {Native.name} {obstacle(config)}; {CTranslate2.label} translates in its place"
