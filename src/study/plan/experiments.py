"""What the experiments of a study are made with: vocabulary maps, rounded weights, search and speed."""

from decode.engines.ctranslate2 import CTranslate2
from decode.engines.native import Native
from formats.selection import BASELINE
from study.plan.engines import Engines


class Experiments(Engines):
    """Knows the systems and folders of each experiment, and why a study cannot make one."""

    # Vocabulary maps and rounded weights

    @property
    def map_system(self) -> str | None:
        """The system that the vocabulary map is fitted to."""
        students = (name for name in self.exported if name in self.students)
        return self.config["vocabulary_map"]["system"] or next(students, None)

    @property
    def map_type(self) -> str:
        """The type that the map is fitted in: int8, or the first one that the system is exported in."""
        folders = {*self.formats(self.map_system)} if self.map_system else set()
        made = [type for type in self.types if {CTranslate2.folder(type), Native.folder(type)} & folders] or self.types
        return "int8" if "int8" in made else made[0]

    @property
    def map_weights(self) -> str:
        """What that system is decoded with before there is a map: CTranslate2's weights, or the native engine's."""
        converted = self.converted if self.runs_in_ctranslate2(self.map_system) else self.converted_native
        return converted(self.map_system, self.map_type)

    @property
    def maps_problem(self) -> str | None:
        """Why vocabulary maps cannot be compared, if so."""
        if self.config["vocabulary_map"]["grid"] is not None:
            return None
        return f"the study {self.name} tries no maps: give it a vocabulary_map.grid"

    @property
    def quantized(self) -> str | None:
        """The student whose rounded weights are looked at layer by layer, in CTranslate2's files."""
        return next((name for name in self.transformers if name in self.students), None)

    # Search

    @property
    def searched(self) -> str | None:
        """The system whose search is measured."""
        return self.config["search"]["system"] or self.map_system

    def search_models(self, type: str) -> list[str]:
        """The folders of that system in a type, one for each engine but OpenNMT-tf, CTranslate2's first."""
        return [] if self.search_problem else self.optimised(self.searched, type=type)

    @property
    def search_problem(self) -> str | None:
        """Why search cannot be measured, if so."""
        if self.searched in self.trained and self.is_exported(self.searched):
            return None
        return f"search.system: {self.searched} is none of the systems of this study that are trained here and exported"

    # Speed

    @property
    def speed_trained(self) -> list[str]:
        """The trained systems of the speed tables: those that the study names, or all if it names none at all."""
        return self.config["speed"]["systems"] or ([] if self.untrained else self.exported)

    @property
    def speed_systems(self) -> list[str]:
        """All systems of the speed tables, trained ones first: those that another engine than OpenNMT-tf decodes."""
        return [*filter(self.is_exported, (*self.speed_trained, *self.untrained))]

    def ladder_models(self, system: str) -> list[str]:
        """The folders that a system is compared with OpenNMT-tf in: without CTranslate2, native ones of all types."""
        if peer := self.ctranslate2(system):
            return [*self.ctranslate2(system, type="float32"), *peer, *self.native(system)]
        return [folder for type in Native.types for folder in self.native(system, type=type)]

    @property
    def fully_connected(self) -> list[str]:
        """The systems with layers on top of a recurrent decoder that the native engine has in all types."""
        layered = (name for name, system in self.systems.items() if (system.shape or {}).get("fully_connected_layers"))
        return [name for name in layered if all(self.native(name, type=type) for type in Native.types)]

    @property
    def architecture_models(self) -> list[str]:
        """The folders of the untrained models that are compared whatever their architecture: not CTranslate2's."""
        names = [BASELINE, *(Native.folder(type) for type in self.types)]
        return [self.model(system, name) for system in self.untrained for name in names if name in self.formats(system)]

    @property
    def speed_problem(self) -> str | None:
        """Why the speed tables cannot be made, if so."""
        if not self.speed_systems and not self.untrained:
            return f"speed: OpenNMT-tf alone decodes what is trained in {self.name}, and speed.untrained names nothing"
        return None
