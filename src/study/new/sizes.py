"""Sizes of a new study: shapes, steps and vocabulary for its text, and for what the machine does in the given time."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from common.document import Document
from formats.shape import Values
from nmt_frontier.errors import UserError
from study.configuration import StudyConfiguration
from study.estimate import duration, of_cores, wall_seconds
from study.expansion import read
from study.rates import Rates
from study.resources import TOKENS
from study.workload import Work

CONFIGS = Path(__file__).parents[3] / "configs"
AIM = 0.9  # of the budget: the estimate of the demo was 21 minutes and its run took 23
DISTILLATION = 0.25  # share of the budget for the teacher's translations; texts that would take longer are sampled
PASSES = 30  # of the teacher through its pairs, as in configs/multi30k.yaml
FEWEST = 500  # training pairs
LEAST = 0.5  # of the steps of the smallest size: shorter trainings learn too little

# Pieces of a vocabulary for at least so many pairs: as configs/demo.yaml and configs/mixed.yaml, and between them.
PIECES = ((3_000_000, 32000), (600_000, 16000), (150_000, 8000), (20_000, 4000), (7_000, 2000), (0, 1000))


@dataclass(frozen=True)
class Size:
    """Shapes that go together, with the fewest steps and pairs for them.

    like: the source of shapes and learning rates. pieces: the largest vocabulary. start_layers: of the teacher, by
    student; empty where students begin with random weights. direct_rate: of the control, where there are any.
    """

    like: str
    pairs: int
    pieces: int
    batch_tokens: int
    teacher: Values
    teacher_steps: int
    teacher_rate: float
    deep: Values
    tiny: Values
    student_steps: int
    student_rate: float
    start_layers: dict[str, Document] = field(default_factory=dict)
    direct_rate: float | None = None


@cache
def costliest_first() -> tuple[Size, ...]:
    """All sizes. In few steps, models without shared embeddings learn more (configs/demo.yaml)."""
    return (
        _as_in("mixed", pairs=500_000, pieces=32000),
        Size(
            "between configs/mixed.yaml and configs/multi30k.yaml, untried", 150_000, 16000, 4096,
            _shape(6, 6, 256, 8), 15000, 0.001, _shape(6, 1, 192, 4), _shape(3, 1, 128, 4), 10000, 0.002,
        ),
        _as_in("multi30k", pairs=20_000, pieces=8000),
        Size(
            "between configs/multi30k.yaml and configs/demo.yaml, untried", 10_000, 4000, 1536,
            _alone(3, 3, 192), 2200, 0.002, _alone(2, 1, 192), _alone(1, 1, 192), 2000, 0.002,
            {"deep": {"encoder": [0, 1], "decoder": [0]}, "tiny": {"encoder": [0], "decoder": [0]}}, 0.0026,
        ),
        _as_in("demo", pairs=0, pieces=4000),
    )  # fmt: skip


def _as_in(name: str, pairs: int, pieces: int) -> Size:
    """Shapes, rates, steps and batches of a configuration; if it has no student ``tiny``, that of the demo."""
    study, like = read(CONFIGS / f"{name}.yaml"), f"configs/{name}.yaml"
    teacher, training = study["teachers"]["teacher"], study["student_training"]
    students = {name: study["students"].get(name, {}) for name in ("deep", "tiny")}
    deep, tiny = (entry.get("shape") for entry in students.values())
    layers = {name: entry["start_layers"] for name, entry in students.items() if "start_layers" in entry}
    if tiny is None:
        like += "; tiny is untried"
        tiny = _shape(2, 1, 96, 4) | {"share_embeddings": deep.get("share_embeddings", False)}
    of_teacher = teacher["training"]
    return Size(
        like, pairs, pieces, of_teacher["batch_tokens"], teacher["shape"], of_teacher["steps"],
        of_teacher["learning_rate"], deep, tiny, training["steps"], training["learning_rate"],
        layers, study["students"].get("direct", {}).get("training", {}).get("learning_rate"),
    )  # fmt: skip


def _shape(encoder_layers: int, decoder_layers: int, units: int, heads: int) -> Values:
    """A Transformer with feed-forward layers of four times its units."""
    layers = {"encoder_layers": encoder_layers, "decoder_layers": decoder_layers}
    return layers | {"units": units, "ffn_units": 4 * units, "heads": heads, "share_embeddings": True}


def _alone(encoder_layers: int, decoder_layers: int, units: int) -> Values:
    """As _shape makes it, with embeddings of its own for each side."""
    return _shape(encoder_layers, decoder_layers, units, 4) | {"share_embeddings": False}


@dataclass(frozen=True)
class Plan:
    """The proposal.

    scale: factor on the steps of the size. samples: lines to take of each corpus that is too large for the time. pairs:
    the training pairs left. target_only: the lines left of the target language alone. full: whether the text, and not
    the time, limits the training.
    """

    size: Size
    pieces: int
    pairs: int
    scale: float = 1.0
    samples: dict[str, int] = field(default_factory=dict)
    target_only: int = 0
    full: bool = False

    @property
    def taught(self) -> int:
        """The pairs that the teacher learns from."""
        return self.pairs + self.target_only

    @property
    def teacher_steps(self) -> int:
        return rounded(self.scale * self.size.teacher_steps)

    @property
    def student_steps(self) -> int:
        return rounded(self.scale * self.size.student_steps)

    def passes(self, steps: int, sentences: int) -> float:
        """How often a training of so many steps goes through a text."""
        return steps * self.size.batch_tokens / (TOKENS * sentences)


def plan(
    pairs: dict[str, int],
    monolingual: dict[str, int],
    target_only: dict[str, int],
    characters: bool,
    hours: float,
    cores: int,
    configured: Callable[[Plan], StudyConfiguration],
    rates: Rates,
) -> Plan:
    """The costliest size for which there is enough text, and time for all of its steps.

    pairs, monolingual, target_only: lines of the corpora by name. characters: whether a language has thousands of
    characters, which need pieces. configured: makes the effective configuration of a plan. Raises UserError for too
    little text or time.
    """
    if sum(pairs.values()) < FEWEST:
        raise UserError(f"{sum(pairs.values()):,} training pairs are too few to learn from; {FEWEST:,} are the least")
    budget = hours * 3600
    for size in costliest_first():
        smallest = size is costliest_first()[-1]
        total, back = sum(pairs.values()), sum(target_only.values())
        first = Plan(size, _pieces(size, total, characters), total, target_only=back)
        translated = Work(configured(first), rates).translation_seconds("teacher", 1)
        first = _sampled(first, pairs, monolingual, target_only, DISTILLATION * budget * cores / translated)
        if first.pairs < size.pairs:
            continue
        once, twice = (wall_seconds(Work(configured(replace(first, scale=n)), rates), cores) for n in (1.0, 2.0))
        scale = 1 + (AIM * budget - once) / (twice - once)
        most = PASSES / first.passes(size.teacher_steps, first.taught)
        if smallest and scale < LEAST:
            least = (once - (1 - LEAST) * (twice - once)) / AIM
            raise UserError(
                f"--hours {hours:g}: even the smallest study of this text takes {duration(least)} on "
                f"{of_cores(cores)}; give --hours {math.ceil(least / 360) / 10:g}, or less text"
            )
        if smallest or min(scale, most) >= 1:
            return replace(first, scale=min(scale, max(most, LEAST)), full=scale > max(most, LEAST))
    raise AssertionError("the smallest size is for any text")


def rounded(number: float) -> int:
    """The number with two significant digits, or three if it begins with 1."""
    digits = int(10 ** max(math.floor(math.log10(number)) - 1, 0))
    digits = digits // 2 if digits > 1 and number < 20 * digits else digits
    return max(round(number / digits) * digits, 1)


def _pieces(size: Size, pairs: int, characters: bool) -> int:
    of_text = next(pieces for least, pieces in PIECES if pairs >= least)
    return min(size.pieces, of_text) * (2 if characters and of_text < PIECES[0][1] else 1)


def _sampled(
    first: Plan, pairs: dict[str, int], monolingual: dict[str, int], target_only: dict[str, int], most: float
) -> Plan:
    """The plan with samples if a teacher would translate over ``most`` lines; no more monolingual text than pairs, of
    either language."""
    of_pairs = _samples(pairs, most * (3 / 4 if monolingual else 1))
    used = sum(of_pairs.get(name, lines) for name, lines in pairs.items())
    back = _samples(target_only, min(most, used))
    left = sum(back.get(name, lines) for name, lines in target_only.items())
    samples = of_pairs | _samples(monolingual, min(max(most - used, most / 4), used)) | back
    return replace(first, pairs=used, target_only=left, samples=samples)


def _samples(lines: dict[str, int], most: float) -> dict[str, int]:
    """The lines to take of each corpus, in proportion, if all have more than ``most`` together."""
    total = sum(lines.values())
    return {name: min(rounded(number * most / total), number) for name, number in lines.items()} if total > most else {}
