"""The plan of a study: what follows from its configuration alone, without looking at the disk."""

from collections.abc import Iterable
from functools import cached_property

from corpora.sources.source import languages
from decode import engines
from decode.engines.ctranslate2 import CTranslate2
from decode.engines.native import Native
from formats.selection import BASELINE
from study import precision
from study.identity import config_hash, results
from study.mixtures import ORIGINAL, learned_from, mixture, weights
from study.paths import Paths
from study.schema import Config
from study.systems import ENSEMBLE, REVERSE, System, systems, untrained
from study.teachers import splits_as_study


class Study(Paths):
    """Which systems a study has, what each is made of, and what is done with it.

    ``config`` is the effective configuration (study.config.load). Corpora, mixtures, teachers and systems are given by
    their names; None stands for one that the study does not have.
    """

    def __init__(self, config: Config):
        super().__init__(results(config).as_posix())
        self.config = config
        self.name: str = config["study"]
        self.hash = config_hash(config)
        self.pair: list[str] = [config["source"], config["target"]]
        self.types: list[str] = config["decoding"]["compute_types"]
        self.teacher_type: str = config["distillation"]["compute_type"]
        self.teacher_engine: str = precision.engine(config)

    # Corpora

    @cached_property
    def corpora(self) -> dict[str, list[str]]:
        """The corpora of each role."""
        entries = self.config["corpora"].items()
        return {
            role: [name for name, entry in entries if entry["role"] == role]
            for role in ("train", "monolingual", "dev", "test")
        }

    @property
    def held_out(self) -> list[str]:
        """Corpora that no system may learn from."""
        return self.corpora["dev"] + self.corpora["test"]

    @property
    def training_corpora(self) -> list[str]:
        """Corpora that are cleaned, and that systems learn from."""
        return self.corpora["train"] + self.corpora["monolingual"]

    @property
    def dev(self) -> str:
        """The dev set whose BLEU is watched during training."""
        return self.corpora["dev"][0]

    @property
    def timed_corpus(self) -> str:
        """The test set that is timed, and that tables and pictures show."""
        return self.corpora["test"][0]

    def languages(self, corpus: str) -> list[str]:
        """The language of each side of a corpus."""
        return languages(self.config["corpora"][corpus], self.pair)

    def reading(self, corpus: str) -> Config:
        """The keys of a corpus's entry that decide what is read. Another weight is no reason to read it again."""
        later = ("cleaning", "weight", "sample")
        return {key: value for key, value in self.config["corpora"][corpus].items() if key not in later}

    def uncleaned(self, corpus: str) -> str:
        """What is cleaned, the corpus or a random subset of it, as a path without ``.tsv.zst`` or ``.json``."""
        folder = "subset" if self.config["corpora"][corpus]["sample"] else "raw"
        return f"{self.folder}/corpora/{folder}/{corpus}"

    @property
    def note(self) -> str:
        """The data in a sentence, with a warning if they are synthetic."""
        entries = self.config["corpora"]
        names = ", ".join(f"{name} ({entry['role']}, {entry['licence']})" for name, entry in entries.items())
        builtin = any(entry["builtin"] for entry in entries.values())
        warning = " Synthetic text of a small grammar: BLEU here says nothing about the translation of real text."
        return f"{'-'.join(self.pair)}: {names}.{warning if builtin else ''}"

    # Systems

    @cached_property
    def systems(self) -> dict[str, System]:
        """All models by name: teachers, then students, then untrained ones."""
        return {system.name: system for system in (*systems(self.config), *untrained(self.config))}

    def _of_roles(self, *roles: str) -> list[str]:
        return [name for name, system in self.systems.items() if system.role in roles]

    @cached_property
    def teachers(self) -> list[str]:
        """Teachers, trained here or not; the reverse teacher and the ensemble are not among them."""
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
        mixtures = self.config["mixtures"].values()
        distilled = (entry["teacher"] or self.ensemble for entry in mixtures if entry["targets"] != "original")
        return next(distilled, self.ensemble)

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

    def about(self, system: str) -> dict[str, str | int | None]:
        """The names that distinguish a system from the others."""
        return {"system": system} | {
            key: getattr(self.systems[system], key) for key in ("role", "student", "mixture", "seed")
        }

    @property
    def compared(self) -> list[dict[str, str | int | None]]:
        """What is compared to explain the gap between teachers and students; an ensemble is one of the teachers."""
        teacher = {"role": "teacher", "mixture": None, "seed": None}
        teachers = [{"system": name, "student": name, **teacher} for name in self.imitable]
        return teachers + [self.about(name) for name in self.students]

    # What a system is made of

    def teachers_of(self, system: str) -> list[str]:
        """The teachers whose translations a system learned from."""
        return learned_from(self.config, self.systems[system].mixture)

    def corpora_of(self, system: str) -> list[dict[str, str | list | None]]:
        """The corpora that a system learned from, for its model card."""
        names, entries = weights(self.config, self.systems[system].mixture), self.config["corpora"]
        return [{"name": name} | {key: entries[name][key] for key in ("role", "licence", "url")} for name in names]

    def parent(self, system: str) -> str | None:
        """The checkpoint of a teacher that the training of a system begins with."""
        start = self.systems[system].start_from
        return self.averaged(start) if start else None

    def description(self, system: str) -> dict[str, str | int | None]:
        """What the model.json of a system says beyond its own files."""
        languages = {"source": self.pair[0], "target": self.pair[1]}
        longest = self.config["decoding"]["max_decoding_length"]
        return {"study": self.name, **self.about(system), **languages, "max_decoding_length": longest}

    # Mixtures

    def weights(self, name: str) -> dict[str, float]:
        """The corpora of a mixture with their weights."""
        return weights(self.config, name)

    @cached_property
    def mixtures(self) -> list[str]:
        """The mixtures of the configuration, and that of the teachers."""
        return list(dict.fromkeys([*self.config["mixtures"], ORIGINAL]))

    @property
    def epochs(self) -> range:
        """The numbers of the epochs that are drawn from a mixture."""
        return range(1, self.config["distillation"]["epochs"] + 1)

    def epochs_of(self, system: str) -> dict[str, str | range]:
        """The wildcards ``mixture`` and ``epoch`` of all epochs that a system learns from."""
        return {"mixture": self.systems[system].mixture, "epoch": self.epochs}

    @property
    def aligned_mixture(self) -> str:
        """What the vocabulary map is made of: the first mixture of translations, or the original text."""
        mixtures = self.config["mixtures"].items()
        return next((name for name, entry in mixtures if entry["targets"] != "original"), ORIGINAL)

    def mixed_corpus(self, name: str, corpus: str) -> str:
        """The file that a mixture draws from."""
        entry = mixture(self.config, name)
        if entry["targets"] == "original":
            return self.clean(corpus)
        if entry["drop_worst"]:
            return f"{self.folder}/training/{name}/{corpus}.tsv.zst"
        return self.scored_corpus(name, corpus)

    def scored_corpus(self, name: str, corpus: str) -> str:
        """The distilled corpus with the scores that a mixture drops the worst pairs by."""
        entry = self.config["mixtures"][name]
        reverse = "-reverse" if entry["drop_by"] == "reverse" and entry["drop_worst"] else ""
        return (
            f"{self.folder}/distilled/{entry['teacher'] or self.ensemble}/{entry['targets']}{reverse}/{corpus}.tsv.zst"
        )

    # Teachers

    @cached_property
    def translators(self) -> dict[str, Config]:
        """The entries of the models that distillation runs: the teachers and the reverse teacher."""
        reverse = self.config["reverse_teacher"]
        return self.config["teachers"] | ({REVERSE: reverse} if reverse else {})

    @cached_property
    def imported(self) -> dict[str, Config]:
        """The entries of teachers that are not trained here, the reverse one included, without what only informs."""
        entries = {name: entry for name, entry in self.translators.items() if not entry["shape"]}
        return {name: {k: v for k, v in entry.items() if k != "parameters"} for name, entry in entries.items()}

    def teacher_model(self, teacher: str) -> str:
        """The folder that a teacher translates with, of the engine that distils."""
        if teacher in self.imported:
            return self.imported_model(teacher, self.imported_format)
        folder = self.converted_native if self.teacher_engine == Native.name else self.converted
        return folder(teacher, self.teacher_type)

    @property
    def imported_format(self) -> str:
        """The name of the folder of every teacher from elsewhere."""
        return engines.ENGINES[self.teacher_engine].folder(self.teacher_type)

    def pieces_for(self, *teachers: str) -> list[str]:
        """The study's SentencePiece model if one of the teachers splits text with it."""
        return [self.sentencepiece] if any(splits_as_study(self.translators[name]) for name in teachers) else []

    def vocabulary_for(self, teacher: str) -> list[str]:
        """The study's vocabulary for an OpenNMT-tf run with the study's pieces, which may lack one of its own."""
        entry = self.translators[teacher]
        return [self.vocabulary] if entry["checkpoint"] and splits_as_study(entry) else []

    # Engines

    def runs_in_ctranslate2(self, system: str) -> bool:
        """Whether CTranslate2 has the architecture of a system."""
        return CTranslate2.runs(self.systems[system].shape)

    def native_source(self, system: str) -> str:
        """What a system is converted from for the native engine: CTranslate2's weights, or the checkpoint."""
        return self.converted(system, "float32") if self.runs_in_ctranslate2(system) else self.averaged(system)

    def quick_format(self, system: str) -> str:
        """The model folder that translates a system where nothing is timed."""
        folders = [self.types[0], Native.folder(self.types[0]), BASELINE]
        return next(name for name in folders if name in self.formats(system))

    def formats(self, system: str) -> list[str]:
        """The model folders that a system is exported to, one for each engine and type of weights."""
        return engines.folders(self.systems[system].shape, self.types, self.engines)

    def native(self, *systems: str, type: str = "int8") -> list[str]:
        """The folders of those of the systems that the native engine decodes."""
        return self._of_engine(Native, systems, type)

    def ctranslate2(self, *systems: str, type: str = "int8") -> list[str]:
        """The folders of those of the systems that CTranslate2 decodes."""
        return self._of_engine(CTranslate2, systems, type)

    def optimised(self, *systems: str, type: str = "int8") -> list[str]:
        """The folders of systems for all engines but OpenNMT-tf, CTranslate2's first."""
        return [*self.ctranslate2(*systems, type=type), *self.native(*systems, type=type)]

    def exact(self, *systems: str) -> list[str]:
        """One folder in float32 for each system that has one beside OpenNMT-tf's, CTranslate2's where it has one."""
        return [folder for system in systems for folder in self.optimised(system, type="float32")[:1]]

    def _of_engine(self, engine: type[engines.Engine], systems: Iterable[str], quantization: str) -> list[str]:
        name = engine.folder(quantization)
        return [self.model(system, name) for system in systems if name in self.formats(system)]

    @cached_property
    def engines(self) -> list[str]:
        """The engines that systems are exported to."""
        wanted = self.config["decoding"]["engines"]
        return [BASELINE, CTranslate2.name, *(name for name in wanted if name not in self.absent_engines)]

    @cached_property
    def absent_engines(self) -> list[str]:
        """Engines that the configuration names and that are not installed."""
        return [name for name in self.config["decoding"]["engines"] if not engines.ENGINES[name].supported()]

    @property
    def converted_types(self) -> list[str]:
        """The types of CTranslate2 that weights are converted to, for decoding, teachers and the native engine."""
        native = {"float32"} if Native.name in (*self.engines, self.teacher_engine) else {}
        teachers = {self.teacher_type} if self.teacher_engine == CTranslate2.name else {}
        return sorted({*self.types, *teachers, *native})

    @property
    def native_types(self) -> list[str]:
        """The types that weights are converted to for the native engine; float32 where it is not used."""
        wanted = {*self.types} if Native.name in self.engines else set()
        wanted |= {self.teacher_type} if self.teacher_engine == Native.name else set()
        return [type for type in Native.types if type in wanted] or ["float32"]

    @property
    def submitted_types(self) -> list[str]:
        """The names of the model folders that submissions are made of."""
        return [*self.converted_types, *(f"native-{type}" for type in self.native_types)]

    @cached_property
    def transformers(self) -> list[str]:
        """The measured systems that CTranslate2 has, students first."""
        return list(filter(self.runs_in_ctranslate2, self.exported))

    @cached_property
    def exported(self) -> list[str]:
        """The measured systems that another engine than OpenNMT-tf decodes, students first."""
        return sorted(filter(self.is_exported, self.measured), key=lambda name: name in self.teachers)

    def is_exported(self, system: str) -> bool:
        """Whether another engine than OpenNMT-tf decodes a system here."""
        return self.formats(system) != [BASELINE]

    # Maps, search and speed

    @property
    def map_system(self) -> str | None:
        """The system that the vocabulary map is fitted to."""
        students = (name for name in self.exported if name in self.students)
        return self.config["vocabulary_map"]["system"] or next(students, None)

    @property
    def map_weights(self) -> str:
        """What that system is decoded with before there is a map: CTranslate2's weights, or the native engine's."""
        converted = self.converted if self.runs_in_ctranslate2(self.map_system) else self.converted_native
        return converted(self.map_system, self.map_type)

    @property
    def quantized(self) -> str | None:
        """The student whose rounded weights are looked at layer by layer, in CTranslate2's files."""
        return next((name for name in self.transformers if name in self.students), None)

    @property
    def map_type(self) -> str:
        """The type that the map is fitted in."""
        return "int8" if "int8" in self.types else self.types[0]

    @property
    def searched(self) -> str | None:
        """The system whose search is measured."""
        return self.config["search"]["system"] or self.map_system

    def search_models(self, type: str) -> list[str]:
        """The folders of that system in a type, one for each engine but OpenNMT-tf, CTranslate2's first."""
        return [] if self.search_problem else self.optimised(self.searched, type=type)

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

    # Targets that not every study has

    @property
    def speed_problem(self) -> str | None:
        """Why the speed tables cannot be made, if so."""
        if not self.speed_systems and not self.untrained:
            return f"speed: OpenNMT-tf alone decodes what is trained in {self.name}, and speed.untrained names nothing"
        if lacking := {"float32", "int8"} - set(self.types):
            return f"decoding.compute_types: speed needs {' and '.join(sorted(lacking))}, too"
        return None

    @property
    def search_problem(self) -> str | None:
        """Why search cannot be measured, if so."""
        if self.searched in self.trained and self.is_exported(self.searched):
            return None
        return f"search.system: {self.searched} is none of the systems of this study that are trained here and exported"

    @property
    def maps_problem(self) -> str | None:
        """Why vocabulary maps cannot be compared, if so."""
        if self.config["vocabulary_map"]["grid"] is not None:
            return None
        return f"the study {self.name} tries no maps: give it a vocabulary_map.grid"
