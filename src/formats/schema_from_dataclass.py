"""The JSON schema and a Markdown table of a dataclass with described fields, or of such fields."""

import json
import typing
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, field, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple

Schema = dict[str, Any]  # of JSON

JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


class Column(NamedTuple):
    """A field of JSON. default: MISSING if every record has the field. only: the records that have it; empty: all."""

    name: str
    type: Any
    default: Any
    text: str
    unit: str = ""
    only: str = ""

    @property
    def description(self) -> str:
        return f"{self.text} ({self.unit})" if self.unit else self.text

    @property
    def required(self) -> bool:
        return self.default is MISSING


def required(text: str, unit: str = "", name: str = "") -> Any:
    """A field of every record. name: of the column, if it has another one."""
    return field(metadata={"text": text, "unit": unit} | ({"name": name} if name else {}))


def noted(text: str, unit: str = "", default: Any = None, only: str = "") -> Any:
    """A field that records of older versions may lack. only: the records that are written with it."""
    return field(default=default, metadata={"text": text, "unit": unit, "only": only})


@cache
def columns(dataclass: type) -> Mapping[str, Column]:
    """The columns of the fields of a dataclass; one without a description has no text."""
    hints = typing.get_type_hints(dataclass)

    def column(one: Field[Any]) -> Column:
        about = {name: value for name, value in one.metadata.items() if name in Column._fields}
        return Column(**{"name": one.name, "type": hints[one.name], "text": "", "default": one.default, **about})

    return {one.name: column(one) for one in fields(dataclass)}


def schema(columns: Iterable[Column]) -> Schema:
    """The JSON schema of an object with these fields and no others."""
    columns = [*columns]
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [column.name for column in columns if column.required],
        "properties": {column.name: {"description": column.description} | json_type(column.type) for column in columns},
    }


def json_type(hint: Any) -> Schema:
    """The JSON schema of a plain type, a Literal, tuple[X, ...], a Mapping from str, or one of these or None."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (UnionType, typing.Union):
        (kind,) = (json_type(argument) for argument in arguments if argument is not NoneType)
        return kind | ({"enum": [*kind["enum"], None]} if "enum" in kind else {"type": [kind["type"], "null"]})
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": json_type(arguments[0])}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": json_type(arguments[1])}
    return {"type": JSON_TYPES[hint]}


def table(columns: Iterable[Column]) -> str:
    """The fields in Markdown, with type, unit, default and meaning."""
    rows = [
        (
            f"`{column.name}`",
            type_name(json_type(column.type)),
            column.unit,
            "" if column.required else _code(column.default),
            column.text + (f" (records of {column.only} only)" if column.only else ""),
        )
        for column in columns
    ]
    head = ("field", "type", "unit", "default", "meaning")
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def type_name(kind: Schema) -> str:
    """A JSON type in words: ``number or null``, ``list of integer``."""
    if "enum" in kind:
        return " or ".join(map(_code, kind["enum"]))
    names = [kind["type"]] if isinstance(kind["type"], str) else kind["type"]
    return " or ".join(_part_name(name, kind) for name in names)


def _part_name(name: str, kind: Schema) -> str:
    if name == "array":
        return f"list of {type_name(kind['items'])}"
    return f"object of {type_name(kind['additionalProperties'])}" if name == "object" else name


def _code(value: Any) -> str:
    """A value as JSON; null is plain."""
    return "null" if value is None else f"`{json.dumps(value)}`"
