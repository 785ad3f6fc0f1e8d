"""The plan of a study: what follows from its configuration alone, without looking at the disk.

- ``systems``: where files are that several rules share; corpora, systems, teachers
- ``scores``: the scores that it computes of its corpora
- ``mixtures``: what systems learn from
- ``experiments``: the model folders that systems are exported to, and what experiments are made with
"""

from msgspec.structs import replace

from common.document import Document
from formats import gap
from formats.shape import present
from study.configuration import StudyConfiguration
from study.plan.experiments import MapPlan, Models, RobustnessPlan, SearchPlan, SpeedPlan
from study.plan.mixtures import Mixtures
from study.plan.scores import ScoresPlan
from study.plan.systems import Corpora, Paths, Systems, Teachers
from study.schema import config_hash, results
from study.systems import BACKWARD, settings
from train.settings import TrainingSettings


class StudyPlan:
    """The whole plan, and the facts about the study and its systems that results contain.

    ``config`` is the effective configuration (study.config.read). Corpora, mixtures, teachers and systems are given by
    their names; None stands for one that the study does not have.
    """

    def __init__(self, config: StudyConfiguration):
        self.config = config
        self.name: str = config.study
        self.hash = config_hash(config)
        self.paths = Paths(results(config.study).as_posix())
        self.folder, self.report = self.paths.folder, self.paths.report
        self.corpora = Corpora(config, self.paths)
        self.pair = self.corpora.pair
        self.scores = ScoresPlan(config, self.paths, self.corpora)
        self.systems = Systems(config)
        self.teachers = Teachers(config, self.paths, self.systems)
        self.mixtures = Mixtures(config, self.paths, self.systems, self.teachers)
        self.models = Models(config, self.paths, self.corpora, self.systems, self.teachers)
        self.maps = MapPlan(config, self.models)
        self.search = SearchPlan(config, self.models, self.maps)
        self.speed = SpeedPlan(config, self.models)
        self.robustness = RobustnessPlan(config, self.models, self.mixtures)

    @property
    def note(self) -> str:
        """The data in a sentence, with a warning if they are synthetic."""
        entries = self.config.corpora
        names = ", ".join(f"{name} ({entry.role}, {entry.licence})" for name, entry in entries.items())
        builtin = any(entry.builtin for entry in entries.values())
        warning = " Synthetic text of a small grammar: BLEU here says nothing about the translation of real text."
        return f"{'-'.join(self.pair)}: {names}.{warning if builtin else ''}"

    def about(self, system: str) -> gap.ComparedSystem:
        """The names that distinguish a system from the others."""
        of = self.systems[system]
        return {"system": system, "role": of.role, "student": of.student, "mixture": of.mixture, "seed": of.seed}

    @property
    def comparison(self) -> gap.Task:
        """What explains the gap between teachers and students; an ensemble is a teacher."""
        teachers = [
            gap.ComparedSystem(system=name, student=name, role="teacher", mixture=None, seed=None)
            for name in self.teachers.imitable
            if name not in self.teachers.assistants  # which stand among the students
        ]
        for each in teachers:
            if each["system"] in self.teachers.foreign and (drawn := self.teachers.drawn(each["system"])):
                each["search"] = drawn
        students = ((self.about(name), self.systems.trained[name]) for name in self.systems.students)
        systems = [*teachers, *(gap.ComparedSystem(**about, settings=settings(system)) for about, system in students)]
        beam = self.config.distillation.beam_size
        beams = sorted({1, beam, *self.config.decoding.beam_sizes})
        return gap.Task(systems, self.teachers.imitated or "", beam, beams, self.config.target, self.hash)

    def training(self, system: str) -> TrainingSettings:
        """What decides on the training of a system. More threads make no other training: all have the default here."""
        trained = self.systems.learners[system]
        training = replace(trained.training, threads=2)
        shape, language = present(trained.shape), self.pair[0 if trained.role == BACKWARD else 1]
        words = trained.words and replace(trained.words, teacher=None)  # their file has its name
        return TrainingSettings(
            system, trained.role, shape, training, trained.seed, language, trained.start_layers, words
        )

    def description(self, system: str) -> Document:
        """The content of a system's model.json that its files do not have."""
        languages = {"source": self.pair[0], "target": self.pair[1]}
        longest = self.config.decoding.max_decoding_length
        described = {"study": self.name, **self.about(system), **languages, "max_decoding_length": longest}
        trained = self.systems.trained.get(system)
        if trained and trained.training.alignment:
            described |= {"alignment": {"layer": trained.shape["decoder_layers"] - 1, "head": 0}}
        return described

    def corpora_of(self, system: str) -> list[Document]:
        """The corpora that a system learned from, for its model card."""
        names, entries = self.mixtures.weights(self.systems.trained[system].mixture), self.config.corpora
        about = ((name, entries[name]) for name in names)
        return [
            {"name": name, "role": corpus.role, "licence": corpus.licence, "url": corpus.url} for name, corpus in about
        ]
