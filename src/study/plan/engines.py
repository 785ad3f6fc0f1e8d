"""The engines of a study, and the model folders that its systems are exported to."""

from collections.abc import Iterable
from functools import cached_property

from decode.engines import ENGINES, Engine, folders, refusal
from decode.engines.ctranslate2 import CTranslate2
from decode.engines.native import Native
from formats.selection import BASELINE, BEAM
from study.plan.mixtures import Mixtures

SPEED_TYPES = ("float32", "int8")  # which the speed tables compare, whatever else a study times


class Engines(Mixtures):
    """Knows the engines and types that decode, which systems each engine has, and in which folders."""

    @property
    def types(self) -> list[str]:
        """The types that systems are exported in and timed in."""
        return self.config["decoding"]["compute_types"]

    @cached_property
    def engines(self) -> list[str]:
        """The engines that systems are exported to."""
        wanted = self.config["decoding"]["engines"]
        return [BASELINE, CTranslate2.name, *(name for name in wanted if name not in self.absent_engines)]

    @cached_property
    def absent_engines(self) -> list[str]:
        """Engines that the configuration names and that are not installed."""
        return [name for name in self.config["decoding"]["engines"] if not ENGINES[name].supported()]

    # Which systems an engine decodes

    @cached_property
    def refusals(self) -> list[str]:
        """A line for each reason why an engine of the study does not decode some of its models, and what does."""
        sections = {"teacher": "teachers", "untrained": "speed.untrained"}
        refused: dict[str, dict[str, None]] = {}  # entries of the configuration, each once
        for system in (self.systems[name] for name in (*self.measured, *self.untrained)):
            entry = f"{sections.get(system.role, 'students')}.{system.student}"
            for line in filter(None, (refusal(ENGINES[name], system.shape, self.engines) for name in self.engines)):
                refused.setdefault(line, {})[entry] = None
        return [f"{', '.join(entries)}: {line}" for line, entries in refused.items()]

    def runs_in_ctranslate2(self, system: str) -> bool:
        """Whether CTranslate2 has the architecture of a system."""
        return CTranslate2.runs(self.systems[system].shape)

    def is_exported(self, system: str) -> bool:
        """Whether another engine than OpenNMT-tf decodes a system here."""
        return self.formats(system) != [BASELINE]

    @cached_property
    def exported(self) -> list[str]:
        """The measured systems that another engine than OpenNMT-tf decodes, students first."""
        return sorted(filter(self.is_exported, self.measured), key=lambda name: name in self.teachers)

    @cached_property
    def transformers(self) -> list[str]:
        """The measured systems that CTranslate2 has, students first."""
        return list(filter(self.runs_in_ctranslate2, self.exported))

    # Model folders

    def formats(self, system: str) -> list[str]:
        """The model folders that a system is exported to, one for each engine and type of weights."""
        return folders(self.systems[system].shape, self.types, self.engines)

    def quick_format(self, system: str) -> str:
        """The model folder that translates a system where nothing is timed."""
        names = [self.types[0], Native.folder(self.types[0]), BASELINE]
        return next(name for name in names if name in self.formats(system))

    def shown(self, system: str) -> str:
        """The translations of a measured system that people read: of the timed test set, with the widest beam."""
        name = self.quick_format(system)
        beam = BEAM if name == BASELINE else max(self.config["decoding"]["beam_sizes"])
        return f"{self.folder}/decoding/translations/{system}.{name}.beam{beam}.{self.timed_corpus}.txt"

    def native(self, *systems: str, type: str = "int8") -> list[str]:
        """The folders of those of the systems that the native engine decodes."""
        return self._of_engine(Native, systems, type)

    def ctranslate2(self, *systems: str, type: str = "int8") -> list[str]:
        """The folders of those of the systems that CTranslate2 decodes."""
        return self._of_engine(CTranslate2, systems, type)

    def _of_engine(self, engine: type[Engine], systems: Iterable[str], quantization: str) -> list[str]:
        name = engine.folder(quantization)
        return [self.model(system, name) for system in systems if name in self._makeable(system)]

    def _makeable(self, system: str) -> list[str]:
        """The model folders that experiments may ask for: those that are timed, and those of the speed tables."""
        return folders(self.systems[system].shape, [*self.types, *SPEED_TYPES], self.engines)

    def optimised(self, *systems: str, type: str = "int8") -> list[str]:
        """The folders of systems for all engines but OpenNMT-tf, CTranslate2's first."""
        return [*self.ctranslate2(*systems, type=type), *self.native(*systems, type=type)]

    def exact(self, *systems: str) -> list[str]:
        """One folder in float32 for each system that has one beside OpenNMT-tf's, CTranslate2's where it has one."""
        return [folder for system in systems for folder in self.optimised(system, type="float32")[:1]]

    # What weights are converted to

    @property
    def converted_types(self) -> list[str]:
        """The types of CTranslate2 that weights are converted to, for decoding, teachers and the native engine."""
        native = {"float32"} if Native.name in (*self.engines, self.teacher_engine) else {}
        teachers = {self.teacher_type} if self.teacher_engine == CTranslate2.name else {}
        return sorted({*self.types, *SPEED_TYPES, *teachers, *native})

    @property
    def native_types(self) -> list[str]:
        """The types that weights are converted to for the native engine; float32 where it is not used."""
        wanted = {*self.types, *SPEED_TYPES} if Native.name in self.engines else set()
        wanted |= {self.teacher_type} if self.teacher_engine == Native.name else set()
        return [type for type in Native.types if type in wanted] or ["float32"]

    @property
    def submitted_types(self) -> list[str]:
        """The names of the model folders that submissions are made of."""
        return [*self.converted_types, *map(Native.folder, self.native_types)]

    def source(self, system: str, type: str) -> str:
        """What a system is converted from for CTranslate2: the checkpoint, or its weights in float32."""
        return self.averaged(system) if type == "float32" else self.converted(system, "float32")

    def native_source(self, system: str) -> str:
        """What a system is converted from for the native engine: CTranslate2's weights, or the checkpoint."""
        return self.converted(system, "float32") if self.runs_in_ctranslate2(system) else self.averaged(system)
