"""A record of nested parts (dataclasses) as JSON has it: one object, whose fields are the columns of a table."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from operator import attrgetter
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

import msgspec

from formats import schema_from_dataclass
from formats.schema_from_dataclass import Column
from formats.spread import Spread
from nmt_frontier.search import switches


class Cell(NamedTuple):
    """A column, and the value of a record there."""

    column: Column
    value: Callable[[Any], Any]


def cells(kind: type, ablations: str, path: str = "") -> Iterator[Cell]:
    """Those of a record, in order: the fields of all parts, three of a Spread, and each switch for ``without``.

    ablations: the records that alone have switches of the speed tables. path: of a part, in its record.
    """
    for name, column in schema_from_dataclass.columns(kind).items():
        if _is_part(column.type):
            yield from cells(column.type, ablations, f"{path}{name}.")
        elif name == "without":
            yield from (_of_switch(name, ablations) for name in switches.SWITCHES)
        elif _is_spread(column.type):
            yield from _of_spread(column, attrgetter(f"{path}{name}"))
        elif name not in switches.SWITCHES:
            yield Cell(column, attrgetter(f"{path}{name}"))


def _is_part(hint: Any) -> bool:
    return is_dataclass(hint)


def _is_spread(hint: Any) -> bool:
    return hint is Spread or Spread in get_args(hint)


def _of_spread(column: Column, spread: Callable[[Any], Spread | None]) -> Iterator[Cell]:
    def value(number: int) -> Callable[[Any], float | None]:
        return lambda record: (found := spread(record)) and found[number]

    yield Cell(column._replace(type=float if column.required else float | None), value(0))
    for number, (end, text) in enumerate({"_min": "lowest of the runs", "_max": "highest of the runs"}.items(), 1):
        yield Cell(Column(f"{column.name}{end}", float | None, None, text, column.unit), value(number))


def _of_switch(name: str, ablations: str) -> Cell:
    switch = switches.SWITCHES[name]
    only, kind = ablations if switch.ablation else "", int if switch.unit else bool
    column = Column(name, kind, switch.default, switch.on, switch.unit, only)
    return Cell(column, lambda record: switches.values(record.decoding)[name])


def flat(columns: Iterable[Column]) -> type[msgspec.Struct]:
    """The columns as one type."""
    fields = [
        (column.name, _exact(column.type), msgspec.NODEFAULT if column.required else column.default)
        for column in columns
    ]
    return msgspec.defstruct("Flat", fields, kw_only=True, forbid_unknown_fields=True)


def _exact(hint: Any) -> Any:
    """The same type, but integers among floats stay integers."""
    if hint is float:
        return int | float
    origin = Union if get_origin(hint) is UnionType else get_origin(hint)
    return origin[tuple(map(_exact, get_args(hint)))] if origin in (Union, tuple, Mapping) else hint


def part(kind: type, values: object) -> Any:
    """A record, or a part of it, from an object with all columns."""
    return kind(**{name: _field(name, column, values) for name, column in schema_from_dataclass.columns(kind).items()})


def _field(name: str, column: Column, values: object) -> Any:
    if _is_part(column.type):
        return part(column.type, values)
    if name == "without":
        return frozenset(flag for flag in switches.flags() if not getattr(values, flag))
    value = getattr(values, column.name)
    if value is None or not _is_spread(column.type):
        return value
    ends = (getattr(values, f"{column.name}{end}") for end in ("_min", "_max"))
    return Spread(value, *(value if end is None else end for end in ends))
