"""The scores that a study computes of its corpora, and what they are learned from."""

from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from common.document import Document, short
from corpora.settings import OWN_SCORES
from decode.engines.ctranslate2 import CTranslate2
from formats.shape import Values, present
from scores.settings import NO_SCORE
from study.configuration import StudyConfiguration
from study.configuration.scores import OwnScoresSection
from study.plan.systems import Corpora, Paths
from study.resources import resources_of, size
from train.settings import TrainingSettings

DEV_PAIRS = 1000
MODELS = {"translation": ("forward", "backward"), "domain": ("near", "far")}  # that scores are made with


class Scorer(NamedTuple):
    """A model that is trained to score. kind: of scores.text. language: that it writes."""

    name: str
    kind: str
    corpora: list[str]
    language: str


class ScoresPlan:
    """used: the scores that some corpus has. section: how they are computed. scorers: the models that are trained."""

    def __init__(self, config: StudyConfiguration, paths: Paths, corpora: Corpora):
        self.config, self.paths, self.corpora = config, paths, corpora
        self.section = config.scores or OwnScoresSection()
        self.used = {name for corpus in corpora.scored for name in self.own(corpus)}
        self.scorers = {scorer.name: scorer for scorer in self._scorers()}

    def own(self, corpus: str) -> list[str]:
        """The scores of a corpus that its text does not carry."""
        return [name for name in self.config.corpora[corpus].score or () if name in OWN_SCORES]

    def _scorers(self) -> list[Scorer]:
        source, target = self.corpora.pair
        found: list[Scorer] = []
        if "translation" in self.used and self.section.translation.models is None:
            sides = {"forward": target, "backward": source}
            found += [Scorer(name, name, self.section.trusted, language) for name, language in sides.items()]
        if "domain" in self.used and (domain := self.section.domain):
            language = {"source": source, "target": target}[domain.side]
            scored = [corpus for corpus in self.corpora.scored if "domain" in self.own(corpus)]
            found += [Scorer("near", domain.side, domain.near, language), Scorer("far", domain.side, scored, language)]
        return found

    @property
    def uncounted(self) -> dict[str, str]:
        """The used scores whose time nobody can know before, with what computes them."""
        embedded = self.section.embeddings and (self.section.embeddings.address or "a command")
        found = {"embeddings": embedded, "translation": self.section.translation.models and "given models"}
        return {name: what for name, what in found.items() if name in self.used and what}

    def models(self, score: str) -> list[str]:
        """The folders of the two models of a score."""
        if score == "translation" and self.section.translation.models:
            return self.section.translation.models
        return [self.file(name, "native-int8") for name in MODELS[score]]

    def needed_models(self, score: str) -> list[str]:
        """Those that a job waits for; a dry run goes on without folders that are not there."""
        given = score == "translation" and self.section.translation.models
        return [folder for folder in self.models(score) if not given or Path(folder).is_dir()]

    def sentencepiece(self, score: str) -> list[str]:
        """The model of their pieces, unless they have their own."""
        given = score == "translation" and self.section.translation.models
        return [] if given else [f"{self.paths.folder}/scores/sentencepiece.model"]

    def file(self, scorer: str, name: str) -> str:
        return f"{self.paths.folder}/scores/{scorer}/{name}"

    @property
    def threads(self) -> int:
        """Of the training of a model."""
        return self.section.model.training.threads if self.section.model else 1

    @property
    def shape(self) -> Values:
        """Of such a model."""
        assert self.section.model
        return present(self.section.model.shape.document)

    def watched(self) -> Document:
        """What of the settings of embeddings decides on the scores."""
        section: Document = short(self.section.embeddings)
        return {key: value for key, value in section.items() if key not in NO_SCORE}

    def weights(self, scorer: str) -> str:
        """What the native engine's weights are made of: CTranslate2's, or the checkpoint."""
        return self.file(scorer, "float32" if CTranslate2.runs(self.shape) else "averaged")

    def training(self, scorer: str) -> TrainingSettings:
        assert self.section.model
        training = replace(self.section.model.training, threads=2)  # more make no other training
        language = self.scorers[scorer].language
        return TrainingSettings(scorer, "teacher", self.shape, training, self.config.seed, language)

    def training_resources(self, scorer: str) -> dict[str, int]:
        assert self.section.model
        sizes = [size(self.config.corpora[corpus]) for corpus in self.scorers[scorer].corpora]
        pairs = None if None in sizes else min(self.section.pairs, sum(filter(None, sizes)))
        return resources_of(self.section.model.training, self.shape, self.section.pieces, pairs)

    def files(self, corpus: str, name: str) -> list[str]:
        """The numbers of a score, shard by shard."""
        number = self.section.shards
        return [self.paths.score(corpus, name, f"{part}-of-{number}") for part in range(1, number + 1)]

    def all_files(self, corpus: str) -> list[str]:
        return [file for name in self.own(corpus) for file in self.files(corpus, name)]

    def options(self, corpus: str) -> list[str]:
        """Those of corpora.bounds that name these files."""
        return [word for name in self.own(corpus) for word in ("--own", name, *self.files(corpus, name))]

    def learned_from(self, corpus: str) -> str:
        """The text of a corpus that models of scores learn from: before its bounds if these need such models."""
        scored = corpus in self.corpora.scored and self.own(corpus)
        return self.paths.unfiltered(corpus) if scored else self.paths.clean(corpus)
