"""The mixtures that the systems of a study learn from."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from common.document import Number
from distill.settings import BackTranslationSettings
from nmt_frontier.text.items import SYMBOLS
from study.configuration import StudyConfiguration
from study.plan.systems import Paths, Systems, Teachers
from study.systems import CHANGED, ORIGINAL, back_translated, base, drawn, is_folder, learned_from, mixture, weights
from train.settings import CASE, PROTECTED, Augmentation, SourceAugmentation


def _highest(rates: Iterable[dict[str, Number]]) -> dict[str, Number]:
    """The highest share of each rule."""
    found: dict[str, Number] = {}
    for shares in rates:
        found |= {rule: max(share, found.get(rule, 0)) for rule, share in shares.items()}
    return found


@dataclass(frozen=True)
class Mixtures:
    """The text that each system learns from: its corpora, their files, whose translations they are."""

    config: StudyConfiguration
    paths: Paths
    systems: Systems
    teachers: Teachers

    @cached_property
    def names(self) -> list[str]:
        """The mixtures of the configuration, and that of the teachers."""
        return list(dict.fromkeys([*self.config.mixtures, ORIGINAL]))

    @property
    def learned(self) -> list[str]:
        """The mixtures that systems learn from."""
        learned = {system.mixture for system in self.systems.trained.values()}
        return [name for name in self.names if name in learned]

    @property
    def aligned(self) -> str:
        """The mixture that the map is made of: the first one of translations that systems learn from, or ORIGINAL."""
        return next(filter(self.teachers.translations, self.learned), ORIGINAL)

    @property
    def aligned_corpora(self) -> dict[str, str]:
        """What the map is made of, each with its mixture: the corpora of ``aligned``, and copies in another case.

        Of the changed copies that other mixtures draw from only these may bring pieces that no other pair has.
        """
        found = dict.fromkeys(self.drawn(self.aligned), self.aligned)
        for name in self.learned:
            for corpus in self.drawn(name):
                if CHANGED in corpus and not CASE.isdisjoint(self.source_augmentation(corpus).source):
                    found.setdefault(corpus, name)
        return found

    @property
    def aligned_augmentation(self) -> Augmentation | None:
        """What changes pairs that are aligned beside the unchanged ones: all rules of mixtures that systems learn from.

        A rule has its highest share, so that a map knows changed pairs of all systems, and no pair changes twice.
        """
        if not (learned := [found for name in self.learned if (found := self.augmentation(name))]):
            return None
        both_sides, meant = (_highest(each.both_sides for each in learned), _highest(each.meant for each in learned))
        return Augmentation(both_sides, meant, learned[0].languages)

    def weights(self, name: str) -> dict[str, Number]:
        """The corpora of a mixture with their weights."""
        return weights(self.config, name)

    def drawn(self, name: str) -> dict[str, Number]:
        """What the epochs of a mixture draw from, corpora and changed copies, with their weights."""
        return drawn(self.config, name)

    @property
    def changed(self) -> dict[str, str]:
        """The corpus that each changed copy is of."""
        return {name: base(name) for mixture in self.config.mixtures for name in self.drawn(mixture) if CHANGED in name}

    def text(self, corpus: str) -> str:
        """What teachers translate of a corpus, or of a changed copy."""
        return self.paths.changed(corpus) if CHANGED in corpus else self.paths.clean(corpus)

    def source_augmentation(self, copy: str) -> SourceAugmentation:
        """What train.source_augmentation changes in a copy."""
        entry = mixture(self.config, copy.split(CHANGED)[1]).augmentation
        return SourceAugmentation(entry.source if entry else {}, self.config.source)

    def corpus(self, name: str, corpus: str) -> str:
        """The file of a corpus that a mixture draws from."""
        if not self.teachers.translations(name):
            made = corpus in back_translated(self.config, name)
            return self.paths.back_translated(corpus) if made else self.paths.clean(corpus)
        if self.config.mixtures[name].drop_worst:
            return f"{self.paths.folder}/training/{name}/{corpus}.tsv.zst"
        return self.distilled(name, corpus)

    def augmentation(self, name: str) -> Augmentation | None:
        """What train.sample changes in the epochs of a mixture."""
        entry, languages = mixture(self.config, name).augmentation, [self.config.source, self.config.target]
        pairs = entry and (entry.both_sides or entry.meant)
        return Augmentation(entry.both_sides, entry.meant, languages) if entry and pairs else None

    def aligner(self, name: str) -> list[str]:
        """What the words of a mixture's pairs are aligned with, if copies stand inside: probabilities and pieces."""
        entry = mixture(self.config, name).augmentation
        return [self.paths.probabilities, self.paths.sentencepiece] if entry and entry.places == "aligned" else []

    @property
    def protecting(self) -> list[str]:
        """The mixtures that teach to copy the symbols that stand for protected text."""
        entries = ((name, entry.augmentation) for name, entry in self.config.mixtures.items())
        return [name for name, augmentation in entries if augmentation and PROTECTED in augmentation.both_sides]

    @property
    def symbols(self) -> list[str]:
        """Pieces of the vocabulary that are never split."""
        back = self.config.back_translation
        of_rules = (*(SYMBOLS if self.protecting else ()), *(back.symbols if back else ()))
        return list(dict.fromkeys([*self.config.vocabulary.symbols, *of_rules]))

    @property
    def back_translation(self) -> BackTranslationSettings:
        """What distill.back_translation makes of the translations by the backward teacher."""
        back = self.config.back_translation
        noise, tag = (back.noise, back.tag) if back else (None, None)
        return BackTranslationSettings(self.config.source, self.config.seed, noise, tag)

    def files(self, name: str) -> list[str]:
        """The files that a mixture draws from, in the order of ``drawn``."""
        return [self.corpus(name, corpus) for corpus in self.drawn(name)]

    def distilled(self, name: str, corpus: str) -> str:
        """The translations of a mixture, with the scores that it drops the worst pairs by."""
        translations = self.teachers.translations(name)
        assert translations, f"{name} has original targets"
        return self.paths.distilled(*translations, corpus)

    def epochs_of(self, system: str) -> dict[str, str | range]:
        """The wildcards ``mixture`` and ``epoch`` of all epochs that a system learns from."""
        epochs = self.config.distillation.epochs
        return {"mixture": self.systems.learners[system].mixture, "epoch": range(1, epochs + 1)}

    def links(self, system: str) -> list[str]:
        """The alignments of all epochs that a system learns from, if its alignment is guided."""
        if not (trained := self.systems.learners[system]).training.alignment:
            return []
        return [self.paths.epoch(trained.mixture, number, "links") for number in self.epochs_of(system)["epoch"]]

    def words(self, system: str) -> list[str]:
        """A teacher's probabilities for all epochs that a system learns from, if it learns from these."""
        trained = self.systems.trained[system]
        if not (words := trained.words):
            return []
        teacher, epochs = self.teachers.teaching(words.teacher), self.epochs_of(system)["epoch"]
        return [self.paths.words(teacher, words.k, trained.mixture, number, "txt") for number in epochs]

    def teachers_of(self, system: str) -> list[str]:
        """The teachers whose translations a system learned from."""
        return learned_from(self.config, self.systems.trained[system].mixture)

    def parent(self, system: str) -> str | None:
        """The checkpoint that a training begins with; None for a missing folder, so that a dry run goes on without."""
        start = self.systems.learners[system].start_from
        if not start or not is_folder(start):
            return self.paths.averaged(start) if start else None
        return start if Path(start).is_dir() else None
