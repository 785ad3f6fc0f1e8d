"""Types of command-line arguments; parsed arguments as a dataclass."""

import argparse
import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nmt_frontier.errors import UserError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Options = TypeVar("Options", bound="DataclassInstance")


def positive(text: str) -> int:
    """A whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def json_value(text: str) -> Any:
    """A value as JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON ({error}): {text[:80]}") from None


def there(text: str) -> Path:
    """A file or folder that a command reads. Raises UserError, before the command does anything, if it is not there."""
    if not Path(text).exists():
        raise UserError(f"{text}: No such file or directory")
    return Path(text)


def named_path(text: str) -> tuple[str, Path]:
    """``name=path`` of a file or folder that is there."""
    name, _, path = text.partition("=")
    if not name or not path:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=path")
    return name, there(path)


def pick(kind: type[Options], args: argparse.Namespace) -> Options:
    """A dataclass filled with the options of the same names as its fields."""
    return kind(**{field.name: getattr(args, field.name) for field in fields(kind)})
