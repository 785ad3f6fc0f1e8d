"""Rates of kept benchmarks: the seconds of a core that a piece of text took where it was measured, and where that was.

A pair has two sides, and what is done to a monolingual line takes half of the time.
"""

from pathlib import Path
from typing import Any, NamedTuple

from common.errors import UserError
from common.files import read_json
from formats.decoding import HALF_TYPES
from study.rates import Rates

FOLDER = Path("results/reference/benchmarks")
SCRIPTS = {
    "corpora": "cleaning.py",
    "stages": "stages.py",
    "vmap": "vmap.py",
}  # in benchmarks/, by the name of the JSON


class Rate(NamedTuple):
    """Seconds of a core for one ``unit``, from a file of a benchmark, on a CPU."""

    seconds: float
    unit: str
    file: str
    cpu: str


class Benchmarks:
    """The rates of a folder with the JSON of the benchmarks. Raises UserError if one is missing."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._files = {name: self._read(name) for name in SCRIPTS}
        self.rates = Rates(**self._files["stages"]["rates"])
        self.text: dict[str, Rate] = dict(self._text())

    def _read(self, name: str) -> dict[str, Any]:
        path = self._folder / f"{name}.json"
        if not path.exists():
            raise UserError(
                f"{path}: no such benchmark; make it with benchmarks/{SCRIPTS[name]}, see benchmarks/README.md"
            )
        return read_json(path)

    @property
    def cpu(self) -> str:
        """Where ``rates`` were measured."""
        return self._files["stages"]["machine"]["cpu"]

    def fast(self, quantization: str) -> bool:
        """Whether CTranslate2 is fast in a type there, as formats.decoding says of this machine."""
        return quantization not in HALF_TYPES and (quantization != "int16" or "Intel" in self.cpu)

    def path(self, name: str) -> str:
        return (self._folder / f"{name}.json").as_posix()

    def _text(self) -> list[tuple[str, Rate]]:
        corpora, vmap = self._files["corpora"], self._files["vmap"]
        of_file = {"corpora": self._corpora(corpora), "stages": self._stages(), "vmap": self._vmap(vmap)}
        return [
            (work, Rate(seconds, unit, self.path(name), self._files[name]["machine"]["cpu"]))
            for name, rates in of_file.items()
            for work, (seconds, unit) in rates.items()
        ]

    def _corpora(self, corpora: dict[str, Any]) -> dict[str, tuple[float, str]]:
        full = corpora["scaling"][-1]
        return {
            "clean": (full["clean_seconds"] * corpora["cores"] / full["pairs"], "pair"),
            "gather, drop duplicates": (full["gather_seconds"] / full["pairs"], "pair"),
        }

    def _stages(self) -> dict[str, tuple[float, str]]:
        """A draw reads all pairs and writes some of them; a vocabulary reads all lines and learns from some of them."""
        stages = self._files["stages"]["stages"]
        per_pair = {
            name: stages[name]["cpu_seconds"] / stages[name]["read"]
            for name in ("subset", "gather", "encode", "select")
        }
        read, drawn = solved(stages["draw few"], stages["draw all"], "drawn")
        line, learned = solved(*(stages[name] for name in stages if name.startswith("vocabulary")), "sentences")
        return {
            **{name: (seconds, "pair") for name, seconds in per_pair.items()},
            "draw: read": (read, "pair"),
            "draw: write": (drawn, "pair"),
            "vocabulary: read": (line, "line"),
            "vocabulary: learn": (learned, "line"),
        }

    def _vmap(self, vmap: dict[str, Any]) -> dict[str, tuple[float, str]]:
        full, aligner = vmap["scaling"][-1], vmap["fast_align"]
        return {
            "teach the aligner": (aligner["train_seconds"] * aligner["train_threads"] / vmap["real_pairs"], "pair"),
            "align": (1 / aligner["apply_pairs_per_second"], "pair"),
            "extract phrases": (full["extract_seconds"] * vmap["cores"] / full["pairs"], "pair"),
            "merge phrases": (full["merge_seconds"] / full["pairs"], "pair"),
        }


def solved(few: dict[str, float], many: dict[str, float], amount: str) -> tuple[float, float]:
    """Seconds per unit that is read, and per unit of ``amount``, of two runs that read as much as each other.

    Raises UserError if the runs contradict each other, as those of few pairs on a busy machine do.
    """
    each = (many["cpu_seconds"] - few["cpu_seconds"]) / (many[amount] - few[amount])
    read = (few["cpu_seconds"] - each * few[amount]) / few["read"]
    if min(each, read) <= 0:
        raise UserError(f"stages.json: more {amount} took no longer; run benchmarks/stages.py again, with more --pairs")
    return read, each
