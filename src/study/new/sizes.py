"""Sizes of a new study: shapes, steps and vocabulary for its text, and for what the machine does in the given time."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from common.errors import UserError
from study.estimate import duration, wall_seconds
from study.rates import Rates
from study.resources import TOKENS
from study.schema import Config
from study.work import Work

AIM = 0.9  # of the budget: the estimate of the demo was 21 minutes and its run took 23
DISTILLATION = 0.25  # share of the budget for the teacher's translations; texts that would take longer are sampled
PASSES = 25  # of the teacher through its pairs; Multi30k's go through theirs 23 times and know them by heart
FEWEST = 500  # training pairs
LEAST = 0.5  # of the steps of the smallest size: models that train shorter say little

# Pieces of a vocabulary for at least so many pairs: as configs/demo.yaml and configs/mixed.yaml, and between them.
PIECES = ((3_000_000, 32000), (600_000, 16000), (150_000, 8000), (20_000, 4000), (7_000, 2000), (0, 1000))


@dataclass(frozen=True)
class Size:
    """Shapes that go together, with the fewest steps and the fewest pairs that are worth them.

    like: the configuration that the shapes and the learning rates are from. pieces: the largest vocabulary.
    """

    like: str
    pairs: int
    pieces: int
    batch_tokens: int
    teacher: str
    teacher_steps: int
    teacher_rate: float
    deep: str
    tiny: str
    student_steps: int
    student_rate: float


def _shape(encoder_layers: int, decoder_layers: int, units: int, heads: int, shared: bool = True) -> str:
    """A Transformer in YAML, with feed-forward layers of four times its units."""
    layers = f"encoder_layers: {encoder_layers}, decoder_layers: {decoder_layers}"
    widths = f"units: {units}, ffn_units: {4 * units}, heads: {heads}"
    return f"{{{layers}, {widths}{', share_embeddings: true' * shared}}}"


# The largest first. Shapes, rates, steps and batches are those of the named configurations. In few steps, models
# without shared embeddings learn more (configs/demo.yaml).
SIZES = (
    Size(
        "configs/mixed.yaml", 500_000, 32000, 8192, _shape(6, 6, 512, 8), 40000, 0.0007,
        _shape(6, 2, 256, 8), _shape(3, 1, 192, 4), 40000, 0.001,
    ),
    Size(
        "between those of configs/mixed.yaml and configs/multi30k.yaml, untried", 150_000, 16000, 4096,
        _shape(6, 6, 256, 8), 15000, 0.001, _shape(6, 1, 192, 4), _shape(3, 1, 128, 4), 10000, 0.002,
    ),
    Size(
        "configs/multi30k.yaml", 20_000, 8000, 2048, _shape(4, 4, 192, 4), 6600, 0.002,
        _shape(4, 1, 128, 4), _shape(2, 1, 96, 4), 2500, 0.003,
    ),
    Size(
        "configs/bible.yaml", 10_000, 4000, 1536, _shape(3, 2, 192, 4, shared=False), 1100, 0.002,
        _shape(4, 1, 128, 4), _shape(2, 1, 96, 4), 1000, 0.003,
    ),
    Size(
        "configs/demo.yaml", 0, 4000, 1024, _shape(2, 2, 160, 4, shared=False), 700, 0.0018,
        _shape(3, 1, 128, 4, shared=False), _shape(2, 1, 96, 4, shared=False), 600, 0.0026,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What is made of the text.

    scale: of the steps of the size. samples: lines to take of each corpus that is too large for the time. pairs: those
    that are left to train on. full: whether the text, and not the time, limits the training.
    """

    size: Size
    pieces: int
    pairs: int
    scale: float = 1.0
    samples: dict[str, int] = field(default_factory=dict)
    full: bool = False

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
    characters: bool,
    hours: float,
    cores: int,
    configured: Callable[[Plan], Config],
    rates: Rates,
) -> Plan:
    """The largest size that the text is enough for, and that the time allows as many steps of as it is worth.

    pairs, monolingual: lines of the corpora by name; characters: whether a language has thousands of characters, which
    all want pieces; configured: makes the effective configuration of a plan. Raises UserError if there is too little
    text or time.
    """
    if sum(pairs.values()) < FEWEST:
        raise UserError(f"{sum(pairs.values()):,} training pairs are too few to learn from; {FEWEST:,} are the least")
    budget = hours * 3600
    for size in SIZES:
        smallest = size is SIZES[-1]
        first = Plan(size, _pieces(size, sum(pairs.values()), characters), sum(pairs.values()))
        translated = Work(configured(first), rates).translation_seconds("teacher", 1)
        first = _sampled(first, pairs, monolingual, DISTILLATION * budget * cores / translated)
        if first.pairs < size.pairs:
            continue
        once, twice = (wall_seconds(Work(configured(replace(first, scale=n)), rates), cores) for n in (1.0, 2.0))
        scale = 1 + (AIM * budget - once) / (twice - once)
        most = PASSES / first.passes(size.teacher_steps, first.pairs)
        if smallest and scale < LEAST:
            least = (once - (1 - LEAST) * (twice - once)) / AIM
            raise UserError(
                f"--hours {hours:g}: even the smallest study of this text takes {duration(least)} on {cores} cores; "
                f"give --hours {math.ceil(least / 360) / 10:g}, or less text"
            )
        if smallest or min(scale, most) >= 1:
            return replace(first, scale=min(scale, max(most, LEAST)), full=scale > max(most, LEAST))
    raise AssertionError("the smallest size is for any text")


def rounded(number: float) -> int:
    """With two digits, or three from 1 to 2."""
    digits = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    digits = digits // 2 if digits > 1 and number < 20 * digits else digits
    return max(round(number / digits) * digits, 1)


def _pieces(size: Size, pairs: int, characters: bool) -> int:
    of_text = next(pieces for least, pieces in PIECES if pairs >= least)
    return min(size.pieces, of_text) * (2 if characters and of_text < PIECES[0][1] else 1)


def _sampled(first: Plan, pairs: dict[str, int], monolingual: dict[str, int], most: float) -> Plan:
    """With samples, where the teacher would translate more than ``most`` lines; no more monolingual text than pairs."""
    of_pairs = _samples(pairs, most * (3 / 4 if monolingual else 1))
    used = sum(of_pairs.get(name, lines) for name, lines in pairs.items())
    return replace(first, pairs=used, samples=of_pairs | _samples(monolingual, min(max(most - used, most / 4), used)))


def _samples(lines: dict[str, int], most: float) -> dict[str, int]:
    """How many lines to take of each corpus, if they have more than ``most`` together: all by the same share."""
    total = sum(lines.values())
    return {name: rounded(number * most / total) for name, number in lines.items()} if total > most else {}
