"""JSON documents with types, which a rule hands to a program: a class for each mapping."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from msgspec import NODEFAULT, DecodeError, Meta, Struct, to_builtins
from msgspec.json import decode
from msgspec.structs import FieldInfo, fields

Document = dict[str, Any]  # as YAML and JSON have it
Number = int | float  # as it is written, 1 or 1.0
Kind = TypeVar("Kind")


def limits(name: str = "", **keywords: Any) -> Meta:
    """What values a person may write, in keywords of JSON schema, for ``Annotated``; study.schema checks them.

    name: that of the definition in the schema, for what stands in many places.
    """
    return Meta(extra_json_schema=keywords, extra={"name": name})


def written(kind: Any, **default: Any) -> Meta:
    """What a person writes for a value that has another type once the configuration is expanded, and its default."""
    return Meta(extra={"written": kind, **default})


SAFE = 'A name that is safe in a path; letters, digits, ".", "_" and "-", the first a letter or digit.'
UNIQUE, SEVERAL = limits(uniqueItems=True), limits(minItems=1, uniqueItems=True)  # of lists
NOT_EMPTY = limits(minProperties=1)  # of mappings
Name = Annotated[str, limits("name", description=SAFE, pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Natural = Annotated[int, limits(minimum=0)]
Count = Annotated[int, limits(minimum=1)]
Seed = Annotated[int, limits(minimum=0, maximum=2**32 - 1)]
Positive = Annotated[Number, limits(exclusiveMinimum=0)]
Share = Annotated[Number, limits(minimum=0, maximum=1)]
SomeShare = Annotated[Number, limits(exclusiveMinimum=0, maximum=1)]


def short(value: Any) -> Any:
    """A value for JSON, where sections are without the keys that are at their defaults, at every depth."""
    if isinstance(value, Struct):
        return {one.encode_name: found for one in fields(value) if (found := _set(value, one)) is not NODEFAULT}
    if isinstance(value, dict):
        return {key: short(each) for key, each in value.items()}
    return [short(each) for each in value] if isinstance(value, list) else value


def _set(section: Struct, one: FieldInfo) -> Any:
    """The value of a field as ``short`` has it, NODEFAULT if it is the default."""
    value = short(getattr(section, one.name))
    default = one.default if one.default_factory is NODEFAULT else short(one.default_factory())
    same = value == default and isinstance(value, bool) == isinstance(default, bool)  # 0 is not False
    return NODEFAULT if same else value


class Section(Struct, forbid_unknown_fields=True):
    """A mapping with these keys and no others."""

    @property
    def document(self) -> Document:
        """The mapping itself, with the keys in the order of the class."""
        document: Document = to_builtins(self)
        return document


def argument(kind: type[Kind]) -> Callable[[str], Kind]:
    """The type of a command-line argument that is a document of this kind, as JSON."""

    def parsed(text: str) -> Kind:
        try:
            return decode(text, type=kind)
        except DecodeError as error:  # ValidationError is one
            raise ArgumentTypeError(f"{error}: {text[:80]}") from None

    return parsed
