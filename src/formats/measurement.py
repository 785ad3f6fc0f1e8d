"""The record of a measurement: one configuration that decoded one test set.

``Measurement`` is the only description of these records: the JSON schema that ``read`` checks files against, the header
of the CSV and, by ``python -m formats.measurement_page --docs docs``, ``docs/measurement.schema.json`` and
``docs/measurements.md`` are made from it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self, get_args

import msgspec

from formats import flat_record
from formats.decoding_options import DecodingOptions
from formats.flat_record import Cell
from formats.schema_from_dataclass import Column, noted, required
from formats.spread import Spread
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, typed, write_json

Role = Literal["teacher", "student", "control", "untrained", "imported"]
ROLES: tuple[Role, ...] = get_args(Role)
UNTRAINED = "untrained"  # random weights: speed only
# Kinds of records that alone have some fields.
SPEED_TABLES, BENCHMARK, COMET = "the speed tables", "measure.benchmark", "studies with `metrics: {comet: ...}`"


@dataclass(frozen=True, kw_only=True)
class System:
    """What decoded."""

    name: str = required("name of the system in the configuration, with its seed where it has several", name="system")
    role: Role = required("what the system is in the study")
    student: str | None = noted("the student that the system is an instance of")
    mixture: str | None = noted("the mixture that the system learned from")
    seed: int | None = noted("seed of the training")
    shape: str = required("layers and sizes, as `3:1 d128 ff512 h4`")
    parameters: int = required("trainable weights", "parameters")


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """What decoded the system."""

    engine: str = required("name of the engine, as in `model.json`")
    engine_label: str | None = noted("name of the engine for people")
    engine_version: str | None = noted("version of its library")
    compute_type: str = required("requested type of the weights")
    effective_compute_type: str | None = noted("type that the engine computes in on this CPU")
    library: str | None = noted("library of the matrix products, where the engine has a choice")
    int8_saturates: bool | None = noted("whether 8-bit products may be cut off on this CPU")


@dataclass(frozen=True, kw_only=True)
class Decoding(DecodingOptions, Decoder):
    """With what and how it decoded, on which cores. In JSON each switch of ``without`` has a field."""

    isa: str | None = noted("widest instruction set of the CPU for matrix products")
    sentences: int | None = noted("sentences decoded", "sentences")
    governor: str | None = noted("frequency governor of the first core; null where the system does not tell")
    model_bytes: int | None = noted("size of the files that decoding needs", "bytes")
    output: str | None = noted("path of the translations, relative to the file of the records")


@dataclass(frozen=True, kw_only=True)
class Timing:
    """What the runs counted, and the time, energy and memory that they took."""

    runs: int = noted("timed runs", "runs", 1)
    source_words: int | None = noted("whitespace tokens of the sources", "words")
    source_tokens_moses: int | None = noted(
        "tokens of the sources as the papers count them: of the Moses tokenizer, with aggressive hyphens", "tokens"
    )
    source_tokens: int | None = noted("pieces of the sources", "pieces")
    target_tokens: int | None = noted("pieces of the translations, without `</s>`", "pieces")
    reference_tokens: int | None = noted("pieces of the references", "pieces")
    candidates: float | None = noted(
        "pieces scored with the vocabulary map, mean of the sentences with a map of each, else of the batches", "pieces"
    )
    load_seconds: Spread | None = noted("loading of the engine and the model, without checksums", "s")
    tokenization_seconds: Spread | None = noted("tokenization, which overlaps with decoding", "s")
    decode_seconds: Spread | None = noted("the engine alone", "s")
    detokenization_seconds: Spread | None = noted("detokenization, which overlaps with decoding", "s")
    text_seconds: Spread | None = noted("from text to text, without loading", "s")
    sentence_seconds: float | None = noted(
        "from text to text of one sentence that is decoded alone, mean of a test set, timed once", "s", only=BENCHMARK
    )
    total_seconds: Spread | None = noted("loading and from text to text", "s")
    target_tokens_per_second: Spread | None = noted("target pieces over the engine's time alone", "pieces/s")
    source_words_per_second: Spread = required("source words over the time from text to text", "words/s")
    text_seconds_runs: tuple[float, ...] | None = noted("`text_seconds` of each run, in order", "s")
    total_seconds_runs: tuple[float, ...] | None = noted("`total_seconds` of each run, in order", "s")
    cpu_seconds: float | None = noted("CPU time from text to text, of all threads and child processes", "s")
    joules: float | None = noted("energy of the CPU packages from text to text; null without RAPL", "J")
    others: float | None = noted("share of the cores that other processes used, at most; null: unknown", default=0.0)
    checksum_seconds: float | None = noted("comparing checksums before loading", "s")
    warmup_seconds: float | None = noted("warm-up before the clock runs", "s")
    peak_rss_bytes: int | None = noted(
        "largest resident set of the process and its children, until the timed test set is decoded", "bytes"
    )
    load_average: float | None = noted("largest load average of one minute before a run", "processes")
    measured_at: tuple[str, ...] | None = noted("start of each run, UTC, sorted")
    output_identical: bool | None = noted("whether all runs gave the same translations")


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What all configurations that were measured together share."""

    price: str | None = noted("source of the price, or why it is unknown")
    noise: float | None = noted("share of the cores that others may use before a run is repeated")
    length_penalty: float | None = noted("exponent of the length in the scores of hypotheses, log p / length^penalty")
    commit: str | None = noted("commit of this code")
    cpu: str | None = noted("model name of the CPU")
    forced_isa: str | None = noted("instruction set that the engine was forced to use, or reports to use")


@dataclass(frozen=True, kw_only=True)
class Scores:
    """What measure.score adds: quality, and how it compares with that of other records."""

    bleu: float | None = noted("sacreBLEU's BLEU, cased, detokenized; null for random weights", "BLEU")
    bleu_signature: str | None = noted("sacreBLEU's signature of it")
    chrf: float | None = noted("sacreBLEU's chrF2", "chrF")
    chrf_signature: str | None = noted("sacreBLEU's signature of it")
    comet: float | None = noted("mean of `comet-score` over the sentences, times 100", "COMET", only=COMET)
    comet_signature: str | None = noted(
        "model, sha256 of its checkpoint, scale, and version of unbabel-comet", only=COMET
    )
    config_hash: str | None = noted("hash of the study's effective configuration")
    dev_set: str | None = noted("name of the dev set, by which the best model is chosen")
    dev_bleu: float | None = noted("BLEU of the same configuration there; null: not decoded there", "BLEU")
    bleu_delta_teacher: float | None = noted(
        "BLEU above the teacher's, float32, beam 4, no map; in CTranslate2 if it decodes it", "BLEU"
    )
    bleu_p_teacher: float | None = noted("p-value of that difference, paired bootstrap (Koehn 2004)")
    bleu_delta_control: float | None = noted("BLEU above that of the control, decoded in the same way", "BLEU")
    bleu_p_control: float | None = noted("p-value of that difference, paired bootstrap (Koehn 2004)")
    teacher: str | None = noted("name of the teacher that the record is compared with")
    control: str | None = noted("name of the control that the record is compared with")
    control_difference: str | None = noted("what sets the trainings of student and control apart")


@dataclass(frozen=True)
class RecordPlace:
    """What a record was measured for. All are keys; what people read instead is in the report of its table."""

    paper: str = noted("folder of the paper in `papers/` that it was measured for", default="", only=SPEED_TABLES)
    table: str = noted("the paper's table that has the row; empty: one of this project", default="", only=SPEED_TABLES)
    row: str = noted(
        "number of the row in the paper; else the rung of a ladder, or what was changed", default="", only=SPEED_TABLES
    )
    way: str = noted("how the row was decoded, where the table has it several times", default="", only=SPEED_TABLES)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One configuration of one system on one test set. In JSON it is flat, with the fields in this order."""

    place: RecordPlace = field(default_factory=RecordPlace)
    study: str = required("name of the study")
    system: System
    decoding: Decoding
    test_set: str = required("name of the test set")
    timing: Timing
    conditions: Conditions = field(default_factory=Conditions)
    core_seconds_per_million_words: float | None = noted(
        "`text_seconds` on every core of the run, per million source words", "core-s/M words"
    )
    usd_per_million_words: float | None = noted(
        "these core-seconds at the listed price; null where none is listed", "USD/M words"
    )
    speed_only: bool = noted("whether the weights are random, so that nothing is scored", default=False)
    noisy: bool = noted("whether others used more of the cores than `noise`: no result then", default=False)
    signature: str | None = noted("all that must be equal for two speeds to be comparable")
    tried: Mapping[str, float] | None = noted(
        "target pieces per second by tokens of a batch, of all sizes tried", "pieces/s", only=SPEED_TABLES
    )
    split: Literal["test", "dev"] | None = noted(
        "whether the test set is the dev set, by which the best model is chosen", only=BENCHMARK
    )
    scores: Scores = field(default_factory=Scores)

    @property
    def words_per_second(self) -> float:
        """Source words over the time from text to text, the median of the runs."""
        return self.timing.source_words_per_second.middle

    @property
    def tokens_per_second(self) -> float:
        """Source tokens of the papers over the time from text to text. Raises UserError for a record without them."""
        moses, words = self.timing.source_tokens_moses, self.timing.source_words
        if moses is None or words is None:
            raise UserError(
                f"{self.study}: {self.system.name} on {self.test_set} has no source_tokens_moses, which older "
                "versions did not count; measure it again"
            )
        return self.words_per_second * moses / words

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The record of the fields of JSON. Raises msgspec.ValidationError for a wrong one."""
        found: Self = flat_record.part(cls, msgspec.convert(values, flat()))
        return found

    def value(self, name: str) -> Any:
        """The value of one of ``columns``."""
        return cells()[name].value(self)

    def as_json(self) -> dict[str, Any]:
        """The ``columns`` in order, without defaults of those of other kinds of records."""
        values = ((column, value(self)) for column, value in cells().values())
        return {column.name: value for column, value in values if value != column.default or not column.only}


@cache
def cells() -> Mapping[str, Cell]:
    """The columns of a record by name, in order."""
    return {cell.column.name: cell for cell in flat_record.cells(Measurement, SPEED_TABLES)}


@cache
def flat() -> type[msgspec.Struct]:
    """The columns as one type."""
    return flat_record.flat(columns())


def columns() -> list[Column]:
    """The fields of a record in JSON, in order."""
    return [cell.column for cell in cells().values()]


def read(path: Path) -> list[Measurement]:
    """Read measurements. Raises UserError that names the wrong record and field of another file."""
    try:
        records = read_json(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; it is made by a run of the study") from None
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: line {error.lineno} is not JSON: {error.msg}") from None
    if not isinstance(records, list) or not records:
        raise UserError(f"{path}: not a list of measurements; give the measurements.json of a study")
    problem = "has a wrong field; measure it again"
    found = (typed(record, flat(), f"{path}: record {number} {problem}") for number, record in enumerate(records, 1))
    return [flat_record.part(Measurement, values) for values in found]


def write(path: Path, measurements: Iterable[Measurement]) -> None:
    write_json(path, [measurement.as_json() for measurement in measurements])


def brief(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record in JSON without what reading them fills in: defaults, and both ends of a single run."""
    defaults = {column.name: column.default for column in columns() if not column.required}

    def is_filled_in(name: str) -> bool:
        middle = name.removesuffix("_min").removesuffix("_max")
        alike = middle != name and values[name] == values.get(middle)
        return name in defaults and (values[name] == defaults[name] or alike)

    return {name: value for name, value in values.items() if not is_filled_in(name)}


def header(measurements: Iterable[Measurement]) -> list[str]:
    """The columns of a study's CSV: without fields of the speed tables, and of COMET if no record has them."""
    left_out = (
        {SPEED_TABLES} if any(record.scores.comet_signature for record in measurements) else {SPEED_TABLES, COMET}
    )
    return [column.name for column in columns() if column.only not in left_out]
