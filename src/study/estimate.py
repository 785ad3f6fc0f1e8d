"""Estimate the time and disk that a study will take, from its work and the rates of a machine.

GPUs cannot be measured before the jobs run on them, so their hours are those of GPUs of an assumed speed.
"""

from collections.abc import Iterable

from study.asking import asking
from study.configuration import StudyConfiguration
from study.jobs import jobs as planned
from study.rates import Rates, shipped
from study.systems import BACKWARD, Trained
from study.workload import GPU_DECODING, GPU_TRAINING, JOB_STARTS, MODEL_JOBS, REPORT_JOBS, StudyStage, Work

LINE_SECONDS = 1 / 45_000  # per pair: reading, all rules and gathering (results/reference/benchmarks/corpora.json)
TAUGHT_STARTS = 1 / 370  # per pair that the aligner learns from, in starts of Python
ALIGNED_STARTS = 1 / 1500  # per pair that is aligned and whose phrases are counted, in starts of Python
TEXT_JOBS = 4  # per corpus
ALONE = "decoding and timing (alone on the machine)"
SCOPE = "of the target all; what only maps, speed and search make is not counted"


def estimate(config: StudyConfiguration, cores: int, rates: Rates) -> str:
    """Core-minutes and GPU-hours by stage of the target all, the time on ``cores`` cores and the disk, as text.

    Corpora and models of unknown size count as nothing, and the text lists them.
    """
    work = Work(config, rates)
    jobs, on_gpu = stages(work), gpu_hours(work)
    rows = [f"  {name:<45}{sum(seconds) / 60:>10,.1f} core-minutes" for name, seconds in jobs.items()]
    rows += [
        f"  {name + ', on GPUs':<45}{hours:>10,.1f} hours of a GPU that sustains {speed / 1e12:.0f} TFLOP/s"
        for name, (hours, speed) in on_gpu.items()
    ]
    rows += [f"  {f'{each.teacher}, over HTTP':<45} about {each.text}" for each in asking(work)]
    total = f"about {duration(wall_seconds(work, cores))} on {of_cores(cores)}"
    others = "the GPUs" * bool(on_gpu), "the teachers over HTTP" * bool(work.study.teachers.asked)
    total += (
        f" beside {' and '.join(filter(None, others))}" * any(others)
        + f", {sum(work.disk().values()) / 1e9:,.1f} GB of disk"
    )
    notes = [
        *([f"from {rates.origin}"] if rates.origin else []),
        SCOPE,
        *(["not counted: scores by programs of other environments"] if work.study.teachers.scores else []),
        *(f"not counted: the score {name}, by {what}" for name, what in work.study.scores.uncounted.items()),
        *([f"not counted, size unknown: {', '.join(work.unknown)}"] if work.unknown else []),
    ]
    return "\n".join([f"Estimate for the study {config.study}: {total}", *rows, *(f"  {note}" for note in notes)])


def wall_seconds(work: Work, cores: int) -> float:
    """Seconds from the start of a study to its end, without the time on GPUs."""
    jobs = stages(work)
    alone = jobs.pop(ALONE)
    return sum(makespan(seconds, cores) for seconds in jobs.values()) + sum(alone)


def stages(work: Work) -> dict[str, list[float]]:
    """The jobs of each stage on the CPU, which run side by side, in seconds of one core each."""
    config, python = work.config, work.rates.python
    on_cpu = [system for system in work.trained if not work.trained_on_gpu(system)]
    original = [system for system in on_cpu if system.role in ("teacher", "control")]
    texts = sum(work.read.values()) * LINE_SECONDS + len(config.corpora) * TEXT_JOBS * JOB_STARTS * python
    translated = 0.0 if work.teachers_on_gpu else all_translations(work) + all_rescoring(work)
    translated += sum(work.words_seconds(teacher, mixture) for teacher, mixture, _ in work.words)
    aligned = min(work.pairs, config.alignment.pairs) * TAUGHT_STARTS + work.pairs * ALIGNED_STARTS
    exported = (aligned + len(work.trained) * MODEL_JOBS * JOB_STARTS) * python
    shards = config.distillation.shards * sum(len(work.translators(corpus)) for corpus in work.selected)
    selections = config.distillation.shards * sum(map(len, work.selected.values()))
    shards += config.distillation.shards * config.distillation.epochs * len(work.words)
    groups = [group for group in planned(work, shipped().text) if group.stage == StudyStage.SCORES]
    scores = [each.seconds for each in groups if not each.gpus for _ in range(each.number * (each.cores or 1))]
    return {
        **({StudyStage.SCORES.value: scores} if groups else {}),
        "corpora and vocabulary": _divided(texts, len(config.corpora) * config.cleaning_shards),
        **back_translation(work),
        "training on original data": trainings(work, original),
        "distillation": _divided(translated, shards) + _divided(all_selections(work), selections),
        "training on translations": trainings(work, [system for system in on_cpu if system not in original]),
        "alignment and export": _divided(exported, max(config.alignment.shards, len(work.trained))),
        ALONE: [work.timing_seconds(system) for system in work.measured],
        "report": _divided(REPORT_JOBS * JOB_STARTS * python, REPORT_JOBS),
    }


def back_translation(work: Work) -> dict[str, list[float]]:
    """The training of the backward teacher and its translations, if a study has any, as a stage."""
    if not work.back_translated:
        return {}
    shards = work.config.distillation.shards * len(work.back_translated)
    translated = 0.0 if work.teachers_on_gpu else all_back_translations(work)
    trained = [system for system in work.learners if system.role == BACKWARD and not work.trained_on_gpu(system)]
    return {"back-translation": [*trainings(work, trained), *_divided(translated, shards)]}


def _divided(seconds: float, jobs: int) -> list[float]:
    """Work in jobs of equal length."""
    return [seconds / jobs] * jobs if jobs else []


def trainings(work: Work, systems: Iterable[Trained]) -> list[float]:
    """Core-seconds of trainings, one entry for each of their threads, which run side by side."""
    threads = [(work.training_seconds(system), system.training.threads) for system in systems]
    return [seconds / number for seconds, number in threads for _ in range(number)]


def gpu_hours(work: Work) -> dict[str, tuple[float, float]]:
    """Hours of one GPU by stage, and the floating-point operations per second that they assume."""
    hours: dict[str, tuple[float, float]] = {}
    if training := [system for system in work.learners if work.trained_on_gpu(system)]:
        hours["training"] = (sum(map(work.training_seconds, training)) / 3600, GPU_TRAINING)
    model = work.study.scores.section.model
    if work.scorers and model and model.training.device == "cuda":
        hours["scores of the corpora"] = (sum(map(work.scorer_seconds, work.scorers)) / 3600, GPU_TRAINING)
    if work.teachers_on_gpu and work.back_translated:
        hours["back-translation"] = (all_back_translations(work) / 3600, GPU_DECODING)
    if work.teachers_on_gpu and work.selected:
        hours["distillation"] = (all_translations(work) / 3600, GPU_DECODING)
        if work.rescores:
            hours["rescoring"] = (all_rescoring(work) / 3600, GPU_TRAINING)
    return hours


def all_translations(work: Work) -> float:
    """Seconds of the translations by teachers that something is learned from."""
    todo = ((name, work.sizes[corpus]) for corpus in work.selected for name in work.translators(corpus))
    return sum(work.translation_seconds(name, sentences) for name, sentences in todo)


def all_selections(work: Work) -> float:
    """Seconds to choose among hypotheses."""
    todo = ((each, work.sizes[corpus]) for corpus, selections in work.selected.items() for each in selections)
    return sum(work.selection_seconds(each, sentences) for each, sentences in todo)


def all_back_translations(work: Work) -> float:
    """Seconds of the translations by the backward teacher."""
    return sum(work.translation_seconds(BACKWARD, work.sizes[corpus]) for corpus in work.back_translated)


def all_rescoring(work: Work) -> float:
    """Seconds of the ensemble that scores them."""
    todo = ((name, work.sizes[corpus]) for corpus in work.selected for name in work.rescored(corpus))
    return sum(work.rescoring_seconds(name, sentences) for name, sentences in todo)


def makespan(jobs: Iterable[float], cores: int) -> float:
    """Seconds from start to end if jobs of one core each run side by side, the longest first."""
    busy = [0.0] * cores
    for job in sorted(jobs, reverse=True):
        busy[busy.index(min(busy))] += job
    return max(busy)


def of_cores(number: int) -> str:
    return f"{number} core{'s' * (number > 1)}"


def duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600)):
        if seconds > 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds / 60:,.0f} minutes"
