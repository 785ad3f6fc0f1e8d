"""What is kept of a training: ``learning.json``, its curve and scores; ``learned.json``, what it learned from."""

from msgspec import Struct


class RecordedPhase(Struct):
    """A phase of a training. accumulate: batches of an update."""

    end: int  # last step
    accumulate: int


class Seen(Struct):
    """What a training read. shares: of each corpus in the pairs drawn."""

    pairs: int
    passes: float
    shares: dict[str, float] | None = None


class LeftOut(Struct):
    """Pairs of the epochs that training skips, as a side has too many pieces or none."""

    pairs: int
    of: int


class CurvePoint(Struct):
    """A point of the learning curve; kept curves that were read from pictures have only some of the values."""

    step: int
    loss: float | None = None  # nats per target token
    steps_per_second: float | None = None
    tokens_per_second: float | None = None  # pieces of both sides
    seconds: float | None = None  # since the first point, by the clock


class Score(Struct):
    """BLEU on the dev set, greedy."""

    step: int
    bleu: float


class Average(Struct):
    """BLEU on the dev set of the average of the last checkpoints."""

    checkpoints: int
    bleu: float


class Learning(Struct, kw_only=True):
    """``learning.json`` of a system; None for what kept files lack."""

    system: str
    role: str
    steps: int | None = None
    phases: list[RecordedPhase]
    shape: str
    parameters: int
    seed: int | None = None
    precision: str | None = None  # what products were computed in
    start_from: str | None = None  # the folder whose weights the training starts from
    start_layers: dict[str, list[int]] | None = None  # of the encoder and the decoder, if it takes some of its layers
    seen: Seen
    left_out: LeftOut | None = None
    seconds: float  # of updates
    training: list[CurvePoint]
    validation: list[Score]
    averages: list[Average]


class RandomWeights(Struct):
    """The part of ``learning.json`` that weights have even if they are random (export.untrained)."""

    shape: str
    parameters: int
    steps: int


class Learned(Struct, omit_defaults=True):
    """``learned.json`` of a system: what it learned from."""

    system: str
    targets: str
    teachers: list[str]
    shares: dict[str, float]  # of each corpus in the pairs
    drop_worst: int | float  # per cent
    sentences: dict[str, int]  # distinct ones that the training saw of each corpus
    ensemble: str = "rescoring"  # how several teachers made the translations
    started: bool = False  # from the weights of another model
    chosen: str = ""  # how the translations were made and chosen, where not as the study does otherwise
    augmentation: dict[str, float] = {}  # share of the pairs that each rule changed on both sides
    words: int | float = 0  # share of a teacher's probabilities of pieces in the loss
