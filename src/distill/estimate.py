"""What a study will take, before it runs: time and disk, from rates measured on this machine (distill.rates).

Trainings are counted in floating-point operations, decoding in pieces and parameters. The factors beside the rates were
fitted to two runs of the demo on two cores. What runs on GPUs is counted for GPUs of a stated speed, as none can be
measured before the jobs are on them.
"""

from collections.abc import Iterable
from typing import Any

from distill.rates import WIDTH, Rates
from distill.resources import TOKENS, operations, read_size, size, trained_tokens
from distill.schedule import kept_checkpoints
from distill.systems import System, systems, teachers
from formats.decoding import native
from formats.shape import shape

STEP = 2.1  # operations of a step over those of its layers: attention, gradients that are added up, Adam
NARROW = 105  # units of a layer whose products take as long as all else in it
SECOND_THREAD = 0.6  # what each further thread of one training adds
TRAINING_STARTS = 3.0  # start, tracing and evaluations of a training, in imports of TensorFlow
JOB_STARTS = 4.0  # what a job of Snakemake takes before its work begins, in starts of Python
RUN_STARTS = 4.0  # likewise a measured run
BASELINE_STARTS = 8.0  # an OpenNMT-tf beam-4 run over 1,000 short sentences, in imports of TensorFlow
GREEDY = 0.4  # the time of greedy search over that of beam 4
TEST_SENTENCES = 1000  # of a test set of unknown size
LINE_SECONDS = 1 / 45_000  # reading, all rules and gathering, a pair (results/reference/benchmarks/corpora.json)
TAUGHT_STARTS = 1 / 370  # a pair that teaches the aligner, and
ALIGNED_STARTS = 1 / 1500  # aligning a pair and counting its phrases, in starts of Python
SENTENCE_BYTES = 150  # a pair as record, as pieces and as shard, compressed or not, all copies together: 6 times this
COPIES = 6
CANDIDATE_BYTES = 20  # a translation in an n-best list: alike as they are, they compress well
CHECKPOINT_BYTES = 12  # a parameter: the weights and Adam's two moments in float32
MODEL_BYTES = 4 + 4 + 2 + 1  # a parameter: OpenNMT-tf, float32, int16, int8
GPU_TRAINING = 20e12  # floating-point operations a second that a GPU is assumed to sustain in training,
GPU_DECODING = 2e12  # and in beam search
TEXT_JOBS, MODEL_JOBS, REPORT_JOBS = 4, 8, 70  # jobs a corpus, a system and a study
ALONE = "decoding and timing (alone on the machine)"
SCOPE = "of the target all; what only maps, speed and search make is not counted"


def estimate(config: dict[str, Any], cores: int, rates: Rates) -> str:
    """Core-minutes and GPU-hours by stage of the target all, the time on ``cores`` cores and the disk, as text.

    Corpora of unknown numbers of lines and models of unknown size count as nothing, and the text says so.
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
    """What a study has to do, in seconds of one core of this machine, and of a GPU.

    unknown: what is not counted, as its size is not known before it is there.
    """

    def __init__(self, config: dict[str, Any], rates: Rates):
        self._config, self._rates, self._entries = config, rates, config["vocabulary"]["pieces"]
        corpora = {k: v for k, v in config["corpora"].items() if v["role"] in ("train", "monolingual")}
        self._read = sum(read_size(corpus) or 0 for corpus in corpora.values())
        sizes = {name: size(corpus) for name, corpus in corpora.items()}
        self._pairs = sum(number or 0 for number in sizes.values())
        self._epoch = config["distillation"]["epoch_pairs"] or self._pairs
        self._trained = [system for system in systems(config) if system.shape]
        self.unknown = [name for name, number in sizes.items() if number is None]
        self.unknown += [system.name for system in self._trained if not self._parameters(system)]
        self.unknown += [f"teacher {system.name}" for system in teachers(config) if not system.shape]

    def stages(self, cores: int) -> dict[str, list[float]]:
        """The jobs of each stage, which run side by side, in seconds of one core each."""
        config, rates = self._config, self._rates
        on_cpu = [system for system in self._trained if system.training["device"] == "cpu"]
        original = [system for system in on_cpu if self._learns_from_originals(system)]
        texts = self._read * LINE_SECONDS + len(config["corpora"]) * TEXT_JOBS * JOB_STARTS * rates.python
        translated = 0.0 if config["distillation"]["device"] == "cuda" else self._translated() * rates.decoded
        aligned = min(self._pairs, config["alignment"]["pairs"]) * TAUGHT_STARTS
        aligned = (aligned + self._pairs * ALIGNED_STARTS) * rates.python
        return {
            "corpora and vocabulary": [texts / cores] * cores,
            "training on original data": [self._training_seconds(system) for system in original],
            "distillation": [translated / cores] * cores,
            "training on translations": [self._training_seconds(s) for s in on_cpu if s not in original],
            "alignment and export": [(aligned + len(self._trained) * MODEL_JOBS * JOB_STARTS * rates.python) / cores]
            * cores,
            ALONE: [self._timing_seconds(system) for system in self._timed()],
            "report": [REPORT_JOBS * JOB_STARTS * rates.python / cores] * cores,
        }

    def gpu_hours(self) -> dict[str, tuple[float, float]]:
        """Hours of one GPU by stage, and the floating-point operations a second that they assume."""
        training = [system for system in self._trained if system.training["device"] == "cuda"]
        operations_ = sum(self._training_operations(system) for system in training)
        found = {"training": (operations_ / GPU_TRAINING / 3600, GPU_TRAINING)} if training else {}
        if self._config["distillation"]["device"] == "cuda":
            # Two operations a parameter for each of the hypotheses of a beam.
            operations_ = self._translated() * 1e6 * 2 * self._config["distillation"]["beam_size"]
            found["distillation"] = (operations_ / GPU_DECODING / 3600, GPU_DECODING)
        return found

    def disk(self) -> float:
        """Bytes."""
        lists = self._config["distillation"]["n_best"] * len(self._config["teachers"])
        texts = self._pairs * (SENTENCE_BYTES * COPIES + CANDIDATE_BYTES * lists)
        texts += (self._read - self._pairs) * SENTENCE_BYTES
        kept = (CHECKPOINT_BYTES * kept_checkpoints(system.training) + MODEL_BYTES for system in self._trained)
        return texts + sum(map(float.__mul__, map(self._parameters, self._trained), map(float, kept)))

    def _parameters(self, system: System) -> float:
        return float(shape(system.shape).parameters(self._entries) or 0)

    def _learns_from_originals(self, system: System) -> bool:
        return system.role in ("teacher", "control")

    def _translated(self) -> float:
        """Pieces times millions of parameters of the teachers, as far as these are known."""
        known = [self._parameters(system) for system in self._trained if system.role == "teacher"]
        return self._pairs * TOKENS * sum(known) / 1e6

    def _training_operations(self, system: System) -> float:
        return trained_tokens(system.training, self._epoch) * (operations(system.shape, self._entries) or 0)

    def _training_seconds(self, system: System) -> float:
        """Core-seconds; with several threads more than with one."""
        tokens, threads = trained_tokens(system.training, self._epoch), system.training["threads"]
        width = getattr(shape(system.shape), "units", WIDTH)
        wide = (1 + NARROW / width) / (1 + NARROW / WIDTH)  # an operation of a wider layer takes less
        seconds = STEP * wide * self._training_operations(system) * self._rates.product
        seconds += tokens / 2 * self._entries * self._rates.logit
        seconds += TRAINING_STARTS * self._rates.tensorflow
        return seconds * threads / (1 + SECOND_THREAD * (threads - 1))

    def _timed(self) -> list[System]:
        """Of several seeds the first."""
        return list({(system.student, system.mixture): system for system in reversed(self._trained)}.values())

    def _timing_seconds(self, system: System) -> float:
        """Every type and beam with and without the map, on the first test set; the others and the dev set once."""
        decoding, corpora = self._config["decoding"], self._config["corpora"].values()
        roles = ("test",) if system.role == "teacher" else ("test", "dev")
        first, *others = [size(corpus) or TEST_SENTENCES for corpus in corpora if corpus["role"] in roles]
        times = decoding["runs"] if system.role == "student" else 1
        runs = sum(times if native(type) else 1 for type in decoding["compute_types"])
        piece = self._parameters(system) / 1e6 * self._rates.decoded * TOKENS
        searches = sum(GREEDY if beam == 1 else beam / 4 for beam in decoding["beam_sizes"])
        seconds = 2 * searches * piece * (runs * first + len(decoding["compute_types"]) * sum(others))
        seconds += 2 * len(decoding["beam_sizes"]) * runs * RUN_STARTS * self._rates.python
        return seconds + times * BASELINE_STARTS * self._rates.tensorflow * first / TEST_SENTENCES


def makespan(jobs: Iterable[float], cores: int) -> float:
    """Seconds that jobs of one core each take side by side, the longest first."""
    busy = [0.0] * cores
    for job in sorted(jobs, reverse=True):
        busy[busy.index(min(busy))] += job
    return max(busy)


def duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600)):
        if seconds > 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds / 60:,.0f} minutes"
