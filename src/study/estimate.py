"""Estimate the time and disk that a study will take, before it runs, from rates measured on this machine (study.rates).

Trainings are counted in floating-point operations, decoding in pieces and parameters. The constants beside the rates
were fitted to two runs of the demo on two cores. GPUs cannot be measured before the jobs run on them, so their hours
are those of GPUs of a stated speed.
"""

from collections.abc import Iterable
from typing import Any

from decode.engines.native import Native
from formats.decoding import native
from formats.shape import shape
from study.plan import Study
from study.rates import WIDTH, Rates
from study.resources import TOKENS, operations, read_size, size, trained_tokens
from study.systems import System
from train.schedule import kept_checkpoints

STEP = 2.1  # time of a training step over that of its layers' products: attention, adding gradients up, Adam
NARROW = 105  # units of a layer whose products take as long as everything else in it
SECOND_THREAD = 0.6  # speed that each further thread adds to a training, in threads
TRAINING_STARTS = 3.0  # start, tracing and evaluations of a training, in imports of TensorFlow
JOB_STARTS = 4.0  # time of a job of Snakemake before its work begins, in starts of Python
RUN_STARTS = 4.0  # time of a measured run before its work begins, in starts of Python
BASELINE_STARTS = 8.0  # an OpenNMT-tf beam-4 run over 1,000 short sentences, in imports of TensorFlow
GREEDY = 0.4  # time of greedy search over that of beam 4
NATIVE = 0.4  # the time of the native engine, as a share of CTranslate2's
# The same in distillation by type, one core of a Zen 3, beams of 4 and 8 (benchmarks/engine_distillation.py).
NATIVE_TEACHER = {"float32": 0.8, "int16": 0.2, "int8": 0.5}
TEST_SENTENCES = 1000  # of a test set of unknown size
LINE_SECONDS = 1 / 45_000  # per pair: reading, all rules and gathering (results/reference/benchmarks/corpora.json)
TAUGHT_STARTS = 1 / 370  # per pair that the aligner learns from, in starts of Python
ALIGNED_STARTS = 1 / 1500  # per pair that is aligned and whose phrases are counted, in starts of Python
SENTENCE_BYTES = 150  # a pair
COPIES = 6  # of a pair: as record, as pieces and in shards, compressed or not
CANDIDATE_BYTES = 20  # a translation in an n-best list: similar texts compress well
CHECKPOINT_BYTES = 12  # per parameter: the weights and Adam's two moments in float32
MODEL_BYTES = 4 + 4 + 2 + 1  # per parameter: OpenNMT-tf, float32, int16, int8
GPU_TRAINING = 20e12  # floating-point operations per second that a GPU is assumed to sustain in training
GPU_DECODING = 2e12  # and in beam search
TEXT_JOBS, MODEL_JOBS, REPORT_JOBS = 4, 8, 70  # jobs per corpus, per system and per study
ALONE = "decoding and timing (alone on the machine)"
SCOPE = "of the target all; what only maps, speed and search make is not counted"


def estimate(config: dict[str, Any], cores: int, rates: Rates) -> str:
    """Core-minutes and GPU-hours by stage of the target all, the time on ``cores`` cores and the disk, as text.

    Corpora and models of unknown size count as nothing, and the text says so.
    """
    work = Work(config, rates)
    stages, on_gpu = work.stages(cores), work.gpu_hours()
    rows = [f"  {name:<45}{sum(jobs) / 60:>10,.1f} core-minutes" for name, jobs in stages.items()]
    rows += [
        f"  {name + ', on GPUs':<45}{hours:>10,.1f} hours of a GPU that sustains {speed / 1e12:.0f} TFLOP/s"
        for name, (hours, speed) in on_gpu.items()
    ]
    alone = stages.pop(ALONE)
    wall = sum(makespan(jobs, cores) for jobs in stages.values()) + sum(alone)
    total = f"about {duration(wall)} on {cores} {'cores' if cores > 1 else 'core'}"
    total += " beside the GPUs" * bool(on_gpu) + f", {work.disk() / 1e9:,.1f} GB of disk"
    notes = [SCOPE, *([f"not counted, size unknown: {', '.join(work.unknown)}"] if work.unknown else [])]
    return "\n".join([f"Estimate for the study {config['study']}: {total}", *rows, *(f"  {note}" for note in notes)])


class Work:
    """The work of a study, in seconds of one core of this machine, and of a GPU.

    unknown: names of corpora and models that do not count, as their size is not known before they are there.
    """

    def __init__(self, config: dict[str, Any], rates: Rates):
        self._config, self._rates, self._entries = config, rates, config["vocabulary"]["pieces"]
        corpora = {k: v for k, v in config["corpora"].items() if v["role"] in ("train", "monolingual")}
        self._read = sum(read_size(corpus) or 0 for corpus in corpora.values())
        sizes = {name: size(corpus) for name, corpus in corpora.items()}
        self._pairs = sum(number or 0 for number in sizes.values())
        self._epoch = config["distillation"]["epoch_pairs"] or self._pairs
        study = Study(config)
        of_native = study.teacher_engine == Native.name
        self._teachers_share = NATIVE_TEACHER[study.teacher_type] if of_native else 1.0
        self._trained = [study.systems[name] for name in study.trained]
        self._measured = [study.systems[name] for name in study.measured]
        self.unknown = [name for name, number in sizes.items() if number is None]
        self.unknown += [system.name for system in self._trained if not self._parameters(system)]
        self.unknown += [f"teacher {name}" for name in study.teachers if name not in study.trained]

    def stages(self, cores: int) -> dict[str, list[float]]:
        """The jobs of each stage, which run side by side, in seconds of one core each."""
        config, rates = self._config, self._rates
        on_cpu = [system for system in self._trained if system.training["device"] == "cpu"]
        original = [system for system in on_cpu if self._learns_from_originals(system)]
        texts = self._read * LINE_SECONDS + len(config["corpora"]) * TEXT_JOBS * JOB_STARTS * rates.python
        on_gpu = config["distillation"]["device"] == "cuda"
        translated = 0.0 if on_gpu else self._translated() * rates.decoded * self._teachers_share
        aligned = min(self._pairs, config["alignment"]["pairs"]) * TAUGHT_STARTS + self._pairs * ALIGNED_STARTS
        exported = (aligned + len(self._trained) * MODEL_JOBS * JOB_STARTS) * rates.python
        return {
            "corpora and vocabulary": [texts / cores] * cores,
            "training on original data": [self._training_seconds(system) for system in original],
            "distillation": [translated / cores] * cores,
            "training on translations": [self._training_seconds(s) for s in on_cpu if s not in original],
            "alignment and export": [exported / cores] * cores,
            ALONE: [self._timing_seconds(system) for system in self._measured],
            "report": [REPORT_JOBS * JOB_STARTS * rates.python / cores] * cores,
        }

    def gpu_hours(self) -> dict[str, tuple[float, float]]:
        """Hours of one GPU by stage, and the floating-point operations per second that they assume."""
        hours: dict[str, tuple[float, float]] = {}
        if training := [system for system in self._trained if system.training["device"] == "cuda"]:
            trained = sum(self._training_operations(system) for system in training)
            hours["training"] = (trained / GPU_TRAINING / 3600, GPU_TRAINING)
        if self._config["distillation"]["device"] == "cuda":
            # Two operations per parameter for each hypothesis of a beam.
            decoded = self._translated() * 1e6 * 2 * self._config["distillation"]["beam_size"]
            hours["distillation"] = (decoded / GPU_DECODING / 3600, GPU_DECODING)
        return hours

    def disk(self) -> float:
        """Bytes of texts, checkpoints and models."""
        lists = self._config["distillation"]["n_best"] * len(self._config["teachers"])
        texts = self._pairs * (SENTENCE_BYTES * COPIES + CANDIDATE_BYTES * lists)
        texts += (self._read - self._pairs) * SENTENCE_BYTES
        models = (
            self._parameters(system) * (CHECKPOINT_BYTES * kept_checkpoints(system.training) + MODEL_BYTES)
            for system in self._trained
        )
        return texts + sum(models)

    def _parameters(self, system: System) -> float:
        return float(shape(system.shape).parameters(self._entries) or 0)

    def _learns_from_originals(self, system: System) -> bool:
        return system.role in ("teacher", "control")

    def _translated(self) -> float:
        """Translated pieces times millions of parameters of the teachers that are trained here."""
        parameters = sum(self._parameters(system) for system in self._trained if system.role == "teacher")
        return self._pairs * TOKENS * parameters / 1e6

    def _training_operations(self, system: System) -> float:
        return trained_tokens(system.training, self._epoch) * (operations(system.shape, self._entries) or 0)

    def _training_seconds(self, system: System) -> float:
        """Core-seconds; several threads take more than one."""
        tokens, threads = trained_tokens(system.training, self._epoch), system.training["threads"]
        width = getattr(shape(system.shape), "units", WIDTH)
        wide = (1 + NARROW / width) / (1 + NARROW / WIDTH)  # wider layers take less time per operation
        seconds = STEP * wide * self._training_operations(system) * self._rates.product
        seconds += tokens / 2 * self._entries * self._rates.logit
        seconds += TRAINING_STARTS * self._rates.tensorflow
        return seconds * threads / (1 + SECOND_THREAD * (threads - 1))

    def _timing_seconds(self, system: System) -> float:
        """All types and beams, with and without the map: the first test set repeatedly, other sets once."""
        decoding, corpora = self._config["decoding"], self._config["corpora"].values()
        roles = ("test",) if system.role == "teacher" else ("test", "dev")
        first, *others = [size(corpus) or TEST_SENTENCES for corpus in corpora if corpus["role"] in roles]
        times = decoding["runs"] if system.role == "student" else 1
        runs = sum(times if native(type) else 1 for type in decoding["compute_types"])
        piece = self._parameters(system) / 1e6 * self._rates.decoded * TOKENS
        searches = sum(GREEDY if beam == 1 else beam / 4 for beam in decoding["beam_sizes"])
        seconds = 2 * searches * piece * (runs * first + len(decoding["compute_types"]) * sum(others))
        seconds *= 1 + NATIVE * len(decoding["engines"])
        starts = 2 * len(decoding["beam_sizes"]) * runs * (1 + len(decoding["engines"]))
        seconds += starts * RUN_STARTS * self._rates.python
        return seconds + times * BASELINE_STARTS * self._rates.tensorflow * first / TEST_SENTENCES


def makespan(jobs: Iterable[float], cores: int) -> float:
    """Seconds from start to end if jobs of one core each run side by side, the longest first."""
    busy = [0.0] * cores
    for job in sorted(jobs, reverse=True):
        busy[busy.index(min(busy))] += job
    return max(busy)


def duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600)):
        if seconds > 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds / 60:,.0f} minutes"
