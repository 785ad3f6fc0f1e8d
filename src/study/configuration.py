"""The types of an effective configuration, a class for each section.

workflow/schemas/config.schema.yaml says what a key means, which values it takes and what its default is; here is only
the type of each, without a default. An effective configuration has every key, and none besides, so that a key which one
of the two lacks is an error in every study.
"""

from msgspec import convert, field

from common.document import Document, Number, Section
from corpora.settings import Cleaning, Corpus
from distill.settings import Device, Prefix, Tokenization
from findings.cost import Price
from formats.shape import Values
from train.settings import StartLayers, Training


class Vocabulary(Section):
    type: str
    pieces: int
    character_coverage: Number
    normalization: str | None
    byte_fallback: bool
    split_digits: bool
    symbols: list[str]
    of: str | None
    sentences: int


class Converted(Section):
    toolkit: str = field(name="from")
    options: dict[str, str | list[str | bool | Number] | bool | Number]
    environment: str | None


class Teacher(Section):
    shape: Values | None
    training: Training | None
    seed: int | None
    start_from: str | None
    checkpoint: str | None
    ctranslate2: str | None
    converted: Converted | None
    parameters: int | None
    tokenization: Tokenization | None
    prefix: Prefix | None


class Distillation(Section):
    beam_size: int
    n_best: int
    shards: int
    device: Device
    batch_tokens: int | None
    engine: str | None
    compute_type: str | None
    epochs: int
    epoch_pairs: int | None


class Augmentation(Section):
    source: dict[str, Number]
    meant: dict[str, Number]
    both_sides: dict[str, Number]
    places: str


class Mixture(Section):
    targets: str
    teacher: str | None
    ensemble: str
    weights: dict[str, Number] | None
    drop_worst: Number
    augmentation: Augmentation | None


class Student(Section):
    shape: Values
    mixtures: list[str] | None
    seeds: list[int] | None
    start_from: str | None
    start_layers: StartLayers | None
    training: Training


class Alignment(Section):
    aligner: str
    pairs: int
    shards: int


class Grid(Section):
    max_ngram: list[int]
    min_frequency: list[int]
    meanings: list[int]
    unaligned: list[int]
    most_frequent: list[int]
    counted: list[str]


class VocabularyMap(Section):
    system: str | None
    max_ngram: int
    min_frequency: int
    meanings: int
    unaligned: int
    most_frequent: int
    counted: str
    grid: Grid | None
    coverage: Number


class Decoding(Section):
    compute_types: list[str]
    engines: list[str]
    in_every_engine: list[str] | None
    beam_sizes: list[int]
    batch_tokens: int
    runs: int
    noise: Number
    cores: list[int]
    cpu: str | None
    workers: int
    max_decoding_length: int


class Metrics(Section):
    comet: str
    comet_score: str


class Speed(Section):
    systems: list[str]
    untrained: list[str]
    sentences: int | None


class Search(Section):
    system: str | None
    sentences: int


class Robustness(Section):
    systems: list[str]
    types: list[str]
    beam_sizes: list[int]
    vocabulary_map: bool
    sentences: int | None


class Prices(Section):
    machine: Price | str | None


class Configuration(Section):
    study: str
    source: str
    target: str
    seed: int
    mirror: str | None
    corpora: dict[str, Corpus]
    cleaning: Cleaning
    cleaning_shards: int
    keep_rejected: bool
    vocabulary: Vocabulary
    teachers: dict[str, Teacher]
    distillation: Distillation
    mixtures: dict[str, Mixture]
    students: dict[str, Student]
    student_training: Training
    alignment: Alignment
    vocabulary_map: VocabularyMap
    decoding: Decoding
    metrics: Metrics | None
    speed: Speed
    search: Search
    robustness: Robustness | None
    prices: Prices


def typed(document: Document) -> Configuration:
    """An effective configuration with its types. Raises msgspec.ValidationError for any other document."""
    return convert(document, Configuration)
