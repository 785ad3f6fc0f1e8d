"""Test sets, which are records of a source and a reference, and translations of them, which are lines of text."""

import itertools
from pathlib import Path

from common.errors import UserError
from formats import records


def read(path: Path) -> list[tuple[str, ...]]:
    """All records of a test set. Raises UserError for an empty one."""
    if not (lines := list(records.read(path))):
        raise UserError(f"{path}: a test set without sentences")
    return lines


def pairs(path: Path) -> list[tuple[str, str]]:
    """Sources and references of a test set. Raises UserError for an empty one, and for one without references."""
    lines = read(path)
    if len(lines[0]) < 2:
        raise UserError(f"{path}: a test set without references, a second column; there is nothing to score with")
    return [record[:2] for record in lines]


def sources(path: Path) -> list[str]:
    """The source side of a test set. Raises UserError for an empty one."""
    return [record[0] for record in read(path)]


def references(path: Path, sentences: int) -> list[str]:
    """The references of the first sentences of a test set; an empty list where it has none."""
    return [record[1] for record in itertools.islice(records.read(path), sentences) if len(record) > 1]


def read_output(path: Path, sentences: int) -> list[str]:
    """A translation, one line a sentence. Raises UserError where its length is not that of the test set."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    if len(lines) != sentences:
        raise UserError(f"{path}: {len(lines)} lines, but its test set has {sentences}; decode it again")
    return lines
