"""The JSON of experiments that are timed in one process (measure.in_process), and what the documents of papers share.

A time or a ratio has three fields: the median of the runs, with ``_min`` and ``_max`` (formats.spread.Spread).
"""

import os
from typing import NotRequired, TypedDict

from formats import ctranslate2_products
from nmt_frontier import machine

FEW = 64  # candidates instead of the vocabulary; a beam reads twice its width


class TimedMachine(machine.Machine):
    """forced_isa: the instruction set to which the environment restricts CTranslate2."""

    forced_isa: str | None


def here() -> TimedMachine:
    """This machine and its environment."""
    return {**machine.describe(), "forced_isa": os.environ.get(ctranslate2_products.ISA)}


class Circumstances(TimedMachine):
    """What all rows of a file share. noise: the share of the core that others might use."""

    runs: int
    noise: float
    test_set: str
    commit: str | None
    load_average: float


class Disturbed(TypedDict):
    """others: the share of the cores that others used, at most; None where runs were too short to tell."""

    others: float | None


class TimedModel(TypedDict):
    """The model that was timed, from its model.json."""

    system: str
    shape: str
    quantization: str


class CpuSeconds(Disturbed):
    cpu_seconds: float
    cpu_seconds_min: float
    cpu_seconds_max: float


class TimeShare(TypedDict):
    """The share of a part in the whole."""

    share: float
    share_min: float
    share_max: float


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


class DecodedModel(TimedModel):
    engine: str


class MapTiming(TimedMachine):
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
