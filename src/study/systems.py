"""The systems of a study: its teachers, students and untrained models, for each mixture and seed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.document import Document, Number
from corpora.settings import TARGET_ONLY
from formats import shape
from formats.shape import Values
from nmt_frontier.importers.ctranslate2_model import ENVIRONMENTS, PATH_OPTIONS
from study.configuration import StudyConfiguration
from study.configuration.systems import AugmentationSection, MixtureSection, StudentSection, TeacherSection
from train.settings import Role, StartLayers, TrainingSection, WordsSection

TRANSLATED = ("best", "interpolated", "mbr", "all")  # the targets that teachers make, as distill.select names them
ORIGINAL = "original"  # the mixture of the teachers: the bilingual corpora with their own weights
BACKWARD = "backward"  # the teacher of back_translation
ENSEMBLE = "ensemble"  # all teachers together: each translates, all score
TOKEN_ENSEMBLE = "token-ensemble"  # all teachers together, which average their probabilities at every step
UNION = "union"  # all teachers together: each translates, and nothing is scored anew
ENSEMBLES = {"rescoring": ENSEMBLE, "token_by_token": TOKEN_ENSEMBLE, "union": UNION}  # by the key of a mixture
ORIGINS = (
    "shape",
    "checkpoint",
    "ctranslate2",
    "converted",
    "http",
)  # a teacher has one of them; shape: it is trained here


def mixture(config: StudyConfiguration, name: str) -> MixtureSection:
    """The entry of a mixture, with a default for ORIGINAL."""
    return config.mixtures.get(name) or MixtureSection(targets="original")


def weights(config: StudyConfiguration, name: str) -> dict[str, Number]:
    """The corpora of a mixture with their weights."""
    entry = mixture(config, name)
    if entry.weights:
        return entry.weights
    roles = ("train",) if entry.targets == "original" else ("train", "monolingual")
    return {corpus: values.weight for corpus, values in config.corpora.items() if values.role in roles}


def all_teachers(config: StudyConfiguration) -> dict[str, TeacherSection]:
    """The entries of the teachers, and that of the backward one, by their names."""
    back = config.back_translation
    return {**config.teachers, BACKWARD: back.teacher} if back else config.teachers


def placed_teachers(config: StudyConfiguration) -> dict[str, TeacherSection]:
    """The same by their keys in the configuration."""
    return {teacher_key(config, name): entry for name, entry in all_teachers(config).items()}


def teacher_key(config: StudyConfiguration, name: str) -> str:
    """The key of a teacher in the configuration."""
    backward = name == BACKWARD and name not in config.teachers
    return "back_translation.teacher" if backward else f"teachers.{name}"


def back_translated(config: StudyConfiguration, name: str) -> list[str]:
    """The corpora of a mixture that are back-translations."""
    corpora = config.corpora
    return [corpus for corpus in weights(config, name) if corpus in corpora and corpora[corpus].role == TARGET_ONLY]


def learned_from(config: StudyConfiguration, name: str) -> list[str]:
    """The teachers whose translations a mixture is made of."""
    entry = mixture(config, name)
    if entry.targets == "original":
        return []
    return [entry.teacher] if entry.teacher else list(config.teachers)


def taught_by(config: StudyConfiguration, words: WordsSection) -> list[str]:
    """The teachers whose probabilities a student learns."""
    return [words.teacher] if words.teacher else list(config.teachers)


def translated_by(config: StudyConfiguration, name: str) -> str | None:
    """The teacher whose translations a mixture is made of, or the name of all together; None for original text."""
    entry = mixture(config, name)
    if entry.targets == "original" or not (entry.teacher or config.teachers):
        return None
    return entry.teacher or (ENSEMBLES[entry.ensemble] if len(config.teachers) > 1 else next(iter(config.teachers)))


def teacher_entry(config: StudyConfiguration, name: str) -> TeacherSection:
    """The entry of a teacher; that of a student which teaches others says nothing, like one of a trained teacher."""
    return all_teachers(config).get(name) or TeacherSection()


def asked(config: StudyConfiguration) -> list[str]:
    """The teachers that answer over HTTP."""
    return [name for name, teacher in config.teachers.items() if teacher.http]


def composition(config: StudyConfiguration, name: str, words: WordsSection | None = None) -> Document:
    """A mixture's teachers, each corpus's share of the pairs (0 to 1), and the per cent that are dropped.

    words: of the system that learns from it.
    """
    entry, weighted = mixture(config, name), weights(config, name)
    together = {"ensemble": entry.ensemble} if translated_by(config, name) in (TOKEN_ENSEMBLE, UNION) else {}
    return {
        "targets": entry.targets,
        "teachers": learned_from(config, name),
        **together,
        "shares": {corpus: round(w / sum(weighted.values()), 6) for corpus, w in sorted(weighted.items())},
        "drop_worst": entry.drop_worst,
        **({"augmentation": _rules(entry.augmentation)} if entry.augmentation else {}),
        **({"words": words.weight} if words else {}),
    }


def _rules(augmentation: AugmentationSection) -> dict[str, Number]:
    """The share of the pairs that each rule changes; one name may be a rule for both sides and for sources."""
    meant = {f"meant {rule}": share for rule, share in augmentation.meant.items()}
    place = "aligned " if augmentation.places == "aligned" else ""
    both_sides = {f"{place}{rule}": share for rule, share in augmentation.both_sides.items()}
    return both_sides | meant | {f"source {rule}": share for rule, share in augmentation.source.items()}


CHANGED = "~"  # no part of a name: <corpus>~<mixture> is the copy of a corpus whose sources were changed


def drawn(config: StudyConfiguration, name: str) -> dict[str, Number]:
    """What a mixture draws from: its corpora, and the changed copies of those, with their weights.

    Mixtures of equal rules share a copy, which has the name of the first one.
    """
    weighted, entry = weights(config, name), mixture(config, name)
    rules = entry.augmentation.source if entry.augmentation else {}
    if not rules:
        return weighted
    others = ((other, each.augmentation) for other, each in config.mixtures.items() if each.targets != "original")
    first = next(other for other, augmentation in others if augmentation and augmentation.source == rules)
    share = sum(rules.values())
    copies = {f"{corpus}{CHANGED}{first}": weight * share for corpus, weight in weighted.items()}
    return {corpus: weight * (1 - share) for corpus, weight in weighted.items()} | copies


def base(corpus: str) -> str:
    """The corpus that a changed copy is of, or the corpus itself."""
    return corpus.split(CHANGED)[0]


@dataclass(frozen=True)
class StudySystem:
    """A model of the study: one that is trained here, one with random weights, or a teacher from elsewhere.

    student: its name in the configuration, the same for all mixtures and seeds; an untrained system's name of a shape.
    """

    name: str
    role: str  # teacher, student, control, backward or untrained
    student: str
    mixture: str | None
    seed: int | None
    shape: Values | None


@dataclass(frozen=True)
class Trained(StudySystem):
    """A teacher or a student that is trained here.

    start_from: the teacher, the earlier student, or the folder whose weights its training begins with. start_layers:
    those of its layers that a student takes, None for all. words: whose probabilities it learns, None for nobody's.
    """

    role: Role
    mixture: str
    seed: int
    shape: Values
    training: TrainingSection
    start_from: str | None
    start_layers: StartLayers | None = None
    words: WordsSection | None = None


def systems(config: StudyConfiguration) -> list[StudySystem]:
    """All teachers, trained here or not, then the students."""
    teachers = (_teacher(name, entry, config.seed, "teacher") for name, entry in config.teachers.items())
    return [*teachers, *students(config)]


def backward(config: StudyConfiguration) -> StudySystem | None:
    """The teacher of back_translation."""
    back = config.back_translation
    return _teacher(BACKWARD, back.teacher, config.seed, "backward") if back else None


def _teacher(name: str, entry: TeacherSection, default_seed: int, role: Role) -> StudySystem:
    shape = entry.shape.document if entry.shape else None
    if not shape or not entry.training:
        return StudySystem(name, role, name, None, None, shape)
    seed, learned = default_seed if entry.seed is None else entry.seed, entry.mixture or ORIGINAL
    return Trained(name, role, name, learned, seed, shape, entry.training, entry.start_from)


def students(config: StudyConfiguration) -> list[Trained]:
    """Every student for each of its mixtures and seeds.

    A name has the mixture unless that is the study's first one, and the seed if there are several.
    """
    first = next(iter(config.mixtures))
    trained = []
    for student, entry in config.students.items():
        seeds = entry.seeds or [config.seed]
        for mixture in entry.mixtures or [first]:
            original = mixture in config.mixtures and config.mixtures[mixture].targets == "original"
            for seed in seeds:
                parts = [student, "" if mixture == first else f"-{mixture}", f"-seed{seed}" if len(seeds) > 1 else ""]
                role: Role = "control" if original and not entry.words else "student"
                learns = (entry.shape.document, entry.training, entry.start_from, entry.start_layers, entry.words)
                trained.append(Trained("".join(parts), role, student, mixture, seed, *learns))
    return trained


def assistants(config: StudyConfiguration) -> dict[str, Trained]:
    """The students whose translations others learn from: teacher assistants (Mirzadeh et al. 2020)."""
    named = {entry.teacher for entry in config.mixtures.values()} - {*config.teachers}
    return {system.name: system for system in students(config) if system.name in named}


def trained_before(config: StudyConfiguration, names: Iterable[str]) -> dict[str, Trained]:
    """The systems whose trainings must end before there are translations for these mixtures."""
    every = (*systems(config), backward(config))
    trained = {system.name: system for system in every if isinstance(system, Trained)}
    waiting, found = [teacher for name in names for teacher in learned_from(config, name)], dict[str, Trained]()
    while waiting:
        name = waiting.pop()
        if name in trained and name not in found:
            found[name] = system = trained[name]
            waiting += [*learned_from(config, system.mixture), *filter(None, [system.start_from])]
            waiting += [BACKWARD] if back_translated(config, system.mixture) else []
            waiting += taught_by(config, system.words) if system.words else []
    return found


def settings(system: Trained) -> Document:
    """All that decides what is learned, by the keys of the configuration: network, training, weights at its start."""
    shape = {key: value for key, value in system.shape.items() if value is not None}
    watching = ("averages", "threads", "device", *(() if system.training.patience else ("validation_steps",)))
    learned = {key: value for key, value in system.training.document.items() if key not in watching}
    layers = {"start_layers": system.start_layers.document} if system.start_layers else {}
    taught = system.words
    words = {"words": f"by {taught.teacher or 'all'}, k {taught.k}, weight {taught.weight:g}"} if taught else {}
    return shape | learned | {"start_from": system.start_from} | layers | words


def untrained(config: StudyConfiguration) -> list[StudySystem]:
    """Models of named shapes with random weights, for their speed only; an unknown name has no shape."""
    return [
        StudySystem(f"{name}-untrained", "untrained", name, None, config.seed, shape.registry().get(name))
        for name in config.speed.untrained
    ]


def splits_as_study(teacher: TeacherSection) -> bool:
    """Whether a teacher splits text with the study's vocabulary, which must be there before it translates."""
    return teacher.tokenization is None and teacher.http is None


def is_folder(start: str) -> bool:
    """Whether ``start_from`` names a folder with weights from elsewhere, not a system of the study."""
    return "/" in start


def absent_models(config: StudyConfiguration) -> list[str]:
    """A line for each file or folder that a model from elsewhere needs and that is not there."""
    absent = []
    for name, teacher in all_teachers(config).items():
        environment = teacher.converted and teacher.converted.environment
        commands = ENVIRONMENTS.get(teacher.converted.toolkit) if teacher.converted else None
        for path in (path for path in dict.fromkeys(teacher_paths(teacher)) if not Path(path).exists()):
            remedy = f"; make it: {commands.format(path)}" if commands and path == environment else ""
            absent.append(f"{name}: no {path}{remedy}")
    entries: dict[str, TeacherSection | StudentSection] = {**all_teachers(config), **config.students}
    starts = [(name, entry.start_from) for name, entry in entries.items() if entry.start_from]
    starts = [(name, start) for name, start in starts if is_folder(start)]
    absent += [f"{name}: no {start}" for name, start in starts if not Path(start).is_dir()]
    given = (config.scores and config.scores.translation.models) or []
    return absent + [f"scores.translation.models: no {path}" for path in given if not Path(path).is_dir()]


def teacher_paths(teacher: TeacherSection) -> Iterator[str]:
    """Files and folders that the entry of a teacher names, without models to download."""
    values: list[Any] = [teacher.checkpoint, teacher.ctranslate2]
    if converted := teacher.converted:
        values += [converted.environment, *(value for key, value in converted.options.items() if key in PATH_OPTIONS)]
    if tokenization := teacher.tokenization:
        values += [tokenization.sentencepiece, tokenization.bpe]
    for value in filter(None, values):
        yield from value if isinstance(value, list) else [value]
