"""The plan of a study: what follows from its configuration alone, without looking at the disk.

``Study`` is the whole plan. Each class builds on the one before it:

- ``systems``: where files are that several rules share; corpora, systems, teachers, mixtures
- ``experiments``: the model folders that systems are exported to, and what experiments are made with
"""

from typing import Any

from study.plan.experiments import Experiments
from study.schema import Config, config_hash
from study.systems import settings


class Study(Experiments):
    """The whole plan, and the facts about the study and its systems that results contain.

    ``config`` is the effective configuration (study.config.load). Corpora, mixtures, teachers and systems are given by
    their names; None stands for one that the study does not have.
    """

    def __init__(self, config: Config):
        super().__init__(config)
        self.hash = config_hash(config)

    @property
    def note(self) -> str:
        """The data in a sentence, with a warning if they are synthetic."""
        entries = self.config["corpora"]
        names = ", ".join(f"{name} ({entry['role']}, {entry['licence']})" for name, entry in entries.items())
        builtin = any(entry["builtin"] for entry in entries.values())
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
        teachers = [{"system": name, "student": name, **teacher} for name in self.imitable]
        return teachers + [self.about(name) | {"settings": settings(self.systems[name])} for name in self.students]

    def description(self, system: str) -> dict[str, str | int | None]:
        """The content of a system's model.json that its files do not have."""
        languages = {"source": self.pair[0], "target": self.pair[1]}
        longest = self.config["decoding"]["max_decoding_length"]
        return {"study": self.name, **self.about(system), **languages, "max_decoding_length": longest}

    def corpora_of(self, system: str) -> list[dict[str, str | list | None]]:
        """The corpora that a system learned from, for its model card."""
        names, entries = self.weights(self.systems[system].mixture), self.config["corpora"]
        return [{"name": name} | {key: entries[name][key] for key in ("role", "licence", "url")} for name in names]
