"""A configuration written out: every entry has what the study says once for all of them, and every default."""

from functools import cache
from typing import Any

from common.errors import UserError
from formats.prices import PATH as PRICES
from formats.prices import prices
from formats.shape import registry
from study.extends import merged, without_nulls
from study.schema import Config, definition, filled, problems, schema

LENGTHS = ("steps", "epochs")  # a training or a phase has one of them
BATCHES = ("batch_tokens", "batch_sentences")  # a training has one of them


def expanded(written: Config) -> Config:
    """The configuration with every key of the schema. Unknown names stay as they are, for the checks to report.

    written: with its nulls. Null in an entry is the default, whatever the study says for all entries.
    """
    config = _with_training(_with_cleaning(_with_named_shapes(without_nulls(written)), written), written)
    config = filled(config, schema())
    return config | {"prices": _with_price(config["prices"])}


@cache
def listed_prices() -> dict[str, Config]:
    """formats/prices.yaml. Raises UserError for a price that does not say where it is from."""
    price = {"type": "object", "$ref": "#/$defs/price"}
    entries = {"type": "object", "additionalProperties": price, "$defs": schema()["$defs"]}
    if lines := list(problems(prices(), entries)):
        raise UserError("\n".join(f"{PRICES}: {line}" for line in lines))
    return prices()


def _with_price(section: Config) -> Config:
    """The machine's entry in the list of prices instead of its name."""
    machine, listed = section["machine"], listed_prices()  # a mistake in the list shows in every study
    return {"machine": listed.get(machine, machine) if isinstance(machine, str) else machine}


def _with_cleaning(config: Config, written: Config) -> Config:
    """``cleaning`` of the study holds for every corpus, key by key, unless the corpus says otherwise."""

    def completed(name: str) -> Config:
        return without_nulls(config.get("cleaning", {}) | (written["corpora"][name].get("cleaning") or {}))

    corpora = {name: corpus | {"cleaning": completed(name)} for name, corpus in config["corpora"].items()}
    return config | {"corpora": corpora}


def _with_training(config: Config, written: Config) -> Config:
    """``student_training`` holds for every student, key by key, unless the student says otherwise."""

    def completed(own: Config) -> Config:
        # Keys of a pair exclude each other: a student that has one of them does not inherit the other.
        excluded = {key for pair in (LENGTHS, BATCHES) if without_nulls(own).keys() & pair for key in pair}
        general = {key: value for key, value in config["student_training"].items() if key not in excluded}
        return filled(without_nulls(merged(general, own)), definition("training"))

    students = {
        name: entry | {"training": completed(written["students"][name].get("training") or {})}
        for name, entry in config["students"].items()
    }
    return config | {"students": students}


def _with_named_shapes(config: Config) -> Config:
    """The numbers of a named shape instead of its name, under those that the entry gives itself."""

    def spelled_out(entry: Config) -> Config:
        values: Any = entry.get("shape")
        values = {"like": values} if isinstance(values, str) else values
        if values and values.get("like") in registry():
            values = registry()[values["like"]] | {key: value for key, value in values.items() if key != "like"}
        return entry | ({"shape": values} if values else {})

    sections = {
        kind: {name: spelled_out(entry) for name, entry in config.get(kind, {}).items()}
        for kind in ("teachers", "students")
    }
    return config | sections
