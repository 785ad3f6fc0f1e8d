"""Scores that a corpus of a new study seems to carry: columns, properties and files of numbers that are not whole."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from corpora.archives import Part, chunks
from corpora.readers import READERS
from corpora.readers.database import Parquet, columns_with_numbers
from corpora.readers.marked_up import Tmx, Xliff
from corpora.readers.reader import Input, Unread
from corpora.readers.tables import Csv, Jsonl, objects, texts_in
from corpora.readers.text import Tsv
from corpora.scores import number_in
from corpora.settings import OWN_SCORES
from study.new.contents import FIRST_LINES, first_lines, table_rows, unpacked
from study.new.pairing import FoundCorpus, shown

SUFFIXES = (".scores", ".score")  # of files beside a text
MOST_BROKEN = 0.05  # of the numbers, as invalid_share
_PROPERTY = re.compile(rb"""<(?:\w+:)?(?:prop|meta)\s[^<>]*?\b(?:prop-)?type\s*=\s*["']([^"']+)["'][^<>]*>([^<]*)<""")
Place = dict[str, int | str]  # the key of the configuration, and its value
Found = tuple[str, Place, list[object]]  # a name, a place, and the cells there

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


class Carried(NamedTuple):
    """A score that a text seems to have. place: the keys of the configuration. low, high: of its first lines."""

    name: str
    place: Place
    low: float
    high: float


def carried(corpus: FoundCorpus, pair: list[str]) -> list[Carried]:
    """The likely scores of a training text, by its first lines."""
    if not corpus.trains:
        return []
    found = (_carried(*one) for one in (*_inside(corpus, pair), *_beside(corpus)))
    scores: dict[str, Carried] = {}
    for each in filter(None, found):  # names that a study may have: distinct, and none of those that it computes
        names = (each.name, *(f"{each.name}-{number}" for number in range(2, len(scores) + 3)))
        name = next(name for name in names if name not in scores and name not in OWN_SCORES)
        scores[name] = each._replace(name=name)
    return [*scores.values()]


def _carried(name: str, place: Place, cells: list[object]) -> Carried | None:
    """None unless the cells are numbers, some of them not whole: those are counts, years and keys."""
    numbers = [number for cell in cells if (number := _number(cell)) is not None]
    if len(numbers) < (1 - MOST_BROKEN) * len(cells) or all(number.is_integer() for number in numbers):
        return None
    return Carried(_NOT_IN_NAMES.sub("-", name).strip("-._") or "score", place, min(numbers), max(numbers))


def _number(cell: object) -> float | None:
    return None if isinstance(cell, bool) else number_in(str(cell))


def _inside(corpus: FoundCorpus, pair: list[str]) -> Iterator[Found]:
    reader, path, encoding = READERS[corpus.format], corpus.paths[0], corpus.source.get("encoding")
    if reader in (Tsv, Csv):
        names, rows = table_rows(path, reader, encoding, pair)
        for column in range(max(map(len, rows), default=0)):
            name = names[column] if column < len(names) else ""
            yield name or f"column-{column}", {"column": column}, [row[column] for row in rows if len(row) > column]
    elif reader is Jsonl:
        yield from _of_objects(path, encoding)
    elif reader is Parquet:
        for name, numbers in columns_with_numbers(chunks(Part(path))):
            yield name, {"column": name}, numbers
    elif reader in (Tmx, Xliff):
        properties: dict[str, list[object]] = {}
        for name, text in _PROPERTY.findall(next(chunks(Part(path)), b"")):
            properties.setdefault(name.decode(errors="replace"), []).append(text.decode(errors="replace"))
        for name, cells in properties.items():
            yield name, {"property": name}, cells


def _of_objects(path: Path, encoding: str | None) -> Iterator[Found]:
    cells: dict[str, list[object]] = {}
    for _, text in islice(objects(chunks(Part(path)), Input(str(path), Unread(), encoding)), FIRST_LINES):
        with suppress(msgspec.DecodeError, RecursionError):
            fields = msgspec.json.decode(text)
            outside: Mapping[str, object] = fields if isinstance(fields, dict) else {}
            for name, value in {**texts_in(outside), **outside}.items():
                cells.setdefault(name, []).append(value)
    for name, values in cells.items():
        yield name, {"column": name}, values


def _beside(corpus: FoundCorpus) -> Iterator[Found]:
    """Files of numbers whose name begins as that of the corpus."""
    for path in sorted(corpus.paths[0].parent.iterdir()):
        name = unpacked(path)
        if name.suffix in SUFFIXES and name.stem and corpus.name.lower() in (name.stem, name.stem.rpartition(".")[0]):
            yield name.suffix[1:], {"file": shown(path)}, [*first_lines(path, None)]


def told(corpus: str, scores: Iterable[Carried]) -> Iterator[str]:
    """A line for each."""
    for score in scores:
        key, value = next(iter(score.place.items()))
        numbers = f"{key} {value} has numbers from {score.low:.4g} to {score.high:.4g}"
        yield f"{corpus}: {numbers}; if these are scores, `score` shows them, and a bound drops the worst lines"
