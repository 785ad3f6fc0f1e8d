"""The types of a configuration, a class for each section: what a key means, which values it takes, what its default is.

The JSON schema and the page of keys are made of them (study.keys). An effective configuration (study.config.read) has
every key.

- ``scores``: scores that a study computes of its corpora
- ``systems``: vocabulary, teachers, distillation, mixtures, students
- ``measurements``: vocabulary maps, decoding, metrics, speed, search, robustness, prices
"""

from typing import Annotated

from msgspec import convert, field

from common.document import NOT_EMPTY, Count, Document, Name, Section, Seed
from corpora.settings import Cleaning, Corpus, Language
from study.configuration.measurements import (
    AlignmentSection,
    DecodingSection,
    MetricsSection,
    PricesSection,
    RobustnessSection,
    SearchSection,
    SpeedSection,
    VocabularyMapSection,
)
from study.configuration.scores import OwnScoresSection
from study.configuration.systems import (
    BackTranslationSection,
    DistillationSection,
    MixtureSection,
    StudentSection,
    TeacherSection,
    VocabularySection,
)
from train.settings import TrainingSection


class StudyConfiguration(Section, kw_only=True):
    """A study."""

    study: Name
    """Name of the study; its results go to results/<study>."""
    source: Language
    """Source language, an ISO 639-1 code that langid.py knows."""
    target: Language
    """Target language, another of these codes."""
    seed: Seed = 1
    """Seed of everything that is drawn at random."""
    mirror: str | None = None
    """Folder in which corpora are looked for before they are downloaded. The environment variable NMT_FRONTIER_MIRROR
    goes before it."""
    corpora: dict[Name, Corpus]
    """The texts, by name. Needs at least one corpus of the roles train, dev and test; the first test set is the one
    that is timed."""
    cleaning: Cleaning = field(default_factory=Cleaning)
    """Rules for all training and monolingual text; a corpus can have its own values under corpora.<name>.cleaning."""
    scores: OwnScoresSection | None = None
    """How the study computes scores of its corpora; none if null."""
    cleaning_shards: Count = 2
    """Parts of a corpus that are cleaned side by side, as many as there are cores; a part takes three seconds to start.
    Another number cleans all texts again, and so trains everything again."""
    keep_rejected: bool = False
    """Write every dropped line, with the reason, to corpora/clean/<corpus>.rejected.tsv.zst. It takes effect only for
    corpora that are not cleaned yet."""
    vocabulary: VocabularySection = field(default_factory=VocabularySection)
    teachers: dict[Name, TeacherSection] = field(default_factory=dict)
    """The models the students learn from, by name. Several are an ensemble, which rescores whole translations or
    translates token by token (ensemble, in mixtures). A teacher is trained here (shape and training) or comes from
    exactly one of checkpoint, ctranslate2, converted and http. None is needed where all corpora are distilled
    already."""
    distillation: DistillationSection = field(default_factory=DistillationSection)
    back_translation: BackTranslationSection | None = None
    mixtures: Annotated[dict[Name, MixtureSection], NOT_EMPTY] = field(
        default_factory=lambda: {"distilled": MixtureSection()}
    )
    """What students can learn from, by name."""
    students: Annotated[dict[Name, StudentSection], NOT_EMPTY]
    """The small models, by name. A student is trained once for each of its mixtures and seeds."""
    student_training: TrainingSection
    """How all students are trained."""
    alignment: AlignmentSection = field(default_factory=AlignmentSection)
    vocabulary_map: VocabularyMapSection = field(default_factory=VocabularyMapSection)
    decoding: DecodingSection = field(default_factory=DecodingSection)
    metrics: MetricsSection | None = None
    """A metric beside BLEU and chrF, which are lexical: they count the words and letters that a translation shares with
    its reference. Without this key nothing but these two is computed (docs/results.md#metrics)."""
    speed: SpeedSection = field(default_factory=SpeedSection)
    search: SearchSection = field(default_factory=SearchSection)
    robustness: RobustnessSection | None = None
    """How the systems translate what people write: perturbed versions of the first test set, and a suite of short
    inputs (docs/robustness.md). An empty mapping takes all defaults; without this key nothing of it is measured."""
    prices: PricesSection = field(default_factory=PricesSection)


def typed(document: Document) -> StudyConfiguration:
    """A configuration with its types and its defaults. Raises msgspec.ValidationError for what the schema refuses."""
    return convert(document, StudyConfiguration)
