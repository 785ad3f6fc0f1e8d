"""The systems of a study: paths, corpora, teachers."""

from collections.abc import Callable
from itertools import chain

from msgspec.structs import replace

from common.document import Document, short
from corpora.settings import OWN_SCORES, TARGET_ONLY, Score
from corpora.sources.source import languages, sides
from decode.engines import ENGINES
from distill.settings import NO_ANSWER, AskingSettings, TranslationSettings
from formats.shape import Values
from nmt_frontier.search.native import Native
from study import precision
from study.candidates import MADE, choice, default, lists, number, parts, scorer
from study.configuration import StudyConfiguration
from study.systems import (
    BACKWARD,
    ENSEMBLE,
    ENSEMBLES,
    TOKEN_ENSEMBLE,
    UNION,
    StudySystem,
    Trained,
    all_teachers,
    asked,
    assistants,
    backward,
    splits_as_study,
    systems,
    teacher_entry,
    translated_by,
    untrained,
)

RATIO = 3  # of the lengths of a text and an answer, in characters, where cleaning has none
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
    unfiltered = _path("corpora/unfiltered/{}.tsv.zst")  # of a corpus with scores, after all rules, before its bounds
    score = _path("corpora/scores/{}/{}/{}.tsv.zst")  # of a corpus, a score and a shard: a number a record
    clean = _path("corpora/clean/{}.tsv.zst")  # of a corpus, after cleaning
    back_translated = _path("back-translated/{}.tsv.zst")  # of a corpus of the target side: with its translations
    changed = _path("corpora/changed/{}.tsv.zst")  # of a changed copy of a corpus: its sources
    changed_counts = _path("corpora/changed/{}.json")  # of a changed copy: lines by rule
    clean_counts = _path("corpora/clean/{}.json")  # of a corpus: kept and dropped lines by rule
    coverage = _path("alignment/coverage/{}.json")  # of a corpus, by each map of a grid
    distilled = _path("distilled/{}/{}/{}.tsv.zst")  # of a teacher, targets and a corpus: its translations
    epoch = _path(
        "training/{}.{}.{}"
    )  # of a mixture, number, side: tsv.zst the pairs; source, target the pieces; links
    words = _path("words/{}/{}/{}.{}.{}")  # of a teacher, how many pieces, a mixture, number: txt, json
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

    target_only: those that a backward teacher translates. held_out: those that no system may learn from. training:
    those that are cleaned, and that systems learn from; some are scored, with bounds on their scores, the others
    unscored. dev: the set whose BLEU is watched during training. timed: the test set that is timed, and that tables and
    pictures show. normalization: SentencePiece's rule for the characters of all texts. pair: the languages of the
    study.
    """

    def __init__(self, config: StudyConfiguration, paths: Paths):
        self.config, self.paths, self.pair = config, paths, [config.source, config.target]
        roles = ("train", "monolingual", TARGET_ONLY, "dev", "test")
        self.train, self.monolingual, self.target_only, dev, self.test = map(self._of_role, roles)
        self.training, self.held_out = self.train + self.monolingual + self.target_only, dev + self.test
        self.scored = [name for name in self.training if config.corpora[name].score]
        self.unscored = [name for name in self.training if name not in self.scored]
        self.dev, self.timed = dev[0], self.test[0]
        default = "identity" if FULL_WIDTH.intersection(self.pair) else "nmt_nfkc"
        self.normalization = config.vocabulary.normalization or default

    def _of_role(self, role: str) -> list[str]:
        return [name for name, entry in self.config.corpora.items() if entry.role == role]

    def languages(self, corpus: str) -> list[str]:
        """The language of each side of a corpus."""
        return languages(self.config.corpora[corpus], self.pair)

    def sides(self, corpus: str) -> tuple[str, ...]:
        """What the columns of a corpus are."""
        return sides(self.config.corpora[corpus])

    def reading(self, corpus: str) -> Document:
        """The keys of a corpus's entry that decide what is read."""
        entry = self.config.corpora[corpus]
        no_text = ("cleaning", "weight", "sample", "score", "licence", "lines", "sha256", "mirror")
        read = {key: value for key, value in short(entry).items() if key not in no_text}
        places = {name: score.place() for name, score in entry.carried.items()}
        return read | ({"score": places} if places else {})

    def bounds(self, corpus: str) -> dict[str, Score]:
        """The scores of a corpus, those that its text carries first."""
        entry = self.config.corpora[corpus]
        own = {name: score for name, score in (entry.score or {}).items() if name in OWN_SCORES}
        return entry.carried | own

    def uncleaned(self, corpus: str) -> str:
        """The corpus, or the random subset of it, that is cleaned: a path without ``.tsv.zst`` or ``.json``."""
        folder = "subset" if self.config.corpora[corpus].sample else "raw"
        return f"{self.paths.folder}/corpora/{folder}/{corpus}"


class Systems(dict[str, StudySystem]):
    """All models by name: teachers, then students, then untrained ones, then the backward teacher.

    teachers: trained here or not, without the ensemble. students: of all mixtures and seeds, controls included.
    untrained: those with random weights, which are timed only. learners: all that are trained here. trained: the
    teachers and students among them. measured: those that are timed and scored, the first of several seeds.
    """

    def __init__(self, config: StudyConfiguration):
        found = [*systems(config), *untrained(config), *filter(None, [backward(config)])]
        super().__init__((system.name, system) for system in found)
        self.teachers, self.untrained = self._of_roles("teacher"), self._of_roles("untrained")
        self.students = self._of_roles("student", "control")
        self.learners = {name: system for name, system in self.items() if isinstance(system, Trained)}
        self.trained = {name: system for name, system in self.learners.items() if system.role != BACKWARD}
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
    ensemble. assistants: the students that teach others. imitable: the teachers whose translations students may learn
    from, each one, and all together; and assistants. translating: those of them that search here: each one, and all
    together if they translate token by token; and the backward one. asked: those that answer over HTTP; they score
    nothing, so that a study with one has no ensemble. computed: the others, the assistants and the backward one, which
    an engine decodes here. imitated: the one that students are compared with, that of the first mixture that has a
    teacher's. foreign: ensembles and teachers from elsewhere, which have translations but no model folder. reference:
    the timed teacher that scores are compared with, the imitated one, else the first. imported: the entries of teachers
    from elsewhere, with the keys alone whose change requires a new import. imported_format: the name of their folders.
    """

    def __init__(self, config: StudyConfiguration, paths: Paths, systems: Systems):
        self.config, self.paths, self.systems = config, paths, systems
        names, self.assistants = systems.teachers, [*assistants(config)]
        back = [BACKWARD] * bool(config.back_translation)
        named = (translated_by(config, mixture) for mixture in config.mixtures)
        translators = [name for name in named if name not in (None, UNION)]
        ensembles = [name for name in dict.fromkeys(translators) if name in ENSEMBLES.values()]
        self.asked = asked(config)
        self.computed = [name for name in [*names, *self.assistants, *back] if name not in self.asked]
        ensembles = ensembles or [ENSEMBLE] * (len(names) > 1 and not self.asked)
        self.ensemble = next(iter([*ensembles, *names]), None)
        self.imitable = [*names, *ensembles, *self.assistants]
        self.lists = {name: default(config, name) for name in [*self.imitable, *back]}
        self.lists |= {found.name: found for mixture in config.mixtures if (found := lists(config, mixture))}
        self.lists |= {part.name: part for each in [*self.lists.values()] for part in parts(config, each)}
        self.rescored = [name for name, each in self.lists.items() if each.teacher == ENSEMBLE]
        together = [name for name, each in self.lists.items() if each.teacher in (ENSEMBLE, UNION)]
        self.translating = [name for name in self.lists if name not in (*together, *self.asked)]
        self.scores = {scorer(each.scores): each.scores for each in config.mixtures.values() if each.scores}
        choices = (choice(config, mixture) for mixture in config.mixtures if translated_by(config, mixture))
        self.choices = {each.name: each for each in choices}
        of_teachers = (name for name in translators if name not in self.assistants)
        self.imitated = next(chain(of_teachers, filter(None, [self.ensemble]), self.assistants), None)
        self.foreign = [name for name in self.imitable if name not in systems.trained]
        self.reference = next((name for name in (self.imitated, *names) if name in systems.measured), None)
        self.engine = precision.engine(config)
        self.type = config.distillation.compute_type or precision.default_type(config)
        self.imported_format = ENGINES[self.engine].folder(self.type)
        self.imported = {
            name: entry.document for name, entry in all_teachers(config).items() if not entry.shape and not entry.http
        }
        for entry in self.imported.values():
            del entry["parameters"], entry["start_from"], entry["prefix"], entry["http"], entry["mixture"]

    def translations(self, name: str) -> tuple[str, str] | None:
        """The lists that a mixture chooses from, and how, by their names; None for original text."""
        found = lists(self.config, name)
        return (found.name, choice(self.config, name).name) if found else None

    def of(self, name: str) -> list[str]:
        """The teachers of these lists, or of this name for all together."""
        teacher = name.partition(MADE)[0]
        return self.systems.teachers if teacher in ENSEMBLES.values() else [teacher]

    def teaching(self, name: str | None) -> str:
        """The name of the teacher whose probabilities students learn; of all of them, which average theirs, if None."""
        return name or (TOKEN_ENSEMBLE if len(self.systems.teachers) > 1 else self.systems.teachers[0])

    def parts(self, name: str) -> list[str]:
        """The lists that one of ``lists`` is made of: those of each teacher for all together, else itself."""
        return [each.name for each in parts(self.config, self.lists[name])]

    def hypotheses(self, name: str) -> int:
        """The most hypotheses of a sentence in lists."""
        return number(self.config, self.lists[name])

    def chosen_from(self, name: str) -> list[str]:
        """The lists that are chosen from: of a union those of each teacher, else itself."""
        return [name] if name in self.rescored else self.parts(name)

    def settings(self, name: str) -> TranslationSettings:
        """What decides on the translations of one of ``lists``."""
        entries = [teacher_entry(self.config, name) for name in self.of(name)]
        tokenizations, prefixes = [each.tokenization for each in entries], [each.prefix for each in entries]
        made, section = self.lists[name].candidates, self.config.distillation
        pair, beam_size = [self.config.source, self.config.target], made.beam_size or section.beam_size
        asked = TranslationSettings(pair, tokenizations, made.n_best, section.device, beam_size, sampling=made.sampling)
        if name == BACKWARD:
            asked = replace(asked, languages=pair[::-1])
        return replace(asked, prefixes=prefixes) if any(prefixes) else asked

    def asking(self, teacher: str) -> AskingSettings:
        """What a teacher behind HTTP is asked, and how."""
        http, ratio = self.config.teachers[teacher].http, self.config.cleaning.max_length_ratio
        assert http, f"{teacher} does not answer over HTTP"
        return AskingSettings([self.config.source, self.config.target], self.config.seed, http, ratio or RATIO)

    def answering(self, teacher: str) -> Document:
        """The part of it that decides on the answers."""
        asking: Document = short(self.asking(teacher))
        return {**asking, "http": {key: value for key, value in asking["http"].items() if key not in NO_ANSWER}}

    def drawn(self, teacher: str) -> str | None:
        """How the translations of a foreign teacher came about, if no beam found them."""
        if teacher in self.asked:
            candidates = self.lists[teacher].candidates.n_best
            return f"the best of {candidates} answers" if candidates > 1 else "one answer"
        return f"the best of {self.config.distillation.n_best} samples" if self.config.distillation.sampling else None

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
        as_study = any(splits_as_study(teacher_entry(self.config, name)) for name in teachers)
        return [self.paths.sentencepiece] if as_study else []

    def vocabulary_for(self, teacher: str) -> list[str]:
        """The study's vocabulary for an OpenNMT-tf run with the study's pieces, which may lack one of its own."""
        entry = teacher_entry(self.config, teacher)
        return [self.paths.vocabulary] if entry.checkpoint and splits_as_study(entry) else []
