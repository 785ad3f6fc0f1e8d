"""The model folders of a study, and the systems of its experiments: maps, rounded weights, search and speed."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from decode.engines import ENGINES, Engine, folders, refusal
from decode.engines.ctranslate2 import CTranslate2
from decode.engines.native import Native
from findings.comparison import BASELINE, BEAM
from study.configuration import Configuration
from study.plan.systems import Corpora, Paths, Systems, Teachers

SPEED_TYPES = ("float32", "int8")  # which the speed tables compare, whatever else a study times


@dataclass(frozen=True)
class Models:
    """The engines and types that decode, the systems that each engine has, and their folders."""

    config: Configuration
    paths: Paths
    corpora: Corpora
    systems: Systems
    teachers: Teachers

    @property
    def types(self) -> list[str]:
        """The types that systems are exported in and timed in."""
        return self.config.decoding.compute_types

    @property
    def engines(self) -> list[str]:
        """The engines that systems are exported to."""
        return [BASELINE, CTranslate2.name, *self.config.decoding.engines]

    @cached_property
    def refusals(self) -> list[str]:
        """A line for each reason why an engine does not decode some of the models, with the engines that do."""
        sections = {"teacher": "teachers", "untrained": "speed.untrained"}
        refused: dict[str, dict[str, None]] = {}  # entries of the configuration, each once
        for system in (self.systems[name] for name in (*self.systems.measured, *self.systems.untrained)):
            entry = f"{sections.get(system.role, 'students')}.{system.student}"
            for line in filter(
                None, (refusal(ENGINES[name], system.shape or {}, self.engines) for name in self.engines)
            ):
                refused.setdefault(line, {})[entry] = None
        return [f"{', '.join(entries)}: {line}" for line, entries in refused.items()]

    def runs_in_ctranslate2(self, system: str) -> bool:
        """Whether CTranslate2 has the architecture of a system."""
        return CTranslate2.runs(self.systems.shape(system))

    def is_exported(self, system: str) -> bool:
        """Whether another engine than OpenNMT-tf decodes a system here."""
        return self.formats(system) != [BASELINE]

    @cached_property
    def exported(self) -> list[str]:
        """The measured systems that another engine than OpenNMT-tf decodes, students first."""
        return sorted(filter(self.is_exported, self.systems.measured), key=lambda name: name in self.systems.teachers)

    @cached_property
    def transformers(self) -> list[str]:
        """The measured systems that CTranslate2 has, students first."""
        return list(filter(self.runs_in_ctranslate2, self.exported))

    def formats(self, system: str) -> list[str]:
        """The model folders that a system is exported to, one for each engine and type of weights."""
        return folders(self.systems.shape(system), self.types, self.engines)

    def quick_format(self, system: str) -> str:
        """The model folder that translates a system where nothing is timed."""
        names = [self.types[0], Native.folder(self.types[0]), BASELINE]
        return next(name for name in names if name in self.formats(system))

    def shown(self, system: str) -> str:
        """A measured system's translations for people to read: of the timed test set, with the widest beam."""
        name = self.quick_format(system)
        beam = BEAM if name == BASELINE else max(self.config.decoding.beam_sizes)
        return f"{self.paths.folder}/decoding/translations/{system}.{name}.beam{beam}.{self.corpora.timed}.txt"

    def native(self, *systems: str, type: str = "int8") -> list[str]:
        """The folders of the systems that the native engine decodes."""
        return self._of_engine(Native, systems, type)

    def ctranslate2(self, *systems: str, type: str = "int8") -> list[str]:
        """The folders of the systems that CTranslate2 decodes."""
        return self._of_engine(CTranslate2, systems, type)

    def _of_engine(self, engine: type[Engine], systems: Iterable[str], quantization: str) -> list[str]:
        name, types = engine.folder(quantization), [*self.types, *SPEED_TYPES]
        able = (system for system in systems if name in folders(self.systems.shape(system), types, self.engines))
        return [self.paths.model(system, name) for system in able]

    def optimised(self, *systems: str, type: str = "int8") -> list[str]:
        """The folders of systems for all engines but OpenNMT-tf, CTranslate2's first."""
        return [*self.ctranslate2(*systems, type=type), *self.native(*systems, type=type)]

    def exact(self, *systems: str) -> list[str]:
        """A folder in float32 for each system: CTranslate2's, else the native engine's, if there is one."""
        return [folder for system in systems for folder in self.optimised(system, type="float32")[:1]]

    @property
    def converted_types(self) -> list[str]:
        """The types of CTranslate2 that weights are converted to, for decoding, teachers and the native engine."""
        native = {"float32"} if Native.name in (*self.engines, self.teachers.engine) else {}
        teachers = {self.teachers.type} if self.teachers.engine == CTranslate2.name else {}
        return sorted({*self.types, *SPEED_TYPES, *teachers, *native})

    @property
    def native_types(self) -> list[str]:
        """The types that weights are converted to for the native engine; float32 where it is not used."""
        wanted = {*self.types, *SPEED_TYPES} if Native.name in self.engines else set()
        wanted |= {self.teachers.type} if self.teachers.engine == Native.name else set()
        return [type for type in Native.types if type in wanted] or ["float32"]

    @property
    def submitted_types(self) -> list[str]:
        """The names of the model folders that submissions are made of."""
        return [*self.converted_types, *map(Native.folder, self.native_types)]

    def source(self, system: str, type: str) -> str:
        """The folder that CTranslate2's weights of a type are made from: the checkpoint, or float32.

        The checkpoint also for the type that a teacher translates in: its float32 may be missing in a finished study,
        or be newer than the translations, which would all be made anew.
        """
        teachers, paths = self.teachers, self.paths
        distils = system in self.systems.teachers and (teachers.engine, teachers.type) == (CTranslate2.name, type)
        return paths.averaged(system) if type == "float32" or distils else paths.converted(system, "float32")

    def native_source(self, system: str) -> str:
        """The folder that the native engine's weights are made from: CTranslate2's, or the checkpoint."""
        if self.runs_in_ctranslate2(system):
            return self.paths.converted(system, "float32")
        return self.paths.averaged(system)

    @property
    def quantized(self) -> str | None:
        """The student whose rounded weights are examined layer by layer, in CTranslate2's files."""
        return next((name for name in self.transformers if name in self.systems.students), None)


@dataclass(frozen=True)
class Maps:
    """The system that the vocabulary map is fitted to."""

    config: Configuration
    models: Models

    @property
    def system(self) -> str | None:
        students = (name for name in self.models.exported if name in self.models.systems.students)
        return self.config.vocabulary_map.system or next(students, None)

    @property
    def type(self) -> str:
        """The type that the map is fitted in: int8, or the first one that the system is exported in."""
        types, folders = self.models.types, {*self.models.formats(self.system)} if self.system else set()
        made = [type for type in types if {CTranslate2.folder(type), Native.folder(type)} & folders] or types
        return "int8" if "int8" in made else made[0]

    @property
    def weights(self) -> list[str]:
        """The weights that decode the system before there is a map, if there is a system: CTranslate2's, or native."""
        if self.system is None:
            return []
        paths, transformer = self.models.paths, self.models.runs_in_ctranslate2(self.system)
        return [(paths.converted if transformer else paths.converted_native)(self.system, self.type)]

    @property
    def problem(self) -> str | None:
        """Why vocabulary maps cannot be compared, if so."""
        if self.config.vocabulary_map.grid is not None:
            return None
        return f"the study {self.config.study} tries no maps: give it a vocabulary_map.grid"


@dataclass(frozen=True)
class Search:
    """The system whose search is measured."""

    config: Configuration
    models: Models
    maps: Maps

    @property
    def system(self) -> str | None:
        return self.config.search.system or self.maps.system

    def folders(self, type: str) -> list[str]:
        """The folders of the system in a type, one for each engine but OpenNMT-tf, CTranslate2's first."""
        return self.models.optimised(self.system, type=type) if self.system and not self.problem else []

    @property
    def problem(self) -> str | None:
        """Why search cannot be measured, if so."""
        if self.system in self.models.systems.trained and self.models.is_exported(self.system):
            return None
        return f"search.system: {self.system} is none of the systems of this study that are trained here and exported"


@dataclass(frozen=True)
class Speed:
    """The systems and the folders of the speed tables."""

    config: Configuration
    models: Models

    @property
    def trained(self) -> list[str]:
        """The trained systems: those that the study names, or all if it names none at all."""
        return self.config.speed.systems or ([] if self.models.systems.untrained else self.models.exported)

    @property
    def systems(self) -> list[str]:
        """All systems, trained ones first: those that another engine than OpenNMT-tf decodes."""
        return [*filter(self.models.is_exported, (*self.trained, *self.models.systems.untrained))]

    def ladder(self, system: str) -> list[str]:
        """The folders to compare with OpenNMT-tf; for systems that CTranslate2 lacks, native ones of all types."""
        models = self.models
        if peer := models.ctranslate2(system):
            return [*models.ctranslate2(system, type="float32"), *peer, *models.native(system)]
        return [folder for type in Native.types for folder in models.native(system, type=type)]

    @property
    def fully_connected(self) -> list[str]:
        """The systems with layers on top of a recurrent decoder that the native engine has in all types."""
        systems, native = self.models.systems, self.models.native
        layered = (name for name in systems if systems.shape(name).get("fully_connected_layers"))
        return [name for name in layered if all(native(name, type=type) for type in Native.types)]

    @property
    def architectures(self) -> list[str]:
        """The folders of the untrained models of all architectures: OpenNMT-tf's and the native engine's."""
        models, names = self.models, [BASELINE, *(Native.folder(type) for type in self.models.types)]
        made = ((system, name) for system in models.systems.untrained for name in names)
        return [models.paths.model(system, name) for system, name in made if name in models.formats(system)]

    @property
    def problem(self) -> str | None:
        """Why the speed tables cannot be made, if so."""
        if self.systems or self.models.systems.untrained:
            return None
        study = self.config.study
        return f"speed: OpenNMT-tf alone decodes what is trained in {study}, and speed.untrained names nothing"
