"""How many of a paper's numbers were measured here, and how many of these agree."""

from collections import Counter
from typing import NamedTuple

from report import markup
from report.claims import AGREES, VERDICTS
from report.our_number import COMPUTED
from report.rows import Row

MEASURED, FROM_SHAPES = "measured", "computed from shapes"


class Agreement(NamedTuple):
    """Counts of numbers. possible: by a CPU, run: of these. The others have a verdict: measured, or from shapes."""

    possible: int
    run: int
    measured: int
    agree: int
    computed: int
    computed_agree: int

    def sentences(self) -> str:
        shapes = f"; of {self.computed} computed from shapes {self.computed_agree} agree" if self.computed else ""
        return (
            f"a CPU can give {self.possible}, and {self.run} of these were measured or computed here. Of "
            f"{self.measured} measured numbers with a verdict {self.agree} agree "
            f"({percent(self.agree, self.measured)}){shapes}."
        )


def share(made: list[Row]) -> Agreement:
    possible = [row for row in made if not row["needs"]]
    judged = by_origin([row for row in made if row["ours"] is not None and row["tolerance"]])
    counts = [n for rows in judged.values() for n in (len(rows), counted(rows)[AGREES])]
    return Agreement(len(possible), sum(row["ours"] is not None for row in possible), *counts)


def percent(part: int, whole: int) -> str:
    return f"{part / whole:.0%}".replace("%", " %") if whole else markup.NONE


def counted(made: list[Row]) -> dict[str, int]:
    """Rows by verdict, in the order of VERDICTS."""
    found = Counter(row["verdict"] for row in made)
    return {verdict: found[verdict] for verdict in VERDICTS}


def by_origin(made: list[Row]) -> dict[str, list[Row]]:
    """The rows that were measured or need a measurement, and those that were computed from shapes."""
    groups: dict[str, list[Row]] = {MEASURED: [], FROM_SHAPES: []}
    for row in made:
        groups[FROM_SHAPES if row["command"] == COMPUTED else MEASURED].append(row)
    return groups


def distinct(origin: str, rows: list[Row]) -> int:
    """How many different timings, or other measurements, the numbers with a verdict are from; else different sizes."""
    counted = [row for row in rows if row["ours"] is not None and row["tolerance"]]
    if origin == MEASURED:
        return len({timing for row in counted for timing in row["timings"]})
    return len({row["ours"] for row in counted})
