"""The effective configuration of a study. `python -m study.config FILE` checks a file and prints what it amounts to.

Its types define every key and default, and `keys` makes the JSON schema of them; `expansion` reads the files and puts
every entry together, `checks` has the rules that a schema cannot express.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec import convert

from common.document import Document
from corpora.settings import Corpus
from nmt_frontier.errors import UserError
from study import checks, keys, schema
from study.configuration import StudyConfiguration, typed
from study.expansion import expanded, without_nulls, written
from study.precision import chosen


def read(path: str | Path) -> StudyConfiguration:
    """The effective configuration of a study, with every key; the same on every machine.

    Raises UserError with a line for each problem, ``<file>: <path of the key>: <what is wrong>``.
    """
    given = written(Path(path))
    problems = list(schema.problems(without_nulls(given), keys.schema()))
    if not problems:
        document = expanded(given)
        problems = list(training_problems(document))
    if not problems:
        problems = list(checks.problems(config := typed(document)))
    if not problems:
        problems = list(checks.teacher_problems(config := chosen(config)))
    if not problems:
        problems = list(checks.place_problems(config))
    if problems:
        raise UserError("\n".join(f"{path}: {problem}" for problem in problems))
    return config


def training_problems(document: Document) -> Iterator[str]:
    """Violations of the schema by the trainings of students, which have been put together."""
    for name, student in document["students"].items():
        for violation in schema.problems(student["training"], schema.definition("Training")):
            yield f"students.{name}.training: {violation}"


def load(path: str | Path) -> Document:
    """``read`` as YAML and JSON have it."""
    return read(path).document


def corpus(entry: Document) -> Corpus:
    """The effective form of one entry of ``corpora``. Raises UserError as load() does."""
    entry = without_nulls(entry)
    if problems := list(schema.problems(entry, schema.definition("Corpus"))):
        raise UserError("\n".join(f"corpus: {problem}" for problem in problems))
    return convert(entry, Corpus)
