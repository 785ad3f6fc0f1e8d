"""What a run of a study lacks on this machine, asked when its first job is about to start.

Nothing of this is asked when the workflow is read: a configuration and its plan are the same on every machine.
"""

import importlib.util
from collections.abc import Iterator

from decode.engines.ctranslate2 import CTranslate2
from formats import ctranslate2_products
from nmt_frontier import machine
from nmt_frontier.search.native import Native
from study.plan import StudyPlan
from study.systems import teacher_key

NOT_BUILT = "the native engine is not installed here: run make install"


def problems(study: StudyPlan) -> Iterator[str]:
    """A line for each reason why the study cannot run here."""
    config = study.config
    for number, name in enumerate(config.decoding.compute_types):
        if name in CTranslate2.types:  # others are the native engine's, which are the same on every machine
            yield from _type_problems(f"decoding.compute_types.{number}", name)
    on_cpu = study.teachers.engine == CTranslate2.name and config.distillation.device == "cpu"
    if study.teachers.computed and on_cpu:
        yield from _type_problems("distillation.compute_type", study.teachers.type)
    if not Native.supported():
        yield from _without_native(study)


def _type_problems(path: str, name: str) -> Iterator[str]:
    """A line for a type that CTranslate2 lacks on this machine."""
    if "bfloat16" in name and importlib.util.find_spec("torch") is None:
        yield f"{path}: {name!r} needs PyTorch, which is no dependency: pip install torch"
    elif name not in (supported := CTranslate2.supported()):
        yield f"{path}: {name!r} is not supported on this CPU; supported: {', '.join(supported)}"


def _without_native(study: StudyPlan) -> Iterator[str]:
    """A line for each model that CTranslate2 does not decode in place of the native engine, or does not teach."""
    for name in study.teachers.computed if study.teachers.engine == Native.name else ():
        key = teacher_key(study.config, name)
        if name in study.teachers.imported:
            yield f"{key}: {NOT_BUILT}, or set distillation: {{engine: ctranslate2}}"
        elif not study.models.runs_in_ctranslate2(name):
            yield f"{key}: {NOT_BUILT}; no other engine translates with it"
    for name, student in study.config.students.items():
        if student.words:
            yield f"students.{name}.words: {NOT_BUILT}; no other engine tells the most probable pieces"
    if alone := [name for name in study.models.exported if not study.models.runs_in_ctranslate2(name)]:
        yield f"{', '.join(alone)}: {NOT_BUILT}, or set decoding: {{engines: []}} to measure OpenNMT-tf alone"


def warnings(study: StudyPlan) -> Iterator[str]:
    """A line for each thing that this machine does in another way than the study says, or less well."""
    config, here = study.config, machine.cores()
    if lacking := [core for core in config.decoding.cores if core not in here]:
        usable = ", ".join(map(str, here))
        yield f"decoding.cores: {', '.join(map(str, lacking))} cannot be used here; this process may use {usable}"
    absent = "is not installed here; CTranslate2"
    if not Native.supported() and Native.name in study.models.engines:
        others = "the targets speed and search need decoding: {engines: []}"
        yield f"decoding.engines: {Native.name} {absent} decodes in its place, but {others}"
    if not Native.supported() and study.teachers.computed and study.teachers.engine == Native.name:
        yield f"distillation.engine: {Native.name} {absent} translates in its place, in float32"
    saturating = study.teachers.engine == CTranslate2.name and config.distillation.device == "cpu"
    if study.teachers.computed and saturating and study.teachers.type.startswith("int8"):
        yield from filter(None, [ctranslate2_products.warning("distillation.compute_type")])
