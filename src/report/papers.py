"""The numbers that the papers print, in papers.csv: a line for each number, and which of our models stands beside it.

Of OpenNMT at WNMT 2018 table 3, of Marian at WNMT 2018 tables 2, 3 (a GPU's) and 4, of Devlin 2017 what its text says.
"""

import csv
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("papers.csv")
MARIAN, OPENNMT, DEVLIN = "marian-2018", "opennmt-2018", "devlin-2017"


class Printed(NamedTuple):
    """A number of a paper.

    row: as the paper numbers it, else counted. quantity: what the number is; ``seconds``, ``BLEU`` and ``size`` can be
    compared with measurements. test_set: of seconds and BLEU. shape: its name in formats/shapes.yaml. role: of the
    trained system whose BLEU may stand beside it. engine, type, beam, map: of the measurement beside it; empty or None
    where any will do. reason: why there can be none.
    """

    paper: str
    table: str
    row: str
    system: str
    quantity: str
    value: float
    unit: str
    test_set: str
    shape: str
    role: str
    engine: str
    type: str
    beam: int | None
    map: bool | None
    reason: str


def read() -> list[Printed]:
    """All numbers, in the order of the papers."""
    with open(FILE, encoding="utf-8", newline="") as file:
        lines = [*csv.DictReader(file)]
    return [
        Printed(
            **line
            | {
                "value": float(line["value"]),
                "beam": int(line["beam"]) if line["beam"] else None,
                "map": line["map"] == "yes" if line["map"] else None,
            }
        )
        for line in lines
    ]
