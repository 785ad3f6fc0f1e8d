"""The JSON schema and a Markdown table of a dataclass with described fields."""

import json
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields
from types import NoneType, UnionType
from typing import Any, Literal

Schema = dict[str, Any]  # of JSON

JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def required(text: str, unit: str = "") -> Any:
    """A field of every record."""
    return field(metadata={"text": text, "unit": unit})


def noted(text: str, unit: str = "", default: Any = None, only: str = "") -> Any:
    """A field that records of older versions may lack. only: the records that are written with it."""
    return field(default=default, metadata={"text": text, "unit": unit, "only": only})


def only(column: Field[Any]) -> str:
    """The kind of records that have a field; empty for all."""
    return str(column.metadata.get("only", ""))


def schema(dataclass: type) -> Schema:
    """The JSON schema of an object with these fields and no others."""
    hints, columns = typing.get_type_hints(dataclass), fields(dataclass)
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [column.name for column in columns if column.default is MISSING],
        "properties": {
            column.name: {"description": _description(column)} | json_type(hints[column.name]) for column in columns
        },
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


def table(dataclass: type) -> str:
    """All fields in Markdown, with type, unit, default and meaning."""
    types = schema(dataclass)["properties"]
    rows = [
        (
            f"`{column.name}`",
            type_name(types[column.name]),
            column.metadata["unit"],
            "" if column.default is MISSING else _code(column.default),
            column.metadata["text"] + (f" (records of {only(column)} only)" if only(column) else ""),
        )
        for column in fields(dataclass)
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


def _description(column: Field[Any]) -> str:
    unit = column.metadata["unit"]
    return f"{column.metadata['text']} ({unit})" if unit else column.metadata["text"]


def _code(value: Any) -> str:
    """A value as JSON; null is plain."""
    return "null" if value is None else f"`{json.dumps(value)}`"
