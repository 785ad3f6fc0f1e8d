"""The plan of a study: what follows from its configuration alone, without looking at the disk.

- ``systems``: where files are that several rules share; corpora, systems, teachers, mixtures
- ``experiments``: the model folders that systems are exported to, and what experiments are made with
"""

from typing import Any

from study.configuration import Configuration
from study.plan.experiments import Maps, Models, Search, Speed
from study.plan.systems import Corpora, Mixtures, Paths, Systems, Teachers
from study.schema import config_hash, results
from study.systems import settings


class Study:
    """The whole plan, and the facts about the study and its systems that results contain.

    ``config`` is the effective configuration (study.config.read). Corpora, mixtures, teachers and systems are given by
    their names; None stands for one that the study does not have.
    """

    def __init__(self, config: Configuration):
        self.config = config
        self.name: str = config.study
        self.hash = config_hash(config.document)
        self.paths = Paths(results(config.study).as_posix())
        self.folder, self.report = self.paths.folder, self.paths.report
        self.corpora = Corpora(config, self.paths)
        self.pair = self.corpora.pair
        self.systems = Systems(config)
        self.teachers = Teachers(config, self.paths, self.systems)
        self.mixtures = Mixtures(config, self.paths, self.systems, self.teachers)
        self.models = Models(config, self.paths, self.corpora, self.systems, self.teachers)
        self.maps = Maps(config, self.models)
        self.search = Search(config, self.models, self.maps)
        self.speed = Speed(config, self.models)

    @property
    def note(self) -> str:
        """The data in a sentence, with a warning if they are synthetic."""
        entries = self.config.corpora
        names = ", ".join(f"{name} ({entry.role}, {entry.licence})" for name, entry in entries.items())
        builtin = any(entry.builtin for entry in entries.values())
        warning = " Synthetic text of a small grammar: BLEU here says nothing about the translation of real text."
        return f"{'-'.join(self.pair)}: {names}.{warning if builtin else ''}"

    def about(self, system: str) -> dict[str, str | int | None]:
        """The names that distinguish a system from the others."""
        keys = ("role", "student", "mixture", "seed")
        return {"system": system} | {key: getattr(self.systems[system], key) for key in keys}

    @property
    def compared(self) -> list[dict[str, Any]]:
        """The systems whose comparison explains the gap between teachers and students; an ensemble is a teacher."""
        teacher = {"role": "teacher", "mixture": None, "seed": None}
        teachers = [{"system": name, "student": name, **teacher} for name in self.teachers.imitable]
        students = self.systems.students
        return teachers + [self.about(name) | {"settings": settings(self.systems.trainings[name])} for name in students]

    def description(self, system: str) -> dict[str, str | int | None]:
        """The content of a system's model.json that its files do not have."""
        languages = {"source": self.pair[0], "target": self.pair[1]}
        longest = self.config.decoding.max_decoding_length
        return {"study": self.name, **self.about(system), **languages, "max_decoding_length": longest}

    def corpora_of(self, system: str) -> list[dict[str, Any]]:
        """The corpora that a system learned from, for its model card."""
        names, entries = self.mixtures.weights(self.systems.trainings[system].mixture), self.config.corpora
        about = ((name, entries[name]) for name in names)
        return [
            {"name": name, "role": corpus.role, "licence": corpus.licence, "url": corpus.url} for name, corpus in about
        ]
