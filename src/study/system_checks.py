"""Checks of teachers and students: their origins, shapes, trainings and names."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from formats.shape import TransformerShape, Values, registry, shape
from study import http_checks, word_checks
from study.configuration import StudyConfiguration
from study.configuration.scores import ScoringModelSection
from study.configuration.systems import StudentSection, TeacherSection
from study.expansion import BATCHES, LENGTHS
from study.schema import suggestion
from study.systems import (
    BACKWARD,
    ENSEMBLES,
    ORIGINS,
    assistants,
    backward,
    is_folder,
    learned_from,
    placed_teachers,
    students,
    systems,
    untrained,
)
from train.settings import PhaseSection, TrainingSection


def problems(config: StudyConfiguration) -> Iterator[str]:
    for path, teacher in placed_teachers(config).items():
        yield from _teacher_problems(path, teacher)
        yield from http_checks.teacher_problems(path, teacher)
        yield from shape_problems(path, teacher)
        yield from _sampling_problems(f"{path}.training", teacher.training, config)
    earlier = {name: teacher.shape.document for name, teacher in config.teachers.items() if teacher.shape}
    trained = students(config)
    for name, student in config.students.items():
        yield from _student_problems(f"students.{name}", student, config, earlier)
        earlier |= {system.name: system.shape for system in trained if system.student == name}
        yield from shape_problems(f"students.{name}", student)
        yield from _sampling_problems(f"students.{name}.training", student.training, config)
        yield from word_checks.problems(f"students.{name}", student, config)
    yield from training_problems("student_training", config.student_training)
    every = (*systems(config), *untrained(config), *filter(None, [backward(config)]))
    names = [system.name for system in every]  # names of folders
    names += [*ENSEMBLES.values()] * (len(config.teachers) > 1)
    for name in sorted({name for name in names if names.count(name) > 1}):
        reserved = f" (that of back_translation is {BACKWARD})" * (name == BACKWARD)
        yield f"students: two systems have the name {name}{reserved}"


def _teacher_problems(path: str, teacher: TeacherSection) -> Iterator[str]:
    given = [origin for origin in ORIGINS if getattr(teacher, origin) is not None]
    if len(given) != 1:
        yield f"{path}: needs exactly one of {', '.join(ORIGINS)}; it has {' and '.join(given) or 'none'}"
    elif given != ["shape"]:
        surplus = [key for key in ("training", "seed", "mixture", "start_from") if getattr(teacher, key) is not None]
        yield from (f"{path}.{key}: is for a teacher that is trained here" for key in surplus)
        if (tokenization := teacher.tokenization) is not None:
            files = [file for file in (tokenization.sentencepiece, tokenization.bpe) if file is not None]
            if len(files) != 1:
                has = "both sentencepiece and bpe" if files else "neither sentencepiece nor bpe"
                yield f"{path}.tokenization: has {has}; give one"
    elif teacher.training is None:
        yield f"{path}.training is missing"
    else:
        yield from training_problems(f"{path}.training", teacher.training)
        if teacher.training.alignment:
            yield f"{path}.training.alignment: is for students, as the alignment is of what they learn"
        yield from _start_problems(path, teacher)
        if (start := teacher.start_from) is not None and not is_folder(start):
            yield f"{path}.start_from: {start!r} is no folder; a teacher begins with weights from elsewhere (./{start})"
        if teacher.parameters is not None:
            yield f"{path}.parameters: follow from the shape of a teacher that is trained here"
        if teacher.tokenization is not None:
            yield f"{path}.tokenization: a teacher that is trained here has the study's own"
        if teacher.prefix is not None:
            yield f"{path}.prefix: a teacher that is trained here has one pair of languages"


def _student_problems(
    path: str, student: StudentSection, config: StudyConfiguration, earlier: Mapping[str, Values]
) -> Iterator[str]:
    """earlier: the shapes of what this student may begin with: teachers, and the systems of the students before it."""
    for number, mixture in enumerate(student.mixtures or ()):
        if mixture not in config.mixtures:
            yield f"{path}.mixtures.{number}: {mixture!r} is not one of the mixtures {', '.join(config.mixtures)}"
    for mixture in student.mixtures or [next(iter(config.mixtures))]:
        if (teacher := _assistant(config, mixture)) and teacher not in earlier:
            yield f"{path}.mixtures: {mixture} has translations by {teacher}, which is no earlier student"
    if (parent := student.start_from) is not None and not is_folder(parent):
        if parent not in earlier:
            reason = "is no teacher or earlier student that is trained here; the name of a folder has a slash"
            yield f"{path}.start_from: {parent!r} {reason}"
        elif earlier[parent] != student.shape.document and not student.start_layers:
            yield f"{path}.start_from: {parent} has another shape, so its weights do not fit"
    yield from _layer_problems(path, student, earlier.get(parent or ""))
    yield from training_problems(f"{path}.training", student.training)
    yield from _start_problems(path, student)


def _assistant(config: StudyConfiguration, mixture: str) -> str | None:
    """The student whose translations a mixture has, if it is one's."""
    return next((name for name in learned_from(config, mixture) if name in assistants(config)), None)


def _layer_problems(path: str, student: StudentSection, parent: Values | None) -> Iterator[str]:
    """parent: the shape of what the student begins with; of a folder it is not known before it is read."""
    if not (layers := student.start_layers):
        return
    if not student.start_from:
        yield f"{path}.start_layers: of what? name it in start_from"
        return
    try:
        values = student.shape.document
        own, other = shape(values), shape(parent or values)
    except ValueError:  # as the check of shapes says
        return
    where = f"{path}.start_layers"
    if not isinstance(own, TransformerShape) or not isinstance(other, TransformerShape):
        kind = other if isinstance(own, TransformerShape) else own
        yield f"{where}: is for Transformers, not for {kind}"
        return
    if replace(other, encoder_layers=own.encoder_layers, decoder_layers=own.decoder_layers) != own:
        yield f"{where}: of {student.start_from} ({other}) do not fit {own}: only numbers of layers may differ"
        return
    for side, chosen in layers.document.items():
        number, there = (getattr(of, f"{side}_layers") for of in (own, other))
        if len(chosen) != number:
            yield f"{where}.{side}: names {len(chosen)} layers for a student of {number}"
        if parent and (absent := [layer for layer in chosen if layer >= there]):
            yield f"{where}.{side}: {student.start_from} has no layer {absent[0]}; it has 0 to {there - 1}"


def _start_problems(path: str, system: TeacherSection | StudentSection) -> Iterator[str]:
    if system.training and system.training.steps == 0 and system.start_from is None:
        yield f"{path}.training.steps: without updates it needs weights from elsewhere (start_from)"


def training_problems(path: str, training: TrainingSection) -> Iterator[str]:
    exclusive: list[tuple[str, TrainingSection | PhaseSection, tuple[str, str]]] = [
        (path, training, LENGTHS),
        (path, training, BATCHES),
    ]
    exclusive += [(f"{path}.then.{number}", phase, LENGTHS) for number, phase in enumerate(training.then)]
    for where, values, pair in exclusive:
        given = [key for key in pair if getattr(values, key) is not None]
        if len(given) != 1:
            yield f"{where}: needs either {' or '.join(pair)}; it has {'both' if given else 'neither'}"


def _sampling_problems(path: str, training: TrainingSection | None, config: StudyConfiguration) -> Iterator[str]:
    if not training or not training.sampling:
        return
    if (kind := config.vocabulary.type) != "unigram":
        yield f"{path}.sampling: needs the probabilities of a vocabulary of type unigram; {kind} has none"
    if training.alignment:
        yield f"{path}.sampling: changes the pieces that alignment: {training.alignment} has links of; leave one out"


def warnings(config: StudyConfiguration) -> Iterator[str]:
    """A line for each training that has fewer checkpoints than it is to average, or never ends its warm-up."""
    trained = {path: teacher.training for path, teacher in placed_teachers(config).items()}
    trained |= {f"students.{name}": student.training for name, student in config.students.items()}
    for path, training in trained.items():
        if training is None:
            continue
        averaged, every = training.average_last, training.checkpoint_steps
        last = training.phases[-1].steps  # of the phase whose checkpoints are averaged
        if last and (averaged - 1) * every >= last:  # the last step has one, too
            yield f"{path}.training.average_last: in {last:,} steps there are fewer than {averaged} checkpoints"
        steps = [phase.steps or 0 for phase in training.phases]
        if training.decay != "constant" and all(steps) and sum(steps) <= training.warmup_steps:
            yield f"{path}.training.warmup_steps: the rate still rises at the end, after {sum(steps):,} steps"


def shape_problems(path: str, system: TeacherSection | StudentSection | ScoringModelSection) -> Iterator[str]:
    if not system.shape:
        return
    if (like := system.shape.like) is not None:
        yield f"{path}.shape: unknown shape {like!r}{suggestion(like, list(registry()))}"
        return
    try:
        built = shape(system.shape.document)
    except ValueError as error:
        yield f"{path}.shape: {error}"
        return
    if (file := getattr(built, "file", None)) and not file.is_file():
        yield f"{path}.shape.model: no file {file}"
    precision = system.training.precision if system.training else None
    if system.training and system.training.alignment and not isinstance(built, TransformerShape):
        yield f"{path}.training.alignment: is for Transformers, not for {built}"
    if (
        system.training
        and any(phase.quantization for phase in system.training.phases)
        and not isinstance(built, TransformerShape)
    ):
        yield f"{path}.training: quantization is for Transformers, not for {built}"
    if precision == "bfloat16" and not isinstance(built, TransformerShape):
        yield f"{path}.training.precision: {precision} is for Transformers; train {built} in float32"
