"""The model folders of a study, and the systems of its experiments: maps, rounded weights, search and speed."""

from collections.abc import Iterable
from functools import cached_property

from decode.engines import ENGINES, folders, refusal
from decode.engines.ctranslate2 import CTranslate2
from findings.comparison import BASELINE, BEAM
from nmt_frontier.search.engine import Engine
from nmt_frontier.search.native import Native
from study.configuration import StudyConfiguration
from study.plan.mixtures import Mixtures
from study.plan.systems import Corpora, Paths, Systems, Teachers
from study.systems import all_teachers

SPEED_TYPES = ("float32", "int8")  # which the speed tables compare, whatever else a study times
DEVLIN_TYPES = ("float32", "int16", "int8")  # of the table of identities


class Models:
    """The engines and types that decode, the systems that each engine has, and their folders.

    types: those that systems are exported in and timed in. engines: those that systems are exported to. exported: the
    measured systems that another engine than OpenNMT-tf decodes, students first. transformers: those of them that
    CTranslate2 has. quantized: the student whose rounded weights are examined layer by layer, in CTranslate2's files.
    converted_types: the types of CTranslate2 that weights are converted to, for decoding, teachers and the native
    engine. native_types: those of the native engine, float32 where it is not used. submitted_types: the names of the
    model folders that submissions are made of.
    """

    def __init__(
        self, config: StudyConfiguration, paths: Paths, corpora: Corpora, systems: Systems, teachers: Teachers
    ):
        self.config, self.paths, self.corpora, self.systems, self.teachers = config, paths, corpora, systems, teachers
        self.types, self.engines = config.decoding.compute_types, [BASELINE, CTranslate2.name, *config.decoding.engines]
        exported = filter(self.is_exported, systems.measured)
        self.exported = sorted(exported, key=lambda name: name in systems.teachers)
        self.transformers = list(filter(self.runs_in_ctranslate2, self.exported))
        self.quantized = next((name for name in self.transformers if name in systems.students), None)
        asked = [*self.types, *SPEED_TYPES]
        made = {name: {*ENGINES[name].exported(asked)} if name in self.engines else set() for name in ENGINES}
        made[teachers.engine].add(teachers.type)
        if made[Native.name]:  # whose weights are made of these
            made[CTranslate2.name].add("float32")
        self.converted_types = sorted(made[CTranslate2.name])
        self.native_types = [type for type in Native.types if type in made[Native.name]] or ["float32"]
        self.submitted_types = [*self.converted_types, *map(Native.folder, self.native_types)]

    @cached_property
    def refusals(self) -> list[str]:
        """A line for each reason why an engine does not decode some of the models, with the engines that do."""
        sections = {"teacher": "teachers", "untrained": "speed.untrained"}
        refused: dict[str, dict[str, None]] = {}  # entries of the configuration, each once
        for system in (self.systems[name] for name in (*self.systems.measured, *self.systems.untrained)):
            entry = f"{sections.get(system.role, 'students')}.{system.student}"
            lines = (refusal(ENGINES[name], system.shape or {}, self.engines) for name in self.engines)
            for line in filter(None, lines):
                refused.setdefault(line, {})[entry] = None
        return [f"{', '.join(entries)}: {line}" for line, entries in refused.items()]

    def runs_in_ctranslate2(self, system: str) -> bool:
        """Whether CTranslate2 has the architecture of a system."""
        return CTranslate2.runs(self.systems.shape(system))

    def is_exported(self, system: str) -> bool:
        """Whether another engine than OpenNMT-tf decodes a system here."""
        return self.formats(system) != [BASELINE]

    def formats(self, system: str) -> list[str]:
        """The model folders that a system is exported to, one for each engine and type of weights."""
        return folders(self.systems.shape(system), self.types, self.engines)

    def timed(self, system: str) -> list[str]:
        """Those of its model folders that are timed."""
        formats, everywhere = self.formats(system), self.config.decoding.in_every_engine
        native = [name for name in map(Native.folder, self.types) if name in formats]
        return formats if everywhere is None or system in everywhere else native or formats

    def quick_format(self, system: str) -> str:
        """The model folder that translates a system where nothing is timed."""
        names = [self.types[0], Native.folder(self.types[0]), BASELINE]
        return next(name for name in names if name in self.timed(system))

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

    def source(self, system: str, type: str) -> str:
        """The folder that CTranslate2's weights of a type are made from: the checkpoint, or float32.

        The checkpoint also for the type that a teacher translates in: its float32 may be missing in a finished study,
        or be newer than the translations, which would all be made anew.
        """
        teachers, paths = self.teachers, self.paths
        distils = system in all_teachers(self.config) and (teachers.engine, teachers.type) == (CTranslate2.name, type)
        return paths.averaged(system) if type == "float32" or distils else paths.converted(system, "float32")

    def native_source(self, system: str) -> str:
        """The folder that the native engine's weights are made from: CTranslate2's, or the checkpoint."""
        if self.runs_in_ctranslate2(system):
            return self.paths.converted(system, "float32")
        return self.paths.averaged(system)


class MapPlan:
    """The system that the vocabulary map is fitted to, if there is one.

    type: int8, or the first one that the system is exported in. weights: those that decode the system before there is a
    map, CTranslate2's or the native engine's. problem: why maps cannot be compared, if so.
    """

    def __init__(self, config: StudyConfiguration, models: Models):
        students = (name for name in models.exported if name in models.systems.students)
        self.system = config.vocabulary_map.system or next(students, None)
        folders = {*models.formats(self.system)} if self.system else set()
        made = [type for type in models.types if {CTranslate2.folder(type), Native.folder(type)} & folders]
        made = made or models.types
        self.type = "int8" if "int8" in made else made[0]
        transformer = self.system is not None and models.runs_in_ctranslate2(self.system)
        converted = models.paths.converted if transformer else models.paths.converted_native
        self.weights = [converted(self.system, self.type)] if self.system else []
        tried = config.vocabulary_map.grid is not None
        self.problem = None if tried else f"the study {config.study} tries no maps: give it a vocabulary_map.grid"


class SearchPlan:
    """The system whose search is measured. problem: why it cannot be, if so."""

    def __init__(self, config: StudyConfiguration, models: Models, maps: MapPlan):
        self.models, self.system = models, config.search.system or maps.system
        able = self.system in models.systems.trained and models.is_exported(self.system)
        missing = f"{self.system} is none of the systems of this study that are trained here and exported"
        self.problem = None if able else f"search.system: {missing}"

    def folders(self, type: str) -> list[str]:
        """The folders of the system in a type, one for each engine but OpenNMT-tf, CTranslate2's first."""
        return self.models.optimised(self.system, type=type) if self.system and not self.problem else []


class RobustnessPlan:
    """The systems whose robustness is measured, if the study asks for it.

    systems: those that it names, or all that are measured, but for those that OpenNMT-tf alone decodes. folders: theirs
    of each type, for all engines. protected: those that learned to copy symbols, which are decoded with protection,
    too. problem: why there are none, if so.
    """

    def __init__(self, config: StudyConfiguration, models: Models, mixtures: Mixtures):
        section = config.robustness
        self.systems = (section.systems or models.exported) if section else []
        learned = {name: models.systems[name].mixture for name in self.systems if name in models.systems}
        self.protected = [name for name, mixture in learned.items() if mixture in mixtures.protecting]
        types = section.types if section else []
        self.folders = [folder for type in types for folder in models.optimised(*self.systems, type=type)]
        asked = f"robustness: the study {config.study} does not ask for it: give it `robustness: {{}}`"
        undecoded = f"robustness: OpenNMT-tf alone decodes what is trained in {config.study}"
        self.problem = None if self.folders else undecoded if section else asked


class SpeedPlan:
    """The systems and the folders of the speed tables.

    trained: the trained systems, those that the study names, or all if it names none at all.
    """

    def __init__(self, config: StudyConfiguration, models: Models):
        self.models, self._study = models, config.study
        self.trained = config.speed.systems or ([] if models.systems.untrained else models.exported)

    @property
    def systems(self) -> list[str]:
        """All systems, trained ones first, that another engine than OpenNMT-tf decodes."""
        return [*filter(self.models.is_exported, (*self.trained, *self.models.systems.untrained))]

    @property
    def problem(self) -> str | None:
        """Why the speed tables cannot be made, if so."""
        if self.systems or self.models.systems.untrained:
            return None
        return f"speed: OpenNMT-tf alone decodes what is trained in {self._study}, and speed.untrained names nothing"

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
        return [name for name in layered if all(native(name, type=type) for type in DEVLIN_TYPES)]

    @property
    def architectures(self) -> list[str]:
        """The folders of the untrained models of all architectures: OpenNMT-tf's and the native engine's."""
        models, names = self.models, [BASELINE, *(Native.folder(type) for type in self.models.types)]
        made = ((system, name) for system in models.systems.untrained for name in names)
        return [models.paths.model(system, name) for system, name in made if name in models.formats(system)]
