"""The settings of a training, as a study and its rules write them."""

from typing import Annotated, Literal

from msgspec import field

from common.document import UNIQUE, Count, Document, Natural, Number, Positive, Section, SomeShare, limits

Probability = Annotated[Number, limits(minimum=0, exclusiveMaximum=1)]


class PhaseSection(Section, kw_only=True):
    """A phase of a training, after the first one."""

    steps: Count | None = None
    """Updates of the weights."""
    epochs: Positive | None = None
    """Passes through an epoch, instead of steps."""
    accumulate: Count = 1
    """Batches on each device whose gradients are added up for one update."""
    checkpoint_steps: Count | None = None
    """Updates between two checkpoints; as in the first phase if null."""
    validation_steps: Count | None = None
    """Updates between two evaluations; as in the first phase if null."""
    quantization: Literal["int8", "int4"] | None = None
    """As for the first phase: a last phase with it fits a trained student to the type that it is exported in."""


class Sampling(Section):
    """Subword regularisation (Kudo 2018): each pass reads other segmentations of both sides, drawn from the 64 most
    probable ones of each word. For a vocabulary of type unigram; not with alignment, whose links belong to one
    segmentation. None if null."""

    alpha: Positive
    """Power of the probabilities that segmentations are drawn with; the closer to 0, the more often rare ones."""


class TrainingSection(Section, kw_only=True):
    """How a model is trained."""

    steps: Natural | None = None
    """Updates of the weights, 0 to take those of start_from as they are. Needed where epochs is null."""
    epochs: Positive | None = None
    """Passes through an epoch of the data, instead of steps."""
    then: list[PhaseSection] = field(default_factory=list)
    """Phases after the first one, such as ten epochs with the gradient of 16 batches (WNGT 2020)."""
    patience: Count | None = None
    """Validations without a better dev BLEU (greedy) after which a phase ends; null trains to the end."""
    batch_tokens: Count | None = None
    """Size of a batch, in tokens with padding. Needed where batch_sentences is null."""
    batch_sentences: Count | None = None
    """Size of a batch in sentences of similar length, instead of batch_tokens; WNMT 2018 has batches of 64."""
    max_length: Count = 150
    """Longest sentence that is trained on, in pieces, either side; longer pairs are left out, and counted in
    learning.json."""
    accumulate: Count = 1
    """Batches on each device whose gradients are added up for one update."""
    learning_rate: Positive
    """Peak of the learning rate, at the end of the warm-up."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """Adam, or plain gradient descent with gradients clipped at a norm of 5, as for the LSTMs of WNMT 2018."""
    decay: Literal["inverse_sqrt", "cosine", "constant"] = "inverse_sqrt"
    """How it falls after that, with 1/sqrt(step) as in the papers, or along a cosine to 0 at the last step, which suits
    short trainings (OpenNMT-tf counts it from step 0, so the rate drops a little where the warm-up ends); constant has
    neither warm-up nor fall."""
    warmup_steps: Count = 4000
    """Updates during which the learning rate rises from 0."""
    dropout: Probability = 0.1
    """Probability of dropout."""
    label_smoothing: Probability = 0.1
    """Probability mass taken from the right token and spread over the vocabulary."""
    checkpoint_steps: Count = 100
    """Updates between two checkpoints; a killed training resumes at the last one."""
    average_last: Count = 5
    """Number of last checkpoints whose weights are averaged into the model."""
    averages: Annotated[list[Count], UNIQUE] = field(default_factory=lambda: [1, 4, 8, 10])
    """Averages of the last so many checkpoints whose dev BLEU is compared at the end; as many checkpoints are kept."""
    moving_average: Annotated[Number, limits(exclusiveMinimum=0, exclusiveMaximum=1)] | None = None
    """Decay of an exponential moving average of the weights, such as 0.9999; lower in the first updates, at most (1 +
    update) / (10 + update). Checkpoints and validations have the averaged weights, so average_last averages these once
    more (1 takes the last ones alone); the training itself goes on with its own. None if null."""
    alignment: Literal["guided"] | None = None
    """guided teaches a head of the decoder's last layer the links of a word alignment, beside the translation. Decoding
    with --html and --replace-unknown goes by that head. For students that are Transformers; the alignment is of what
    students learn."""
    sampling: Sampling | None = None
    quantization: Literal["int8", "int4"] | None = None
    """Of the first phase: its updates see the weights as the native engine stores them in this type, and their
    gradients change the weights in float32 that these are rounded from. Checkpoints and validations have the latter.
    For Transformers; null rounds nothing."""
    validation_steps: Count = 400
    """Updates between two evaluations on the dev set, the points of the learning curve."""
    precision: Literal["float32", "bfloat16"] | None = None
    """What a Transformer's products are computed in; its weights, sums and loss stay in float32. null chooses when a
    training begins, for this run and all its resumes: bfloat16 on a CPU with AMX from 512 units on, else float32.
    bfloat16 is faster there and on GPUs since Ampere, slower on CPUs without AVX512-BF16 (benchmarks/training.py
    measures it), and refused by TensorFlow on CPUs without AVX512."""
    threads: Count = 2
    """Threads of one training."""
    device: Literal["cpu", "cuda"] = "cpu"
    """What one training runs on. With cuda it asks Snakemake for the resource gpu, and needs requirements-gpu.lock
    (docs/cluster.md)."""
    gpus: Count = 1
    """GPUs of one machine that train together, each on batches of its own: an update reads gpus x accumulate batches,
    as that of one GPU with so many in accumulate. With device cpu so many devices share the threads, to try it."""

    @property
    def phases(self) -> "list[TrainingSection | PhaseSection]":
        """All phases; the training itself is the first one."""
        return [self, *self.then]


Role = Literal["teacher", "student", "control", "backward"]


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
    """Layers of a Transformer, counted from 0; a layer may be named more than once."""

    encoder: Annotated[list[Natural], limits(minItems=1)]
    """Those of the encoder."""
    decoder: Annotated[list[Natural], limits(minItems=1)]
    """Those of the decoder."""


class WordsSection(Section, kw_only=True):
    """Word-level distillation (Kim and Rush 2016): beside its targets, whoever made them, a student learns what a
    teacher holds probable at each of their pieces. It needs teachers with the study's vocabulary, in the native engine
    (docs/teachers-and-students.md#word-by-word)."""

    teacher: str | None = None
    """The teacher; all of them together, whose probabilities are averaged, if null."""
    k: Annotated[int, limits(minimum=1, maximum=100)] = 8
    """Pieces whose probabilities are kept at each position, the most probable ones; 8 as in Tan et al. 2019."""
    weight: SomeShare = 0.5
    """Share of the loss that they have; the target has the rest."""


class TrainingSettings(Section):
    """What decides on a training, beside the files that it reads.

    shape: by the fields of formats.shape. target_language: chooses the tokens of dev BLEU, 13a's if it is empty.
    start_layers: if it starts from some layers of a model; without it from all of a model of its shape. words: if it
    learns from a teacher's probabilities; which teacher's is not said here.
    """

    system: str
    role: Role
    shape: Document
    training: TrainingSection
    seed: int = 1
    target_language: str = ""
    start_layers: StartLayers | None = None
    words: WordsSection | None = None
