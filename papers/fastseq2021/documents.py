"""The JSON of ``pipeline_cost``, ``ngram_timing``, ``encoder_cache`` and ``whole_models``."""

from typing import NotRequired, TypedDict

from formats.experiments import Circumstances, CpuSeconds, Disturbed, TimedMachine, TimedModel

ENGINE, SYNCHRONOUS, ASYNCHRONOUS = "engine", "synchronous", "asynchronous"  # ``way`` of pipeline_cost
# ngram_timing: hypotheses are drawn at random
DIFFERENT = 40  # pieces to draw from: at 256 pieces one step in seven bans something
VOCABULARY = 8000  # columns of the scores
OFF, ON, VECTORS, PLACES = "off", "on", "vectors", "places"  # ``way`` of an engine


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


class PipelineCost(Circumstances):
    """Of pipeline_cost."""

    lines: int
    model: TimedModel
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
    """Of ngram_timing."""

    n: int
    sentences: int
    model: TimedModel
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
    """Of encoder_cache. layers, units: of the decoder; heads, batch: of the steps in NumPy."""

    model: TimedModel
    layers: int
    units: int
    heads: int
    batch: int
    engine_version: str
    engine: list[CacheRow]
    native: list[CopiesRow]
    reckoning: list[StepRow]


# whole_models: the engine of the others, and the ideas in the order in which they are added to the native engine
TRANSFORMERS = "transformers"
IDEAS = OVERLAP, NGRAMS, CACHE, BATCHES = "overlap", "parallel_scan", "shared_cache", "larger_batches"


class Times(TypedDict):
    """How many times faster, over the rounds."""

    median: float
    lowest: float
    highest: float


class WayRow(TypedDict):
    """A way to translate. batch: sentences. seconds: of each round. same: translations, as transformers has them.

    times_faster: than transformers with its better batch, which has None. by_idea: than without the last idea.
    """

    engine: str
    compute_type: str
    batch: int
    ideas: list[str]
    seconds: list[float]
    same: int
    sources_per_second: NotRequired[float]
    times_faster: NotRequired[Times | None]
    by_idea: NotRequired[Times]
    over_ctranslate2: NotRequired[Times]


class WholeModel(TypedDict):
    """The fields of ``random_models.Shape`` without its batches. pieces: of all sources."""

    kind: str
    config: dict[str, int | bool | str | None]
    sentences: int
    output: int
    beam: int
    ngram: int
    source: int
    peer: bool
    cores: int
    pieces: int
    ways: list[WayRow]


class Uncached(TypedDict):
    """Seconds of each round, by whether transformers keeps what earlier steps computed: ``cached``, ``uncached``."""

    sources: int
    seconds: dict[str, list[float]]


class WholeModels(TimedMachine):
    """Of whole_models."""

    models: dict[str, WholeModel]
    without_cache: NotRequired[dict[str, Uncached]]
    versions: dict[str, str]
    date: str
