"""Sentences to read: source, reference and the output of each system, spread evenly over a test set."""

import itertools
import random
from pathlib import Path

from msgspec import Struct

from formats import records
from nmt_frontier.errors import UserError
from nmt_frontier.files import document, write_json, write_text
from report.markup import escaped


def numbers(total: int, count: int, seed: int) -> list[int]:
    """Lines from 0, one drawn at random from each of ``count`` equal parts; all of them if there are no more."""
    generator = random.Random(seed)
    edges = [total * part // min(count, total) for part in range(min(count, total) + 1)]
    return [generator.randrange(start, end) for start, end in itertools.pairwise(edges)]


class Sample(Struct):
    """A sentence of a test set. line: from 1; outputs: by system."""

    line: int
    source: str
    reference: str
    outputs: dict[str, str]


class Samples(Struct):
    """test_set: None if there are no samples."""

    test_set: str | None
    samples: list[Sample]


def choose(test_set: Path, outputs: dict[str, Path], count: int, seed: int) -> list[Sample]:
    pairs = records.read_pairs(test_set)
    translations = {system: records.read_output(path, len(pairs)) for system, path in outputs.items()}
    return [
        Sample(
            line=number + 1,
            source=pairs[number][0],
            reference=pairs[number][1],
            outputs={system: lines[number] for system, lines in translations.items()},
        )
        for number in numbers(len(pairs), count, seed)
    ]


def markdown(samples: Samples) -> str:
    """A small table for each sentence."""
    parts = [f"# {len(samples.samples)} sentences of {samples.test_set}\n"]
    for sample in samples.samples:
        rows = {"source": sample.source, "reference": sample.reference, **sample.outputs}
        cells = (f"| {name} | {escaped(text)} |\n" for name, text in rows.items())
        parts.append(f"\n| line | {sample.line} |\n|---|---|\n{''.join(cells)}")
    return "".join(parts)


def write(path: Path, samples: Samples) -> None:
    """Write samples in the format of the suffix. Raises UserError for another one."""
    if path.suffix == ".json":
        write_json(path, samples)
    elif path.suffix == ".md":
        write_text(path, markdown(samples))
    else:
        raise UserError(f"{path}: samples are written as .md or .json")


def read(path: Path | None) -> Samples:
    """The samples of a file, none without a file. Raises UserError for a file of another kind."""
    if path is None:
        return Samples(None, [])
    return document(path, Samples, "not the JSON of report.samples; make it again")
