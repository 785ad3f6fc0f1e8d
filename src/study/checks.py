"""Rules that a JSON schema cannot express: they tie the keys of a configuration to each other."""

from collections.abc import Iterator

from corpora.language_codes import means
from corpora.settings import TARGET_ONLY, Corpus
from corpora.sources import SOURCES, given, source_of
from corpora.sources.source import languages, sides
from decode import engines
from decode.engines.ctranslate2 import CTranslate2
from findings.cost import PRICES
from findings.metrics import bleu
from formats.shape import Values, registry
from nmt_frontier.errors import UserError
from nmt_frontier.search.engine import Engine
from nmt_frontier.search.native import Native
from study import back_translation_checks, candidate_checks, http_checks, score_checks, system_checks, word_checks
from study.configuration import StudyConfiguration
from study.configuration.systems import AugmentationSection, MixtureSection
from study.expansion import listed_prices
from study.plan import StudyPlan
from study.precision import default_type, engine, obstacle, shapes
from study.resources import read_size
from study.schema import RESERVED, suggestion
from study.systems import (
    BACKWARD,
    ORIGINAL,
    all_teachers,
    assistants,
    back_translated,
    learned_from,
    splits_as_study,
    students,
    systems,
    teacher_entry,
    trained_before,
    untrained,
)
from train.settings import PLACED

__all__ = ["place_problems", "problems", "teacher_problems"]

ROLES_NEEDED = ("train", "dev", "test")
WIDEST_BEAM = 256  # of the native engine (engine/search/search.cpp)
COMPARED = "these tables compare it with other engines"


def problems(config: StudyConfiguration) -> Iterator[str]:
    """A line for each problem of an expanded configuration, ``<path of the key>: <what is wrong>``."""
    if config.study == RESERVED:
        yield f"study: {RESERVED!r} is taken, results/{RESERVED} is part of the repository"
    if means(config.target, config.source):
        yield f"target: {config.target!r} is the source language too"
    try:
        bleu(config.target)
    except UserError as error:
        yield f"target: {error}"
    if isinstance(name := config.prices.machine, str):
        listed = ", ".join(listed_prices())
        yield f"prices.machine: {name!r} is none of {listed}; name one, or give an entry like those of {PRICES.name}"
    yield from system_checks.problems(config)
    yield from mixture_problems(config)
    yield from candidate_checks.problems(config)
    yield from http_checks.mixture_problems(config)
    yield from back_translation_checks.problems(config)
    yield from corpus_problems(config)
    yield from score_checks.problems(config)
    yield from vocabulary_problems(config)
    measured: list[type[Engine]] = [CTranslate2, *(engines.ENGINES[name] for name in config.decoding.engines)]
    for number, name in enumerate(config.decoding.compute_types):
        yield from _type_problems(f"decoding.compute_types.{number}", name, *measured)
    yield from timing_problems(config)


def corpus_problems(config: StudyConfiguration) -> Iterator[str]:
    corpora = config.corpora
    roles = {corpus.role for corpus in corpora.values()}
    yield from (f"corpora: none has the role {role}" for role in ROLES_NEEDED if role not in roles)
    texts: dict[str, str] = {}  # the path of the corpus that was the first to have each text
    for name, corpus in corpora.items():
        path = f"corpora.{name}"
        if len(keys := given(corpus)) == 1:
            source = source_of(name, corpus, [config.source, config.target])
            yield from (f"{path}.{problem}" for problem in source.problems())
            if source.identity in texts:
                yield f"{path}{source.text_key}: is the text of {texts[source.identity]}"
            texts[source.identity] = path
        else:
            yield f"{path}: needs exactly one source of {', '.join(SOURCES)}; it has {' and '.join(keys) or 'none'}"
        if (most := read_size(corpus)) and (corpus.sample or 0) > most:
            yield f"{path}.sample: {corpus.sample:,} lines of {most:,}; take fewer, or all with null"
        yield from _cleaning_problems(path, corpus, config)
        yield from score_checks.corpus_problems(path, corpus, config.scores)


def _cleaning_problems(path: str, corpus: Corpus, config: StudyConfiguration) -> Iterator[str]:
    if corpus.role in ("dev", "test"):
        if corpus.cleaning != config.cleaning:
            yield f"{path}.cleaning: {corpus.role} sets are never filtered"
        if corpus.sample:
            yield f"{path}.sample: {corpus.role} sets are taken whole, or up to max_lines"
        return
    candidates, codes = corpus.cleaning.langid_languages, languages(corpus, [config.source, config.target])
    for side, code in zip(sides(corpus), codes, strict=True):
        if side in corpus.cleaning.langid and candidates and not any(means(label, code) for label in candidates):
            yield f"{path}.cleaning.langid_languages: {code}, the language of the {side} side, is not among them"


def teacher_problems(config: StudyConfiguration) -> Iterator[str]:
    """Problems of the engine and the type that the teachers compute in, once they are chosen (study.precision)."""
    distillation, used = config.distillation, engines.ENGINES[engine(config)]
    yield from _type_problems("distillation.compute_type", distillation.compute_type or default_type(config), used)
    why = obstacle(config)
    remedy = f", but {Native.name} {why}" if why else ": distillation: {engine: native}"
    for path, shape in shapes(config).items():
        if refused := engines.refusal(used, shape, (CTranslate2.name, Native.name)):
            yield f"{path}.shape: {refused}{remedy}"
    if used.name == Native.name:
        yield from _beam_problems(config)
    if distillation.sampling and not StudyPlan(config).teachers.computed:
        own = "their own samples (http.candidates, http.temperature)"
        yield f"distillation.sampling: all teachers answer over HTTP, which have {own}; leave it out"
    elif distillation.sampling and not used.samples:
        yield f"distillation.sampling: {used.label} draws no samples here{remedy}"
    if config.back_translation and config.back_translation.sampling and not used.samples:
        yield f"back_translation.sampling: {used.label} draws no samples here{remedy}"
    yield from word_checks.engine_problems(config, remedy)
    for name, mixture in config.mixtures.items():
        if mixture.candidates and mixture.candidates.sampling and not used.samples:
            yield f"mixtures.{name}.candidates.sampling: {used.label} draws no samples here{remedy}"
        if mixture.ensemble == "token_by_token" and not used.ensembles:
            yield f"mixtures.{name}.ensemble: {used.label} decodes with one model{remedy}; or take rescoring"


def _beam_problems(config: StudyConfiguration) -> Iterator[str]:
    """Beams that are wider than the native engine has any."""
    made = {f"mixtures.{name}.candidates": each.candidates for name, each in config.mixtures.items()}
    sections = {"distillation": config.distillation, "back_translation": config.back_translation, **made}
    for path, section in sections.items():
        if section and not section.sampling and (section.beam_size or 0) > WIDEST_BEAM:
            wider = f"the native engine has beams of {WIDEST_BEAM} at most"
            yield f"{path}.beam_size: {wider}; take fewer, or distillation: {{engine: {CTranslate2.name}}}"


def place_problems(config: StudyConfiguration) -> Iterator[str]:
    """The alignment of a study without other problems must not need the epochs that it is for."""
    mixtures = StudyPlan(config).mixtures
    before = trained_before(config, mixtures.aligned_corpora.values())
    for name in filter(mixtures.aligner, mixtures.names):
        path = f"mixtures.{name}.augmentation.places: aligned needs"
        if name == config.vocabulary.of:
            yield f"{path} the vocabulary, which is learned from this mixture (vocabulary.of); take edges"
        if trained := " and ".join(sorted(system.name for system in before.values() if system.mixture == name)):
            yield f"{path} translations by {trained}, trained on this mixture; take edges"
    for system in before.values():
        if system.training.alignment:
            made = f"guided by links that are made of {mixtures.aligned}, for which {system.name} has to be trained"
            yield f"students.{system.student}.training.alignment: {made}; leave it out, or begin with another mixture"


def _type_problems(path: str, name: str, *used: type[Engine]) -> Iterator[str]:
    """A line for a type that none of the engines has on any machine."""
    supported = dict.fromkeys(type for engine in used for type in engine.types)
    if name not in supported:
        yield f"{path}: {name!r} is not supported; supported: {', '.join(supported)}"


def mixture_problems(config: StudyConfiguration) -> Iterator[str]:
    for name, mixture in config.mixtures.items():
        if name == ORIGINAL and mixture.targets != "original":
            yield f"mixtures.{name}.targets: this name is that of the teachers' data"
        yield from _mixture_problems(f"mixtures.{name}", mixture, config)


def _mixture_problems(path: str, mixture: MixtureSection, config: StudyConfiguration) -> Iterator[str]:
    original = mixture.targets == "original"
    if not (original or config.teachers or mixture.teacher):
        yield f"{path}.targets: {mixture.targets} needs teachers; without any all targets are original"
    if mixture.teacher not in (None, *config.teachers, *assistants(config)):
        names = ", ".join(config.teachers), ", ".join(system.name for system in students(config))
        yield f"{path}.teacher: {mixture.teacher!r} is not one of the teachers {names[0]} or of the students {names[1]}"
    for corpus in mixture.weights or ():
        role = config.corpora[corpus].role if corpus in config.corpora else None
        back = [TARGET_ONLY] * bool(config.back_translation)
        allowed = ["train", *back] if original else ["train", "monolingual"]
        if role not in allowed:
            yield f"{path}.weights.{corpus}: is not a corpus with the role {' or '.join(allowed)}"
    if original and mixture.teacher:
        yield f"{path}.teacher: original targets are no teacher's"
    if original and mixture.drop_worst:
        yield f"{path}.drop_worst: original targets have no scores"
    if mixture.ensemble == "token_by_token":
        yield from _ensemble_problems(f"{path}.ensemble", mixture, config)
    if mixture.augmentation:
        yield from _augmentation_problems(f"{path}.augmentation", mixture.augmentation, original)


def _augmentation_problems(path: str, augmentation: AugmentationSection, original: bool) -> Iterator[str]:
    if (rates := sum([*augmentation.both_sides.values(), *augmentation.meant.values()])) > 1:
        yield f"{path}.both_sides: changes {rates:g} times as many pairs as there are; a pair changes once"
    if augmentation.places == "aligned" and PLACED.isdisjoint(augmentation.both_sides):
        makes_none = "aligned says where copies stand, and no rule of both_sides makes any"
        yield f"{path}.places: {makes_none}; add one, such as url, or take edges"
    if augmentation.source and original:
        yield f"{path}.source: no teacher translates original targets anew; rules of `meant` leave them as they are"
    if (rates := sum(augmentation.source.values())) >= 1:
        yield f"{path}.source: {rates:g} of the pairs leave none as they are; the shares add up to less than 1"


def _ensemble_problems(path: str, mixture: MixtureSection, config: StudyConfiguration) -> Iterator[str]:
    """What keeps all teachers from translating together, token by token."""
    if mixture.targets == "original" or mixture.teacher or len(config.teachers) < 2:
        yield f"{path}: token_by_token is for translations by several teachers (teacher: null)"
        return
    (own, first), *others = config.teachers.items()
    for name, teacher in others:
        if (teacher.tokenization, teacher.prefix) != (first.tokenization, first.prefix):
            differs = f"{name} has another tokenization or prefix than {own}"
            yield f"{path}: token_by_token needs teachers of one vocabulary, but {differs}; take rescoring"


def vocabulary_problems(config: StudyConfiguration) -> Iterator[str]:
    """A vocabulary that is learned from translations must not be needed to make these."""
    of, path = config.vocabulary.of, "vocabulary.of"
    if of is None:
        return
    if of not in config.mixtures:
        yield f"{path}: {of!r} is not one of the mixtures {', '.join(config.mixtures)}"
        return
    backward = [BACKWARD] if back_translated(config, of) else []
    for name in [*learned_from(config, of), *backward]:
        if splits_as_study(teacher := teacher_entry(config, name)):
            trained = teacher.shape or name not in all_teachers(config)
            remedy = "take a teacher from elsewhere" if trained else "give it a tokenization of its own"
            yield f"{path}: {of} is made by {name}, which splits text with this vocabulary itself; {remedy}"


def timing_problems(config: StudyConfiguration) -> Iterator[str]:
    for number, name in enumerate(config.speed.systems):
        yield from _system_problems(config, f"speed.systems.{number}", name, COMPARED)
    for number, system in enumerate(untrained(config)):
        if system.shape is None:
            unknown = f"unknown shape {system.student!r}{suggestion(system.student, list(registry()))}"
            yield f"speed.untrained.{number}: {unknown}"
    if searched := config.search.system:
        yield from _system_problems(config, "search.system", searched, "search compares engines")
    for number, name in enumerate(config.robustness.systems if config.robustness else ()):
        yield from _system_problems(config, f"robustness.systems.{number}", name, "it has none of the types")
    for number, name in enumerate(config.robustness.types if config.robustness else ()):
        yield from _type_problems(f"robustness.types.{number}", name, CTranslate2)
        if name not in {*config.decoding.compute_types, "float32", "int8"}:
            yield f"robustness.types.{number}: {name} is none of decoding.compute_types; add it there"
    for number, name in enumerate(config.decoding.in_every_engine or ()):
        yield from _system_problems(config, f"decoding.in_every_engine.{number}", name, "no engine is left out")
    if len(config.decoding.cores) < config.decoding.workers:
        yield "decoding.workers: a worker needs a core of its own; name more of decoding.cores"
    if mapped := config.vocabulary_map.system:
        yield from _system_problems(config, "vocabulary_map.system", mapped, "it has no map")
    elif config.vocabulary_map.grid is not None and not any(
        _optimised(config, student.shape.document) for student in config.students.values()
    ):
        yield "vocabulary_map.grid: the map is fitted to a student, and OpenNMT-tf alone decodes these; it has no map"


def _system_problems(config: StudyConfiguration, key: str, name: str, reason: str) -> Iterator[str]:
    """Checks that a system that a key names is trained here and decoded by another engine than OpenNMT-tf."""
    trained = {system.name: system.shape for system in systems(config) if system.shape}
    if name not in trained:
        yield f"{key}: {name!r} is not one of the systems {', '.join(trained)}"
    elif not _optimised(config, trained[name]):
        yield f"{key}: {name} is decoded by OpenNMT-tf alone; {reason}"


def _optimised(config: StudyConfiguration, shape: Values) -> bool:
    """Whether an engine other than OpenNMT-tf decodes this shape in a type that the study exports."""
    decoding = config.decoding
    others = engines.running(shape, (CTranslate2.name, *decoding.engines))
    return any(engine.exported(decoding.compute_types) for engine in others)
