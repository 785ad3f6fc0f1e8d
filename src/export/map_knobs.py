"""The knobs of a vocabulary map: which pieces it brings, and how many."""

import itertools
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from common.errors import UserError
from common.files import read_json
from export.phrase_extraction import MAX_NGRAM

COUNTED = ("phrases", "links")
LEAST = {"max_ngram": 1, "min_frequency": 1, "meanings": 1, "unaligned": 0, "most_frequent": 0}


class Knobs(NamedTuple):
    """max_ngram: longest source n-gram, in pieces. min_frequency: phrase pairs that an n-gram and a target piece need.
    meanings: most target pieces of an n-gram (N of WNMT 2018). unaligned: unaligned target pieces that are always on;
    most_frequent: target pieces that are always on. counted: ``phrases``, or ``links`` as Marian's lexical shortlist.
    """

    max_ngram: int = 3
    min_frequency: int = 2
    meanings: int = 50
    unaligned: int = 100
    most_frequent: int = 50
    counted: str = "phrases"

    @classmethod
    def parse(cls, text: str) -> "Knobs":
        """Read knobs from JSON, or from a file of export.coverage those of the map it picked. Raises UserError."""
        try:
            if text.startswith("{"):
                return cls.validated(json.loads(text))
            picked = read_json(text)["picked"]  # has the figures of this map too
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise UserError(f"{text}: neither knobs as JSON nor a file of export.coverage ({error})") from None
        return cls.validated({knob: value for knob, value in picked.items() if knob in cls._fields})

    @classmethod
    def validated(cls, values: dict[str, Any]) -> "Knobs":
        """Raises UserError for an unknown knob, for a value it cannot have, and for longer n-grams than are counted."""
        if unknown := [knob for knob in values if knob not in cls._fields]:
            raise UserError(f"{unknown[0]} is no knob of a map; there are {', '.join(cls._fields)}")
        knobs = cls(**values)
        if knobs.counted not in COUNTED:
            raise UserError(f"counted {knobs.counted!r}: give {' or '.join(COUNTED)}")
        for knob, least in LEAST.items():
            if not isinstance(value := getattr(knobs, knob), int) or value < least:
                raise UserError(f"{knob} {value!r}: give a whole number of at least {least}")
        if knobs.max_ngram > MAX_NGRAM:
            raise UserError(f"max_ngram {knobs.max_ngram}: the phrase table has n-grams of 1 to {MAX_NGRAM} pieces")
        return knobs

    @classmethod
    def grid(cls, values: dict[str, list[Any]]) -> "Iterator[Knobs]":
        """Yield all combinations of values; a knob without values keeps its default. Raises as ``validated``."""
        for combination in itertools.product(*values.values()):
            yield cls.validated(dict(zip(values, combination, strict=True)))

    @property
    def name(self) -> str:
        """The values in order, as ``3-2-50-100-50-phrases``: the name of a map of the grid."""
        return "-".join(map(str, self))
