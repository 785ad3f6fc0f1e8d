"""The systems of a study by their parts."""

from functools import cached_property
from pathlib import Path

from study.plan.corpora import Corpora
from study.systems import System, systems, untrained
from study.teachers import is_folder


class Systems(Corpora):
    """Knows all models, which of them are trained, and which are measured."""

    @cached_property
    def systems(self) -> dict[str, System]:
        """All models by name: teachers, then students, then untrained ones."""
        return {system.name: system for system in (*systems(self.config), *untrained(self.config))}

    def _of_roles(self, *roles: str) -> list[str]:
        return [name for name, system in self.systems.items() if system.role in roles]

    @cached_property
    def teachers(self) -> list[str]:
        """Teachers, trained here or not; the ensemble is not among them."""
        return self._of_roles("teacher")

    @cached_property
    def students(self) -> list[str]:
        """Students of all mixtures and seeds, controls included."""
        return self._of_roles("student", "control")

    @cached_property
    def untrained(self) -> list[str]:
        """Systems with random weights, which are timed only."""
        return self._of_roles("untrained")

    @cached_property
    def trained(self) -> list[str]:
        """Teachers and students that are trained here."""
        return [name for name in (*self.teachers, *self.students) if self.systems[name].shape]

    @cached_property
    def measured(self) -> list[str]:
        """Trained systems that are timed and scored: the first of several seeds."""
        first: dict[tuple, str] = {}
        for name in self.trained:
            system = self.systems[name]
            first.setdefault((system.role, system.student, system.mixture), name)
        return list(first.values())

    def parent(self, system: str) -> str | None:
        """The checkpoint that the training of a system begins with, of a teacher or from elsewhere.

        None for a folder that is not there, so that a dry run goes on without.
        """
        start = self.systems[system].start_from
        if not start or not is_folder(start):
            return self.averaged(start) if start else None
        return start if Path(start).is_dir() else None
