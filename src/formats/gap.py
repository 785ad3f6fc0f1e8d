"""``gap.json`` of measure.teacher_student: how students compare with their teacher, and with one another."""

from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from common.document import Section
from formats.learning import Learned

Settings = dict[str, Any]  # of the network and the training, by the names of the configuration


class GapQuality(TypedDict):
    """sacreBLEU's scores of translations, with its signatures."""

    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str


class Comet(TypedDict):
    """COMET of translations, where it was measured."""

    comet: NotRequired[float]
    comet_signature: NotRequired[str]


class ComparedSystem(TypedDict):
    """A system that is compared, as the study names it.

    search: in words, how its translations came about where no beam found them.
    """

    system: str
    role: str
    student: str
    mixture: str | None
    seed: int | None
    search: NotRequired[str]
    settings: NotRequired[Settings]  # of students; files of earlier versions have none
    learned: NotRequired[Learned | None]


class Task(Section):
    """What measure.teacher_student compares, beside the outputs that it reads.

    teacher: the system that the others are compared with. teacher_beam: its beam for the training data, which names the
    files of foreign teachers whose translations no beam found, too.
    target_language: sacreBLEU chooses its tokenizer by it. config_hash: of the study.
    """

    systems: list[ComparedSystem]
    teacher: str
    teacher_beam: int
    beam_sizes: list[int]
    target_language: str
    config_hash: str


class LengthGroup(TypedDict):
    """A part of a test set, by the length of the source. words: of the shortest and of the longest sentence."""

    words: list[int]
    sentences: int
    bleu: float


class OutputScores(GapQuality, Comet):
    """The scores of one output. agreement: with the teacher's output; exact: share of equal sentences."""

    bleu_lowercased: float
    bleu_lowercased_signature: str
    bleu_delta_teacher: float
    bleu_p_teacher: float
    agreement_bleu: float
    agreement_exact: float
    by_length: list[LengthGroup]


class Scored(ComparedSystem, OutputScores):
    """A system with its scores."""


class Group(TypedDict):
    """Mean and spread over the seeds of a student and mixture. sentences: that the training saw."""

    student: str
    mixture: str | None
    seeds: int
    sentences: int | None
    bleu: float
    bleu_min: float
    bleu_max: float


class Differences(TypedDict):
    """Of two trainings in BLEU, seed by seed: their mean, each, and its p-value."""

    seeds: list[int | None]
    bleu_delta: float
    bleu_deltas: list[float]
    bleu_p: list[float]


class TwinTrainings(TypedDict):
    """Whether two trainings read the same sentences, and how they differ; None where the data is unknown."""

    twins: bool | None
    difference: str | None


class Trainings(TypedDict):
    """A student that learned from a mixture, and what it is compared with."""

    student: str | None
    mixture: str | None
    than: str | None


class Comparison(Trainings, TwinTrainings, Differences):
    """A student against itself after another mixture, ``than``."""


class Change(Trainings, Differences):
    """A student against another one, ``than``. difference: the one setting apart; instead: what the other has."""

    difference: str
    instead: str


class Beam(TypedDict):
    """What a beam size gives. changes: missing in files before 0.9."""

    systems: list[Scored]
    groups: list[Group]
    comparisons: list[Comparison]
    changes: NotRequired[list[Change]]


class DifferentSentence(TypedDict):
    """A sentence where student and teacher differ. chrf: of the student's output against the teacher's."""

    line: int
    chrf: float
    source: str
    reference: str
    teacher: str
    student: str


class Different(TypedDict):
    """The sentences where a system differs most from the teacher."""

    system: str
    sentences: list[DifferentSentence]


BeamSize = Annotated[str, Meta(pattern=r"^\d+$")]  # a key of JSON, which has no numbers there


class TestSetGap(TypedDict):
    """beams: by beam size."""

    sentences: int
    sha256: str
    beams: dict[BeamSize, Beam]
    most_different: Different


class Gap(TypedDict):
    """teacher_beam: with which the teacher translated the training data."""

    config_hash: str
    teacher: str
    teacher_beam: int
    systems: list[ComparedSystem]
    test_sets: dict[str, TestSetGap]
