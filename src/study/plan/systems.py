"""The systems of a study: paths, corpora, teachers, and the mixtures that systems learn from."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from common.document import Document, Number, short
from corpora.sources.source import languages
from decode.engines import ENGINES
from distill.settings import TranslationSettings
from formats.shape import Values
from nmt_frontier.search.native import Native
from nmt_frontier.text.items import SYMBOLS
from study import precision
from study.configuration import StudyConfiguration
from study.systems import (
    CHANGED,
    ENSEMBLE,
    ENSEMBLES,
    ORIGINAL,
    StudySystem,
    Trained,
    base,
    drawn,
    is_folder,
    learned_from,
    mixture,
    splits_as_study,
    systems,
    translated_by,
    untrained,
    weights,
)
from train.settings import CASE, PROTECTED, Augmentation, SourceAugmentation

FULL_WIDTH = {"ja", "zh"}  # languages whose punctuation nmt_nfkc would write in half width


def _path(template: str) -> Callable[..., str]:
    """A method that fills the names of a path below the folder of the study in."""
    return lambda self, *names: f"{self.folder}/{template.format(*names)}"


class Paths:
    """Paths relative to the folder that Snakemake runs in; names may be wildcards such as ``{system}``."""

    def __init__(self, folder: str):
        self.folder = folder
        self.report = f"{folder}/report"
        self.sentencepiece = f"{folder}/vocabulary/sentencepiece.model"
        self.vocabulary = f"{folder}/vocabulary/vocabulary.txt"
        self.probabilities = f"{folder}/alignment/probabilities"  # what the aligner learned

    raw = _path("corpora/raw/{}.tsv.zst")  # of a corpus, as it was read
    clean = _path("corpora/clean/{}.tsv.zst")  # of a corpus, after cleaning
    changed = _path("corpora/changed/{}.tsv.zst")  # of a changed copy of a corpus: its sources
    changed_counts = _path("corpora/changed/{}.json")  # of a changed copy: lines by rule
    clean_counts = _path("corpora/clean/{}.json")  # of a corpus: kept and dropped lines by rule
    coverage = _path("alignment/coverage/{}.json")  # of a corpus, by each map of a grid
    distilled = _path("distilled/{}/{}/{}.tsv.zst")  # of a teacher, targets and a corpus: its translations
    epoch = _path(
        "training/{}.{}.{}"
    )  # of a mixture, number, side: tsv.zst the pairs; source, target the pieces; links
    averaged = _path("systems/{}/averaged")  # of a system: the trained model, an OpenNMT-tf checkpoint
    learning = _path("systems/{}/learning.json")  # of a system: the dev BLEU, length and speed of its training
    converted = _path("systems/{}/converted/{}")  # of a system and a type: the bare CTranslate2 model
    converted_native = _path("systems/{}/native/native-{}")  # of a system and a type: the native engine's bare model
    imported_model = _path("systems/{}/imported/{}")  # of a teacher from elsewhere; a type, or native-TYPE
    model = _path("models/{}/{}")  # of a system and a format: a model folder, which decodes without any other file

    def named_corpora(self, corpora: list[str]) -> list[str]:
        """Clean corpora with their names, as programs take test sets: NAME=PATH."""
        return [f"{corpus}={self.clean(corpus)}" for corpus in corpora]


class Corpora:
    """The texts of a study, by the roles that they have.

    held_out: those that no system may learn from. training: those that are cleaned, and that systems learn from. dev:
    the set whose BLEU is watched during training. timed: the test set that is timed, and that tables and pictures show.
    normalization: SentencePiece's rule for the characters of all texts. pair: the languages of the study.
    """

    def __init__(self, config: StudyConfiguration, paths: Paths):
        self.config, self.paths, self.pair = config, paths, [config.source, config.target]
        roles = ("train", "monolingual", "dev", "test")
        self.train, self.monolingual, dev, self.test = map(self._of_role, roles)
        self.training, self.held_out = self.train + self.monolingual, dev + self.test
        self.dev, self.timed = dev[0], self.test[0]
        default = "identity" if FULL_WIDTH.intersection(self.pair) else "nmt_nfkc"
        self.normalization = config.vocabulary.normalization or default

    def _of_role(self, role: str) -> list[str]:
        return [name for name, entry in self.config.corpora.items() if entry.role == role]

    def languages(self, corpus: str) -> list[str]:
        """The language of each side of a corpus."""
        return languages(self.config.corpora[corpus], self.pair)

    def reading(self, corpus: str) -> Document:
        """The keys of a corpus's entry that decide what is read."""
        no_text = ("cleaning", "weight", "sample", "licence", "lines", "sha256", "mirror")
        return {key: value for key, value in short(self.config.corpora[corpus]).items() if key not in no_text}

    def uncleaned(self, corpus: str) -> str:
        """The corpus, or the random subset of it, that is cleaned: a path without ``.tsv.zst`` or ``.json``."""
        folder = "subset" if self.config.corpora[corpus].sample else "raw"
        return f"{self.paths.folder}/corpora/{folder}/{corpus}"


class Systems(dict[str, StudySystem]):
    """All models by name: teachers, then students, then untrained ones.

    teachers: trained here or not, without the ensemble. students: of all mixtures and seeds, controls included.
    untrained: those with random weights, which are timed only. trained: the teachers and students that are trained
    here. measured: those of them that are timed and scored, the first of several seeds.
    """

    def __init__(self, config: StudyConfiguration):
        super().__init__((system.name, system) for system in (*systems(config), *untrained(config)))
        self.teachers, self.untrained = self._of_roles("teacher"), self._of_roles("untrained")
        self.students = self._of_roles("student", "control")
        self.trained = {name: system for name, system in self.items() if isinstance(system, Trained)}
        first: dict[tuple[str, str, str], str] = {}
        for name, system in self.trained.items():
            first.setdefault((system.role, system.student, system.mixture), name)
        self.measured = list(first.values())

    def _of_roles(self, *roles: str) -> list[str]:
        return [name for name, system in self.items() if system.role in roles]

    def shape(self, name: str) -> Values:
        """The shape of a system; it is empty for a teacher from elsewhere."""
        return self[name].shape or {}


class Teachers:
    """The teachers that students imitate, those from elsewhere, and the engine and the type that all run in.

    ensemble: the name of all teachers together, as the first mixture combines them; a single teacher is its own
    ensemble. imitable: the teachers whose translations students may learn from, each one, and all together.
    translating: those of them that search: each one, and all together if they translate token by token. imitated: the
    one that students are compared with, that of the first mixture that has one. foreign: ensembles and teachers from
    elsewhere, which have translations but no model folder. reference: the timed teacher that scores are compared with,
    the imitated one, else the first. imported: the entries of teachers from elsewhere, with the keys alone whose change
    requires a new import. imported_format: the name of their folders.
    """

    def __init__(self, config: StudyConfiguration, paths: Paths, systems: Systems):
        self.config, self.paths, self.systems = config, paths, systems
        names = systems.teachers
        translators = [name for name in (translated_by(config, mixture) for mixture in config.mixtures) if name]
        ensembles = [name for name in dict.fromkeys(translators) if name in ENSEMBLES.values()]
        ensembles = ensembles or [ENSEMBLE] * (len(names) > 1)
        self.ensemble = next(iter([*ensembles, *names]), None)
        self.imitable = [*names, *ensembles]
        self.translating = [name for name in self.imitable if name != ENSEMBLE]
        self.imitated = next(iter(translators), self.ensemble)
        self.foreign = [name for name in self.imitable if name not in systems.trained]
        self.reference = next((name for name in (self.imitated, *names) if name in systems.measured), None)
        self.engine = precision.engine(config)
        self.type = config.distillation.compute_type or precision.default_type(config)
        self.imported_format = ENGINES[self.engine].folder(self.type)
        self.imported = {name: entry.document for name, entry in config.teachers.items() if not entry.shape}
        for entry in self.imported.values():
            del entry["parameters"], entry["start_from"], entry["prefix"]

    def translations(self, name: str) -> tuple[str, str] | None:
        """The teacher whose translations a mixture has, and its targets; None for original text."""
        teacher = translated_by(self.config, name)
        return (teacher, mixture(self.config, name).targets) if teacher else None

    def of(self, name: str) -> list[str]:
        """The teachers that one of ``imitable`` consists of."""
        return self.systems.teachers if name in ENSEMBLES.values() else [name]

    def settings(self, *teachers: str) -> TranslationSettings:
        """What decides on the translations of these teachers."""
        section, pair = self.config.distillation, [self.config.source, self.config.target]
        tokenizations = [self.config.teachers[name].tokenization for name in teachers]
        prefixes = [self.config.teachers[name].prefix for name in teachers]
        asked = TranslationSettings(pair, tokenizations, section.n_best, section.device, section.beam_size)
        return replace(asked, prefixes=prefixes) if any(prefixes) else asked

    def model(self, teacher: str) -> str:
        """The folder that a teacher translates with, of the engine that distils."""
        if teacher in self.imported:
            return self.paths.imported_model(teacher, self.imported_format)
        folder = self.paths.converted_native if self.engine == Native.name else self.paths.converted
        return folder(teacher, self.type)

    def stand_ins(self, *teachers: str) -> list[str]:
        """The folders that CTranslate2 translates with where the native engine is not installed, which distils.

        The native engine's weights are made of these; a teacher that CTranslate2 does not have has no such folder.
        """
        return [self.paths.converted(name, "float32") for name in teachers] if self.engine == Native.name else []

    def pieces_for(self, *teachers: str) -> list[str]:
        """The study's SentencePiece model if one of the teachers splits text with it."""
        as_study = any(splits_as_study(self.config.teachers[name]) for name in teachers)
        return [self.paths.sentencepiece] if as_study else []

    def vocabulary_for(self, teacher: str) -> list[str]:
        """The study's vocabulary for an OpenNMT-tf run with the study's pieces, which may lack one of its own."""
        entry = self.config.teachers[teacher]
        return [self.paths.vocabulary] if entry.checkpoint and splits_as_study(entry) else []


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
        learned = {system.mixture for system in self.systems.values()}
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
            return self.paths.clean(corpus)
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
        return list(dict.fromkeys([*self.config.vocabulary.symbols, *(SYMBOLS if self.protecting else ())]))

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
        return {"mixture": self.systems.trained[system].mixture, "epoch": range(1, epochs + 1)}

    def links(self, system: str) -> list[str]:
        """The alignments of all epochs that a system learns from, if its alignment is guided."""
        if not (trained := self.systems.trained[system]).training.alignment:
            return []
        return [self.paths.epoch(trained.mixture, number, "links") for number in self.epochs_of(system)["epoch"]]

    def teachers_of(self, system: str) -> list[str]:
        """The teachers whose translations a system learned from."""
        return learned_from(self.config, self.systems.trained[system].mixture)

    def parent(self, system: str) -> str | None:
        """The checkpoint that a training begins with; None for a missing folder, so that a dry run goes on without."""
        start = self.systems.trained[system].start_from
        if not start or not is_folder(start):
            return self.paths.averaged(start) if start else None
        return start if Path(start).is_dir() else None
