"""A configuration written out: merged with the files that it extends, with the study's settings in every entry."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from common.document import Document
from findings.cost import PRICES, Price, prices
from formats.shape import registry
from nmt_frontier.errors import UserError
from study.keys import schema
from study.schema import problems

ANOTHER = {"like", "model", "cell"}  # keys of a shape that make it another one; the numbers of its base do not fit it
LENGTHS = ("steps", "epochs")  # a training or a phase has one of them
BATCHES = ("batch_tokens", "batch_sentences")  # a training has one of them


class _UniqueKeyLoader(yaml.SafeLoader):
    """Refuses duplicate keys: PyYAML keeps the last one silently, so a second corpus of one name would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for position, (key, _) in enumerate(node.value):
            if key.value in keys[:position]:
                raise yaml.MarkedYAMLError(problem=f"key '{key.value}' is there twice", problem_mark=key.start_mark)
        return super().construct_mapping(node, deep)


def _plain_number(loader: _UniqueKeyLoader, node: yaml.ScalarNode) -> int | float:
    """Refuses what is a number in YAML alone: 1_0 is 10 there, 017 is 15, and 1:30 is 90."""
    number: int | float = (loader.construct_yaml_int if node.tag == INT else loader.construct_yaml_float)(node)
    if not PLAIN.fullmatch(node.value):
        problem = f"{node.value} is {number} in YAML; write {number}, or quotes around it"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
    return number


INT, FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
PLAIN = re.compile(r"[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)(e[-+]?\d+)?|[-+]?\.inf|\.nan", re.IGNORECASE)
for _tag in (INT, FLOAT):
    _UniqueKeyLoader.add_constructor(_tag, _plain_number)


def read(path: Path) -> Document:
    """``written`` without the keys that are null."""
    given: Document = without_nulls(written(path))
    return given


def written(path: Path) -> Document:
    """The file merged with its base; a key that is null there stays, as it may switch off what a study inherits.

    Raises UserError for a file that is missing, is not YAML in UTF-8, or extends itself.
    """
    return _extended(path, ())


def without_nulls(value: Any) -> Any:
    """Null means "as if the key were absent", so a study can drop a corpus of its base."""
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(item) for key, item in value.items() if item is not None}


def merged(base: Any, top: Any, key: str = "") -> Any:
    """``top`` over ``base``, key by key; values that are no mappings, and shapes of another kind, are replaced.

    key: that of both values.
    """
    if not (isinstance(base, dict) and isinstance(top, dict)) or (key == "shape" and ANOTHER & top.keys()):
        return top
    return base | {name: merged(base.get(name), value, name) for name, value in top.items()}


def _extended(path: Path, extending: tuple[Path, ...]) -> Document:
    if path.resolve() in extending:
        raise UserError(f"{extending[0]}: extends: {path} is its own base")
    config = _parsed(path)
    base = config.pop("extends", None)
    if base is None:
        return config
    if not isinstance(base, str):
        raise UserError(f"{path}: extends: {base!r} is not the name of a file")
    if not (path.parent / base).is_file():
        raise UserError(f"{path}: extends: no file {path.parent / base}")
    whole: Document = merged(_extended(path.parent / base, (*extending, path.resolve())), config)
    return whole


def _parsed(path: Path) -> Document:
    try:
        config = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}:" if error.problem_mark else ""
        raise UserError(f"{path}:{line} not YAML: {error.problem}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not YAML in UTF-8: {' '.join(str(error).split())}") from error
    if not isinstance(config, dict):
        raise UserError(f"{path}: not a mapping of keys to values")
    return config


def expanded(written: Document) -> Document:
    """The configuration with all that its entries inherit. Unknown names stay as they are, for the checks to report.

    written: with its nulls. Null in an entry is the default, whatever the study sets for all entries.
    """
    config = _with_training(_with_cleaning(_with_named_shapes(without_nulls(written)), written), written)
    return config | {"prices": _with_price(config.get("prices", {}))}


@cache
def listed_prices() -> dict[str, Price]:
    """findings/prices.yaml. Raises UserError for a price that does not say where it is from."""
    price = {"type": "object", "$ref": "#/$defs/Price"}
    entries = {"type": "object", "additionalProperties": price, "$defs": schema()["$defs"]}
    if lines := list(problems(prices(), entries)):
        raise UserError("\n".join(f"{PRICES}: {line}" for line in lines))
    return prices()


def _with_price(section: Document) -> Document:
    """The machine's entry in the list of prices instead of its name; an own entry has its number of GPUs."""
    machine, listed = section.get("machine"), listed_prices()  # a mistake in the list shows in every study
    own = {"gpus": 0} | machine if isinstance(machine, dict) else machine
    return {"machine": listed.get(machine, machine) if isinstance(machine, str) else own}


def _with_cleaning(config: Document, written: Document) -> Document:
    """Every corpus gets the keys of the study's ``cleaning`` that it does not set itself."""

    def completed(name: str) -> Document:
        own = written["corpora"][name].get("cleaning") or {}
        cleaning: Document = without_nulls(config.get("cleaning", {}) | own)
        return cleaning

    corpora = {name: corpus | {"cleaning": completed(name)} for name, corpus in config["corpora"].items()}
    return config | {"corpora": corpora}


def _with_training(config: Document, written: Document) -> Document:
    """Every student gets the keys of ``student_training`` that it does not set itself."""

    def completed(own: Document) -> Document:
        # Keys of a pair exclude each other: a student that has one of them does not inherit the other.
        excluded = {key for pair in (LENGTHS, BATCHES) if without_nulls(own).keys() & pair for key in pair}
        general = {key: value for key, value in config["student_training"].items() if key not in excluded}
        training: Document = without_nulls(merged(general, own))
        return training

    own = {name: written["students"][name].get("training") or {} for name in config["students"]}
    students = {name: entry | {"training": completed(own[name])} for name, entry in config["students"].items()}
    return config | {"students": students}


def _with_named_shapes(config: Document) -> Document:
    """The numbers of a named shape instead of its name, under those that the entry gives itself."""

    def spelled_out(entry: Document) -> Document:
        values: Any = entry.get("shape")
        values = {"like": values} if isinstance(values, str) else values
        if values and values.get("like") in registry():
            values = registry()[values["like"]] | {key: value for key, value in values.items() if key != "like"}
        return {**entry, **({"shape": values} if values else {})}

    kinds, back, scores = ("teachers", "students"), config.get("back_translation"), config.get("scores", {})
    named = {kind: {name: spelled_out(e) for name, e in config.get(kind, {}).items()} for kind in kinds}
    named |= {"back_translation": back | {"teacher": spelled_out(back["teacher"])}} if back else {}
    named |= {"scores": scores | {"model": spelled_out(scores["model"])}} if "model" in scores else {}
    return config | named
