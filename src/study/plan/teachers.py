"""The teachers of a study: whom students learn from, and what translates for them."""

from functools import cached_property

from decode.engines import ENGINES
from decode.engines.native import Native
from study import precision
from study.mixtures import mixture
from study.plan.systems import Systems
from study.schema import Config
from study.systems import ENSEMBLE
from study.teachers import splits_as_study


class Teachers(Systems):
    """Knows whom students imitate, which teachers come from elsewhere, and the engine and the type that all run in."""

    @property
    def ensemble(self) -> str | None:
        """The name of all teachers together; a single teacher is its own ensemble."""
        return ENSEMBLE if len(self.teachers) > 1 else next(iter(self.teachers), None)

    @cached_property
    def imitable(self) -> list[str]:
        """Those whose translations students may learn from: each teacher, and all together."""
        return [name for name in dict.fromkeys([*self.teachers, self.ensemble]) if name]

    @cached_property
    def imitated(self) -> str | None:
        """What students are compared with: the teacher of the first mixture that has one."""
        distilled = filter(None, map(self.translations, self.config["mixtures"]))
        return next((teacher for teacher, _ in distilled), self.ensemble)

    def translations(self, name: str) -> tuple[str, str] | None:
        """The teacher whose translations a mixture has, and its targets; None of original text."""
        entry = mixture(self.config, name)
        return None if entry["targets"] == "original" else (entry["teacher"] or self.ensemble, entry["targets"])

    @cached_property
    def foreign(self) -> list[str]:
        """Ensembles and teachers from elsewhere: they have no model folder, only the translations of distillation."""
        return [name for name in self.imitable if name not in self.trained]

    @cached_property
    def reference(self) -> str | None:
        """The timed teacher that scores are compared with: the imitated one, or the first if that is not timed.

        An ensemble is not timed, nor is a teacher from elsewhere.
        """
        return next((name for name in (self.imitated, *self.teachers) if name in self.measured), None)

    # How they translate

    @cached_property
    def teacher_engine(self) -> str:
        """The engine that distils."""
        return precision.engine(self.config)

    @property
    def teacher_type(self) -> str:
        """The type that teachers compute with."""
        return self.config["distillation"]["compute_type"]

    @cached_property
    def imported(self) -> dict[str, Config]:
        """The entries of teachers that are not trained here.

        They are without what only informs, and without what only a training has: they say when to import anew.
        """
        entries = {name: entry for name, entry in self.config["teachers"].items() if not entry["shape"]}
        return {
            name: {k: v for k, v in entry.items() if k not in ("parameters", "start_from")}
            for name, entry in entries.items()
        }

    def teacher_model(self, teacher: str) -> str:
        """The folder that a teacher translates with, of the engine that distils."""
        if teacher in self.imported:
            return self.imported_model(teacher, self.imported_format)
        folder = self.converted_native if self.teacher_engine == Native.name else self.converted
        return folder(teacher, self.teacher_type)

    @property
    def imported_format(self) -> str:
        """The name of the folder of every teacher from elsewhere."""
        return ENGINES[self.teacher_engine].folder(self.teacher_type)

    def pieces_for(self, *teachers: str) -> list[str]:
        """The study's SentencePiece model if one of the teachers splits text with it."""
        return [self.sentencepiece] if any(splits_as_study(self.config["teachers"][name]) for name in teachers) else []

    def vocabulary_for(self, teacher: str) -> list[str]:
        """The study's vocabulary for an OpenNMT-tf run with the study's pieces, which may lack one of its own."""
        entry = self.config["teachers"][teacher]
        return [self.vocabulary] if entry["checkpoint"] and splits_as_study(entry) else []
