"""JSON documents with types, which a rule hands to a program: a class for each mapping."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import DecodeError, Struct, to_builtins
from msgspec.json import decode

Document = dict[str, Any]  # as YAML and JSON have it
Number = int | float  # as it is written: 1 and 1.0 have different hashes
Kind = TypeVar("Kind")


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
