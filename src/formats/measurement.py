"""The record of a measurement: one configuration that decoded one test set.

``Measurement`` is the only description of these records: the JSON schema that ``read`` checks files against, the header
of the CSV and, by ``python -m formats.measurement --docs docs``, ``docs/measurement.schema.json`` and
``docs/measurements.md`` are made from it.
"""

import argparse
import json
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, get_args

import jsonschema

from common.errors import UserError, command
from common.files import read_json, write_json, write_text
from formats import schema_from_dataclass, switches
from formats.schema_from_dataclass import Column, noted, required

Role = Literal["teacher", "student", "control", "untrained"]
ROLES: tuple[Role, ...] = get_args(Role)
UNTRAINED = "untrained"  # random weights: speed only
# Kinds of records that alone have some fields.
SPEED_TABLES, BENCHMARK, COMET = "the speed tables", "measure.benchmark", "studies with `metrics: {comet: ...}`"
PAGE, SCHEMA = "measurements.md", "measurement.schema.json"
PAGE_TEXT = """# Measurement fields

A measurement is one flat JSON record; `results/<study>/measurements.json` is a list of them, and `measurements.csv` in
the report is the same as a table. The tables and plots of systems are made from nothing else. This page and the
[JSON schema](measurement.schema.json) of the list are made from the type
[`formats.measurement.Measurement`](../src/formats/measurement.py) by `python -m formats.measurement --docs docs`.

Times and rates are medians over `runs`, with `_min` and `_max` beside each; `_runs` has the values in the order of the
runs, so that two records can be compared run by run. Seconds are wall time unless the name has `cpu`; shares are from
0 to 1. A token is a SentencePiece piece without the end token, a word a whitespace token of the source. `signature`
names all that must be equal for two speeds to be comparable.

Fields without a default are in every record. Records of older versions lack some of the others, which are then read
as their default.

{table}
"""


class Spread(NamedTuple):
    """The median, the lowest and the highest value of several runs."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        runs = list(values)
        return cls(statistics.median(runs), min(runs), max(runs))

    @classmethod
    def read(cls, row: Mapping[str, Any], name: str, scale: float = 1.0) -> Self:
        """The fields ``name``, ``name_min`` and ``name_max`` of a row of JSON, times a scale."""
        return cls(*(row[f"{name}{end}"] * scale for end in ("", "_min", "_max")))

    def fields(self, name: str) -> dict[str, float]:
        return {name: self.middle, f"{name}_min": self.low, f"{name}_max": self.high}

    def __format__(self, form: str) -> str:
        return f"{self.middle:{form}} ({self.low:{form}} to {self.high:{form}})"

    def short(self, form: str) -> str:
        """As ``format``, but one number if all runs are equal."""
        return f"{self.middle:{form}}" if self.low == self.high else format(self, form)


def lowest(unit: str) -> Any:
    return noted("lowest of the runs", unit)


def highest(unit: str) -> Any:
    return noted("highest of the runs", unit)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One configuration of one system on one test set. The fields are in the order in which they are written.

    without: names of formats.switches that were off; in JSON each switch has a field.
    """

    rung: str | None = noted("name of the rung of a ladder or of the changed switch", only=SPEED_TABLES)
    study: str = required("name of the study")
    system: str = required("name of the system in the configuration, with its seed where it has several")
    role: Role = required("what the system is in the study")  # noqa: RUF009 (a Literal is immutable)
    student: str | None = noted("the student that the system is an instance of")
    mixture: str | None = noted("the mixture that the system learned from")
    seed: int | None = noted("seed of the training")
    shape: str = required("layers and sizes, as `3:1 d128 ff512 h4`")
    parameters: int = required("trainable weights", "parameters")
    engine: str = required("name of the engine, as in `model.json`")
    engine_label: str | None = noted("name of the engine for people")
    engine_version: str | None = noted("version of its library")
    compute_type: str = required("requested type of the weights")
    effective_compute_type: str | None = noted("type that the engine computes in on this CPU")
    library: str | None = noted("library of the matrix products, where the engine has a choice")
    int8_saturates: bool | None = noted("whether 8-bit products may be cut off on this CPU")
    beam_size: int = required("hypotheses kept in search; 1 is greedy search", "hypotheses")
    vocabulary_map: bool = required("whether only the candidates of the vocabulary map were scored")
    batch_tokens: int | None = noted("largest batch, padding included", "source tokens")
    workers: int = noted("batches decoded at a time", "batches", 1)
    threads: int = noted("threads of each worker", "threads", 1)
    without: frozenset[str] = frozenset()
    blocked_ngram: int = 0
    isa: str | None = noted("widest instruction set of the CPU for matrix products")
    sentences: int | None = noted("sentences decoded", "sentences")
    batch_sentences: int | None = noted("sentences of a batch, where batches are not cut by tokens", "sentences")
    cores: tuple[int, ...] = noted("numbers of the cores that the run was pinned to", default=())
    governor: str | None = noted("frequency governor of the first core; null where the system does not tell")
    model_bytes: int | None = noted("size of the files that decoding needs", "bytes")
    output: str | None = noted("path of the translations, relative to the file of the records")
    test_set: str = required("name of the test set")
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
    load_seconds: float | None = noted("loading of the engine and the model, without checksums", "s")
    load_seconds_min: float | None = lowest("s")
    load_seconds_max: float | None = highest("s")
    tokenization_seconds: float | None = noted("tokenization, which overlaps with decoding", "s")
    tokenization_seconds_min: float | None = lowest("s")
    tokenization_seconds_max: float | None = highest("s")
    decode_seconds: float | None = noted("the engine alone", "s")
    decode_seconds_min: float | None = lowest("s")
    decode_seconds_max: float | None = highest("s")
    detokenization_seconds: float | None = noted("detokenization, which overlaps with decoding", "s")
    detokenization_seconds_min: float | None = lowest("s")
    detokenization_seconds_max: float | None = highest("s")
    text_seconds: float | None = noted("from text to text, without loading", "s")
    text_seconds_min: float | None = lowest("s")
    text_seconds_max: float | None = highest("s")
    sentence_seconds: float | None = noted(
        "from text to text of one sentence that is decoded alone, mean of a test set, timed once", "s", only=BENCHMARK
    )
    total_seconds: float | None = noted("loading and from text to text", "s")
    total_seconds_min: float | None = lowest("s")
    total_seconds_max: float | None = highest("s")
    target_tokens_per_second: float | None = noted("target pieces over the engine's time alone", "pieces/s")
    target_tokens_per_second_min: float | None = lowest("pieces/s")
    target_tokens_per_second_max: float | None = highest("pieces/s")
    source_words_per_second: float = required("source words over the time from text to text", "words/s")
    source_words_per_second_min: float | None = lowest("words/s")
    source_words_per_second_max: float | None = highest("words/s")
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
    price: str | None = noted("source of the price, or why it is unknown")
    noise: float | None = noted("share of the cores that others may use before a run is repeated")
    length_penalty: float | None = noted("exponent of the length in the scores of hypotheses, log p / length^penalty")
    commit: str | None = noted("commit of this code")
    cpu: str | None = noted("model name of the CPU")
    forced_isa: str | None = noted("instruction set that the engine was forced to use, or reports to use")
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

    def __post_init__(self) -> None:
        """Turn JSON's lists into tuples, so that records from files equal others."""
        switches.off(self.without)
        for column in fields(self):
            if isinstance(value := getattr(self, column.name), list):
                object.__setattr__(self, column.name, tuple(value))

    @property
    def tokens_per_second(self) -> float:
        """Source tokens of the papers over the time from text to text. Raises UserError for a record without them."""
        if self.source_tokens_moses is None:
            raise UserError(
                f"{self.study}: {self.system} on {self.test_set} has no source_tokens_moses, which older versions "
                "did not count; measure it again"
            )
        return self.source_words_per_second * self.source_tokens_moses / self.source_words

    def spread(self, name: str) -> Spread:
        return Spread(*(getattr(self, f"{name}{end}") for end in ("", "_min", "_max")))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The record of the fields of JSON."""
        return cls(**switches.folded(values))

    def value(self, name: str) -> Any:
        """The value of one of ``columns``."""
        return getattr(self, name) if hasattr(self, name) else switches.values(self)[name]

    def as_json(self) -> dict[str, Any]:
        """The ``columns`` in order, without defaults of those of other kinds of records."""
        values = vars(self) | switches.values(self)
        kept = (column for column in columns() if values[column.name] != column.default or not column.only)
        return {column.name: values[column.name] for column in kept}


def columns() -> list[Column]:
    """The fields of a record in JSON, in order: those of Measurement, and each switch for ``without``."""
    found: list[Column] = []
    for column in schema_from_dataclass.columns(Measurement):
        if column.name == "without":
            found += map(_of_switch, switches.SWITCHES)
        elif column.name not in switches.SWITCHES:
            found.append(column)
    return found


def _of_switch(name: str) -> Column:
    switch = switches.SWITCHES[name]
    kind = int if switch.unit else bool
    return Column(name, kind, switch.default, switch.on, switch.unit, SPEED_TABLES if switch.ablation else "")


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
    for error in jsonschema.Draft202012Validator(schema()).iter_errors(records):
        number, *place = error.absolute_path
        raise UserError(": ".join([f"{path}: record {number + 1}", *map(str, place), error.message]))
    return [Measurement.of(record) for record in records]


def write(path: Path, measurements: Iterable[Measurement]) -> None:
    write_json(path, [measurement.as_json() for measurement in measurements])


def header(measurements: Iterable[Measurement]) -> list[str]:
    """The columns of a study's CSV: without fields of the speed tables, and of COMET if no record has them."""
    left_out = {SPEED_TABLES} if any(record.comet_signature for record in measurements) else {SPEED_TABLES, COMET}
    return [column.name for column in columns() if column.only not in left_out]


@cache
def schema() -> dict[str, Any]:
    """The JSON schema of a list of measurements."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Measurements of a study",
        "type": "array",
        "minItems": 1,
        "items": schema_from_dataclass.schema(columns()),
    }


def page() -> str:
    """``docs/measurements.md``: all fields with type, unit and default."""
    return PAGE_TEXT.format(table=schema_from_dataclass.table(columns()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, required=True, help=f"folder to write {PAGE} and {SCHEMA} to")
    args = parser.parse_args()
    write_text(args.docs / PAGE, page())
    write_json(args.docs / SCHEMA, schema())


if __name__ == "__main__":
    command(main)
