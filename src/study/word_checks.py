"""Checks of students that learn a teacher's probabilities word by word: whoever gives them reads their very pieces."""

from collections.abc import Iterator

from decode import engines
from nmt_frontier.search.native import Native
from study.configuration import StudyConfiguration
from study.configuration.systems import StudentSection, TeacherSection
from study.precision import engine
from study.systems import mixture


def problems(path: str, student: StudentSection, config: StudyConfiguration) -> Iterator[str]:
    """path: of the student."""
    if not (words := student.words):
        return
    where = f"{path}.words"
    if not config.teachers:
        yield f"{where}: needs a teacher"
    if words.teacher not in (None, *config.teachers):
        yield f"{where}.teacher: {words.teacher!r} is not one of the teachers {', '.join(config.teachers)}"
    for name, teacher in config.teachers.items():
        if words.teacher in (None, name) and (reason := _other_pieces(teacher)):
            yield f"{where}: needs teachers with the pieces of the study, but {name} {reason}"
    if student.training.sampling:
        yield f"{where}: is of one segmentation of a text, which training.sampling changes; leave one out"
    for name in student.mixtures or [next(iter(config.mixtures))]:
        augmentation = mixture(config, name).augmentation
        if augmentation and (augmentation.both_sides or augmentation.meant):
            yield f"{where}: a teacher knows nothing of pairs that are changed, as in mixtures.{name}.augmentation"


def engine_problems(config: StudyConfiguration, remedy: str) -> Iterator[str]:
    """Problems of the engine of the teachers, once it is chosen. remedy: how the study comes to the native one."""
    for name, student in config.students.items():
        if student.words and engine(config) != Native.name:
            label = engines.ENGINES[engine(config)].label
            yield f"students.{name}.words: {label} does not tell the most probable pieces{remedy}"


def _other_pieces(teacher: TeacherSection) -> str | None:
    """Why a teacher does not read and write the pieces of the study, if so."""
    if teacher.http:
        return "answers over HTTP, in text"
    if teacher.tokenization:
        return "has a tokenization of its own"
    return "has a prefix" if teacher.prefix else None
