"""What the tables and pictures of JSON documents of an experiment share: marks of disturbed timings, the footnote."""

from typing import Any, NamedTuple, Self

from matplotlib.figure import Figure

from formats import disturbance
from formats.wording import repeats
from report import figure


def mark(row: dict[str, Any], noise: float) -> str:
    """The mark of a timing (``formats.disturbance``)."""
    return disturbance.mark(row["others"], noise)


def marks(rows: list[dict[str, Any]], noise: float) -> str:
    """What the marks of these timings mean."""
    return disturbance.legend(mark(row, noise) for row in rows)


class Conditions(NamedTuple):
    """Which system was timed, how often and where. isa: the widest instruction set of the CPU."""

    system: str
    shape: str
    test_set: str
    runs: int
    cpu: str
    isa: str

    @classmethod
    def read(cls, result: dict[str, Any]) -> Self:
        """Those of the JSON of an experiment."""
        model = result.get("model") or result["rows"][0]
        return cls(model["system"], model["shape"], *(result[name] for name in ("test_set", "runs", "cpu", "isa")))


def footnote(picture: Figure, conditions: Conditions, text: str, *notes: str) -> None:
    """Say below a picture which system decoded what text, how often and where, then the notes on the picture itself."""
    system, shape, test_set, runs, cpu, isa = conditions
    words = f"{system} ({shape}); {test_set}, {text}; {repeats([runs])}, {cpu} ({isa})."
    figure.footnote(picture, " ".join([words, *notes]))
