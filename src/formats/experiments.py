"""The JSON of experiments that are timed in one process (measure.in_process), and that tables are made from.

A time or a ratio has three fields: the median of the runs, with ``_min`` and ``_max`` (formats.measurement.Spread).
"""

from typing import NotRequired, TypedDict

from common.machine import Machine


class Circumstances(Machine):
    """What all rows of a file share. noise: the share of the core that others might use."""

    runs: int
    noise: float
    test_set: str
    commit: str | None
    load_average: float


class Disturbed(TypedDict):
    """others: the share of the cores that others used, at most; None where runs were too short to tell."""

    others: float | None


class Model(TypedDict):
    """The model that was timed, from its model.json."""

    system: str
    shape: str
    quantization: str


class CpuSeconds(Disturbed):
    cpu_seconds: float
    cpu_seconds_min: float
    cpu_seconds_max: float


class Share(TypedDict):
    """The share of a part in the whole."""

    share: float
    share_min: float
    share_max: float


class ComponentsRow(CpuSeconds):
    """One way to decode. how: its parts were told apart; profiler_costs: the time that a clock adds, as a share."""

    engine: str
    engine_label: NotRequired[str]  # files of earlier versions have none
    engine_version: str
    how: str
    system: str
    shape: str
    compute_type: str
    beam_size: int
    vocabulary_map: bool
    steps: NotRequired[int]
    readings: NotRequired[dict[str, float]]
    profiler_costs: NotRequired[float]
    shares: dict[str, Share]
    operators: NotRequired[dict[str, Share]]


class Components(Circumstances):
    """Of experiments.components and experiments.components_tf."""

    sentences: int
    batch_tokens: int
    rows: list[ComponentsRow]


class PipelineRow(Disturbed):
    """One way through a text: the engine alone, or the pipeline with or without overlap."""

    engine_label: str
    workers: int
    cores: list[int]
    batch_tokens: int
    way: str
    source_words: int
    source_words_per_second: float
    seconds: float
    seconds_min: float
    seconds_max: float
    times_engine: float
    times_engine_min: float
    times_engine_max: float


class Pipeline(Circumstances):
    """Of experiments.pipeline_cost."""

    lines: int
    model: Model
    rows: list[PipelineRow]


class AlgorithmRow(Disturbed):
    """A step of an algorithm that blocks n-grams."""

    way: str
    beam_size: int
    length: int
    banned: int
    step_seconds: float
    step_seconds_min: float
    step_seconds_max: float
    times_scan: float
    times_scan_min: float
    times_scan_max: float


class BlockingRow(Disturbed):
    """An engine with blocked n-grams and without. extra: of a step."""

    engine_label: str
    way: str
    beam_size: int
    length: int
    sentences: int
    off_seconds: float
    off_seconds_min: float
    off_seconds_max: float
    on_seconds: float
    on_seconds_min: float
    on_seconds_max: float
    times_off: float
    times_off_min: float
    times_off_max: float
    extra_step_seconds: float
    extra_step_seconds_min: float
    extra_step_seconds_max: float


class Ngrams(Circumstances):
    """Of experiments.ngram_timing."""

    n: int
    sentences: int
    model: Model
    engine_version: str | None
    algorithms: list[AlgorithmRow]
    engine: list[BlockingRow]


class CacheRow(CpuSeconds):
    """CTranslate2 at a beam size: memory that decoding adds, that of one copy of the cache, and of all further ones."""

    beam_size: int
    length: int
    sentences: int
    steps: int
    added_bytes: float
    added_bytes_min: float
    added_bytes_max: float
    cache_bytes: int
    copies_bytes: int


class CopiesRow(Disturbed):
    """The native engine at a beam size, with one copy of the cache and with a copy for each beam."""

    beam_size: int
    length: int
    sentences: int
    shared_seconds: float
    shared_seconds_min: float
    shared_seconds_max: float
    shared_bytes: float
    shared_bytes_min: float
    shared_bytes_max: float
    copied_seconds: float
    copied_seconds_min: float
    copied_seconds_max: float
    copied_bytes: float
    copied_bytes_min: float
    copied_bytes_max: float
    times_shared: float
    times_shared_min: float
    times_shared_max: float


class StepRow(Disturbed):
    """A step of attention in NumPy."""

    way: str
    beam_size: int
    length: int
    cache_bytes: int
    step_seconds: float
    step_seconds_min: float
    step_seconds_max: float
    times_shared: float
    times_shared_min: float
    times_shared_max: float


class Cache(Circumstances):
    """Of experiments.encoder_cache. layers, units: of the decoder; heads, batch: of the steps in NumPy."""

    model: Model
    layers: int
    units: int
    heads: int
    batch: int
    engine_version: str
    engine: list[CacheRow]
    native: list[CopiesRow]
    reckoning: list[StepRow]


class MapTimingRow(TypedDict):
    """A vocabulary map in batches of a size. bleu: only of the whole test set; output_layer: only with --steps."""

    map: str
    batch_tokens: int
    candidates: float
    seconds: float
    seconds_min: float
    seconds_max: float
    others: float | None
    times_faster: float
    times_faster_min: float
    times_faster_max: float
    output_layer_share: NotRequired[float]
    output_layer_share_min: NotRequired[float]
    output_layer_share_max: NotRequired[float]
    output_layer_times_faster: NotRequired[float]
    output_layer_times_faster_min: NotRequired[float]
    output_layer_times_faster_max: NotRequired[float]
    bleu: NotRequired[float]
    bleu_signature: NotRequired[str]
    bleu_delta: NotRequired[float]
    bleu_p: NotRequired[float]


class DecodedModel(Model):
    engine: str


class MapTiming(Machine):
    """Of experiments.map_timing. steps: pieces that were decoded of each sentence."""

    runs: int
    noise: float
    test_set: str
    load_average: float
    model: DecodedModel
    sentences: int
    steps: int | None
    core: int
    rows: list[MapTimingRow]


class Allowed(TypedDict):
    """A vocabulary map, and the share of the model's own pieces that it allows, per cent."""

    map: str
    own: float


class MapCoverage(Allowed):
    """A map of a grid: its knobs, its size, what it allows of the references, and candidates of a sentence."""

    max_ngram: int
    min_frequency: int
    meanings: int
    unaligned: int
    most_frequent: int
    counted: str
    ngrams: int
    bytes: int
    reference: float
    candidates: float
    candidates_per_token: float


class Picked(TypedDict):
    """Of export.coverage of the dev set. coverage: per cent of the model's own pieces that were asked for."""

    coverage: float
    picked: Allowed


class Coverage(Picked):
    """Of export.coverage, with all maps of the grid."""

    maps: list[MapCoverage]
