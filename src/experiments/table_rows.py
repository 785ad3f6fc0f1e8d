"""The rows of a paper's table, each measured as it is described: a record for each of them, with its place.

The papers' modules (papers.marian2018.tables and others) describe the rows. All decode the same sentences on one core,
in turn. Rows that are described alike are one measurement.
"""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from findings.comparison import BASELINE, NATIVE
from formats import measurement
from formats.measurement import RecordPlace
from measure import protocol
from measure.configuration import Configuration, ModelFolder
from nmt_frontier import machine
from nmt_frontier.errors import UserError
from nmt_frontier.limits import ONE_CORE

Folders = dict[tuple[str, str, str], ModelFolder]  # by student of the untrained system, engine and type


class TableRow(NamedTuple):
    """A system, named after its shape, an engine, and options of formats.decoding_options.

    share: of the sentences that are decoded, for rows that take long.
    """

    system: str
    type: str = "float32"
    engine: str = NATIVE
    beam_size: int = 1
    vocabulary_map: bool = False
    without: frozenset[str] = frozenset()
    batch_tokens: int = ONE_CORE
    batch_sentences: int | None = None
    share: float = 1

    @property
    def model(self) -> tuple[str, str]:
        """The untrained system of a study and the name of its model folder."""
        return f"{self.system}-untrained", self.engine if self.engine == BASELINE else f"{self.engine}-{self.type}"


def models(rows: Iterable[TableRow]) -> list[tuple[str, str]]:
    """The systems and the names of the folders that rows need."""
    return list(dict.fromkeys(row.model for row in rows))


def by_system(folders: list[ModelFolder]) -> Folders:
    described = ((folder.description, folder) for folder in folders)
    return {(about.student or "", about.engine, about.quantization): folder for about, folder in described}


def configuration(row: TableRow, folders: Folders, sentences: int | None) -> Configuration:
    """Raises UserError where the folder of a row is missing."""
    if not (folder := folders.get((row.system, row.engine, row.type))):
        raise UserError(f"--models: none of {row.system} for {row.engine} in {row.type}; the table needs it")
    made = Configuration(
        folder,
        beam_size=row.beam_size,
        vocabulary_map=row.vocabulary_map,
        batch_tokens=row.batch_tokens,
        cores=machine.cores()[:1],
        batch_sentences=row.batch_sentences,
        without=row.without,
        baseline=row.engine == BASELINE,
        label=folder.path.parent.name,
        **protocol.text(folder, sentences),
    )
    return replace(made, sentences=made.sentences and round(made.sentences * row.share))


def parser(description: str | None) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--models", type=ModelFolder.read, nargs="+", required=True, help="model folders of all rows")
    protocol.speed_options(made)
    return made


def measure(rows: dict[RecordPlace, TableRow], folders: Folders, args: argparse.Namespace) -> None:
    """Time the rows and write their records. args: of ``parser``."""
    todo = {row: configuration(row, folders, args.sentences) for row in dict.fromkeys(rows.values())}
    records = dict(zip(todo, protocol.timed([*todo.values()], args), strict=True))
    measurement.write(args.output, [replace(records[row], place=place) for place, row in rows.items()])
