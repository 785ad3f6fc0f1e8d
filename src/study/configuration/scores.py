"""How a study computes scores of its corpora."""

from typing import Annotated, Literal

from msgspec import field

from common.document import UNIQUE, Count, Name, Section, limits, written
from scores.settings import EmbeddingsSection
from study.configuration.systems import ModelShapeSection
from train.settings import TrainingSection


class ScoringModelSection(Section, kw_only=True):
    """The small models that a study trains for its scores, all alike: two for translation, two for domain."""

    shape: Annotated[ModelShapeSection, written(ModelShapeSection | str)]
    """Their size."""
    training: TrainingSection
    """How they are trained."""


class TranslationScoreSection(Section, kw_only=True):
    """The score `translation`."""

    models: Annotated[list[str], limits(minItems=2, maxItems=2)] | None = None
    """Folders of two models of the native engine with their own tokenization, as studies export them and `nmt-frontier
    import` writes them: from source to target, and from target to source. If null, both are trained on the trusted
    corpora."""


class DomainScoreSection(Section, kw_only=True):
    """The score `domain`."""

    near: Annotated[list[Name], limits(minItems=1, uniqueItems=True)]
    """The corpora, of pairs or monolingual, whose like is looked for."""
    side: Literal["source", "target"] = "source"
    """The side that is compared; monolingual corpora have the source alone."""


class OwnScoresSection(Section, kw_only=True):
    """How the study computes the scores `alignment`, `translation`, `embeddings` and `domain` of its corpora
    (docs/corpora.md#scores-of-our-own). The numbers are kept: another bound scores nothing again."""

    trusted: Annotated[list[Name], UNIQUE] = field(default_factory=list)
    """The corpora, of pairs, that the pieces, the aligner and the models of translation are learned from: as they are
    after their bounds, or, if they have scores of the study's own, before these."""
    pairs: Count = 1_000_000
    """Pairs of them, drawn at random, that the aligner and each model learn from."""
    pieces: Annotated[int, limits(minimum=100, maximum=65535)] = 8000
    """Size of the vocabulary of all that scores."""
    shards: Count = 4
    """Parts of a corpus that are scored side by side. Another number scores all again."""
    model: ScoringModelSection | None = None
    translation: TranslationScoreSection = field(default_factory=TranslationScoreSection)
    embeddings: EmbeddingsSection | None = None
    domain: DomainScoreSection | None = None
