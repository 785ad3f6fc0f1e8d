"""The settings of a training, as a rule writes them; `training` in config.schema.yaml describes those of Training."""

from typing import Literal

from msgspec import UNSET, UnsetType

from common.document import Document, Number, Section


class Phase(Section):
    steps: int | None
    epochs: Number | None
    accumulate: int
    checkpoint_steps: int | None
    validation_steps: int | None
    quantization: str | None


class Sampling(Section):
    alpha: Number


class Training(Section):
    steps: int | None
    epochs: Number | None
    then: list[Phase]
    patience: int | None
    batch_tokens: int | None
    batch_sentences: int | None
    max_length: int
    accumulate: int
    learning_rate: Number
    optimizer: str
    decay: str
    warmup_steps: int
    dropout: Number
    label_smoothing: Number
    checkpoint_steps: int
    average_last: int
    averages: list[int]
    moving_average: Number | None
    alignment: str | None  # guided, or None
    sampling: Sampling | None
    quantization: str | None  # of the first phase
    validation_steps: int
    precision: str | None  # None: train.precision chooses
    threads: int
    device: str
    gpus: int

    @property
    def phases(self) -> "list[Training | Phase]":
        """All phases; the training itself is the first one."""
        return [self, *self.then]


Role = Literal["teacher", "student", "control"]


PROTECTED = "protected"  # the rule of train.augmentation whose symbols the vocabulary must have
CASE = frozenset(("upper_case", "title_case", "lower_case"))  # its rules that change letters
PLACED = frozenset(  # those that put text where words say
    ("url", "email", "number", "emoji", "placeholder", "foreign_word", "tag", PROTECTED)
)


class Augmentation(Section):
    """What train.sample changes: the share of the pairs that each rule of train.augmentation changes.

    both_sides: its rules for both sides. meant: those that change the source alone.
    """

    both_sides: dict[str, Number]
    meant: dict[str, Number]
    languages: list[str]  # of source and target

    @property
    def share(self) -> float:
        """The share of the pairs that any rule changes, at most all."""
        return min(float(sum(self.both_sides.values()) + sum(self.meant.values())), 1.0)


class SourceAugmentation(Section):
    """What train.source_augmentation changes. source: its rules, by their share of the lines."""

    source: dict[str, Number]
    language: str  # of the source


class StartLayers(Section):
    """The layers of the model that a training starts from, one for each layer of its own, from 0."""

    encoder: list[int]
    decoder: list[int]


class Settings(Section):
    """What decides on a training, beside the files that it reads.

    shape: by the fields of formats.shape. target_language: chooses the tokens of dev BLEU, 13a's if it is empty.
    start_layers: if it starts from some layers of a model; without it from all of a model of its shape.
    """

    system: str
    role: Role
    shape: Document
    training: Training
    seed: int = 1
    target_language: str = ""
    start_layers: StartLayers | UnsetType = UNSET
