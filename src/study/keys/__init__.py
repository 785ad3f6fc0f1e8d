"""The keys of a configuration, from its types: the JSON schema that checks files, and the page that describes them.

``python -m study.keys`` writes workflow/schemas/config.schema.yaml, which editors read, and docs/keys.md. What a key
means stands below it in its class.

- ``page``: the page of keys
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec
import yaml
from msgspec import NODEFAULT

from common.document import Document, short
from study.configuration import StudyConfiguration

ROOT = Path(__file__).parents[3]
SCHEMA, PAGE = ROOT / "workflow/schemas/config.schema.yaml", ROOT / "docs/keys.md"
HEAD = "# Made by python -m study.keys from the types of src/study/configuration: edit those.\n"
ABOUT = (
    "One YAML file a study. A key that is absent or null takes its default. `extends: other.yaml` (relative to the"
    " file) takes another study as the base: mappings are merged, everything else is replaced."
)
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


class SectionKey(NamedTuple):
    """A key of a section. text: what it means. default: NODEFAULT if the key is required."""

    name: str
    kind: Any
    text: str
    default: Any


@cache
def keys(section: type) -> list[SectionKey]:
    """The keys of a class; those of a TypedDict have no default."""
    kinds, texts = get_type_hints(section, include_extras=True), _texts(section.__module__)[section.__name__]
    if is_typeddict(section):
        return [SectionKey(name, kind, texts[name], NODEFAULT) for name, kind in kinds.items()]
    return [
        SectionKey(one.encode_name, kinds[one.name], texts.get(one.name, ""), _default(one))
        for one in msgspec.structs.fields(section)
    ]


def _default(one: msgspec.structs.FieldInfo) -> Any:
    return one.default if one.default_factory is NODEFAULT else one.default_factory()


@cache
def _texts(module: str) -> dict[str, dict[str, str]]:
    """What stands below the fields of each class of a module."""
    body = ast.parse(inspect.getsource(sys.modules[module])).body
    return {each.name: dict(_below(each)) for each in body if isinstance(each, ast.ClassDef)}


def _below(section: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for one, below in pairwise(section.body):
        match one, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield name, " ".join(text.split())


@cache
def schema() -> Document:
    """The JSON schema of a configuration."""
    schemas = _Schemas()
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A study", "description": ABOUT}
    return dialect | {"type": "object"} | schemas.mapping(StudyConfiguration) | {"$defs": schemas.definitions}


class _Schemas:
    """JSON schemas of types, and the definitions that these refer to.

    The definition of a section does not say that it is a mapping; the place that refers to it does, which may allow a
    name or null beside it.
    """

    def __init__(self) -> None:
        self.definitions: Document = {}

    def of(self, kind: Any) -> Document:
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._limited(*arguments)
        if origin is NotRequired:
            return self.of(arguments[0])
        if origin in (Union, UnionType):
            return _either([self.of(each) for each in arguments])
        if origin is Literal:
            return {"enum": [*arguments]}
        if origin is list:
            return {"type": "array", "items": self.of(arguments[0])}
        if origin is dict:
            names, values = self.of(arguments[0]), True if arguments[1] is Any else self.of(arguments[1])
            limited = {} if names == {"type": "string"} else {"propertyNames": names}
            return {"type": "object", **limited, "additionalProperties": values}
        return {"type": JSON_TYPES[kind]} if kind in JSON_TYPES else self._section(kind)

    def _limited(self, kind: Any, *limits: msgspec.Meta) -> Document:
        extra = {key: value for each in limits for key, value in (each.extra or {}).items()}
        part = self.of(extra.get("written", kind))
        for each in limits:
            part |= each.extra_json_schema or {}
        part |= {"default": extra["default"]} if "default" in extra else {}
        if not (name := extra.get("name")):
            return part
        self.definitions[name] = part
        return {"$ref": f"#/$defs/{name}"}

    def _section(self, kind: type) -> Document:
        if (name := kind.__name__.removesuffix("Section")) not in self.definitions:
            self.definitions[name] = {}  # its place is before those that it refers to
            self.definitions[name] = {"description": " ".join((kind.__doc__ or "").split())} | self.mapping(kind)
        return {"type": "object", "$ref": f"#/$defs/{name}"}

    def mapping(self, section: type) -> Document:
        """A mapping with the keys of a section and no others."""
        properties = {key.name: self._property(key) for key in keys(section)}
        required = [name for name, part in properties.items() if "default" not in part]
        closed = {"additionalProperties": False} | ({"required": required} if required else {})
        return closed | {"properties": properties}

    def _property(self, key: SectionKey) -> Document:
        default = {} if key.default is NODEFAULT else {"default": short(key.default)}
        return ({"description": key.text} if key.text else {}) | self.of(key.kind) | default


def _either(parts: list[Document]) -> Document:
    """What fits one of the parts. A keyword of JSON schema says nothing about values of another type than its own."""
    if any("const" in part for part in parts):
        return {"anyOf": parts}
    joined = {keyword: value for part in parts for keyword, value in part.items() if keyword != "type"}
    if "enum" in joined and parts[1:] == [{"type": "null"}]:
        return joined | {"enum": [*joined["enum"], None]}
    types = [name for part in parts for name in (part["type"] if isinstance(part["type"], list) else [part["type"]])]
    types = [name for name in types if name != "integer" or "number" not in types]
    return {"type": types[0] if len(types) == 1 else types} | joined


class _Plain(yaml.SafeDumper):
    """Without anchors; a list of words or numbers is on one line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        return super().represent_sequence(
            tag, sequence, flow_style=not any(isinstance(each, dict) for each in sequence)
        )


def schema_text() -> str:
    dumped: str = yaml.dump(schema(), Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)
    return HEAD + dumped
