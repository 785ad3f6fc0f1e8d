"""Word aligners: each is trained on a sample of the pairs and then applied to any number of them.

``train`` writes into a folder; a new object on that folder aligns. Links are (source, target) positions.
"""

import importlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Protocol

# fast_align's threads add up counts in whatever order they come, so that with several no training is like another.
# OpenMP reads this when the library is loaded.
os.environ["OMP_NUM_THREADS"] = "1"

import systran_align

from formats.errors import UserError

Pair = tuple[list[str], list[str]]
Links = list[tuple[int, int]]


class Aligner(Protocol):
    """``align`` takes as many pairs as fit in memory."""

    def __init__(self, folder: Path): ...
    def align(self, pairs: Sequence[Pair]) -> Iterator[Links]: ...
    @staticmethod
    def train(pairs: Iterator[Pair], folder: Path) -> None: ...


class FastAlign:
    """fast_align (Dyer et al. 2013), both ways, symmetrised by SYSTRAN's library. Equal pairs give equal bytes."""

    def __init__(self, folder: Path):
        self._aligner = systran_align.Aligner(str(folder / "forward"), str(folder / "backward"))

    def align(self, pairs: Sequence[Pair]) -> Iterator[Links]:
        return (self._aligner.align(source, target)["alignments"] for source, target in pairs)

    @staticmethod
    def train(pairs: Iterator[Pair], folder: Path) -> None:
        """With the switches of fast_align's own recommended call, ``-d -o -v``."""
        text, forward, backward = (str(folder / name) for name in ("pairs", "forward", "backward"))
        with open(text, "w", encoding="utf-8") as file:
            for source, target in pairs:
                file.write(f"{' '.join(source)} ||| {' '.join(target)}\n")
        systran_align.generate_alignment_probabilities(
            text, forward, backward, favor_diagonal=True, optimize_tension=True, variational_bayes=True
        )
        Path(text).unlink()


class Eflomal:
    """eflomal (Östling and Tiedemann 2016), both ways, symmetrised by ``symmetrised``.

    It samples, so it does not give the same links twice. It is no dependency, since it needs a C compiler.
    """

    def __init__(self, folder: Path):
        self._priors = folder / "priors"

    def align(self, pairs: Sequence[Pair]) -> Iterator[Links]:
        with open(self._priors, encoding="utf-8") as priors:
            forward, backward = _sampled(pairs, priors)
        for (source, target), there, back in zip(pairs, forward, backward, strict=True):
            yield symmetrised(len(source), len(target), _links(there), _links(back))

    @staticmethod
    def train(pairs: Iterator[Pair], folder: Path) -> None:
        eflomal = _eflomal()
        held = list(pairs)
        sides = ([" ".join(side) for side in sides] for sides in zip(*held, strict=True))
        with open(folder / "priors", "w", encoding="utf-8") as priors:
            eflomal.write_priors(priors, *eflomal.calculate_priors(*sides, *_sampled(held, None)))


ALIGNERS: dict[str, type[Aligner]] = {"fast_align": FastAlign, "eflomal": Eflomal}


def _eflomal() -> ModuleType:
    try:
        return importlib.import_module("eflomal")
    except ImportError:
        raise UserError("the aligner eflomal is not installed; with a C compiler: pip install eflomal==2.0.0") from None


def _sampled(pairs: Sequence[Pair], priors: Iterator[str] | None) -> tuple[list[str], list[str]]:
    """eflomal's links, forwards and backwards, as it writes them: ``0-0 1-2``, source position first."""
    with tempfile.TemporaryDirectory() as folder:
        links = [Path(folder) / name for name in ("forward", "backward")]
        _eflomal().Aligner().align(
            [" ".join(source) for source, _ in pairs],
            [" ".join(target) for _, target in pairs],
            *map(str, links),
            priors_input=priors,
        )
        forward, backward = (path.read_text().split("\n")[:-1] for path in links)
    return forward, backward


def _links(text: str) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in re.findall(r"(\d+)-(\d+)", text)}


def symmetrised(rows: int, columns: int, forward: set[tuple[int, int]], backward: set[tuple[int, int]]) -> Links:
    """grow-diag-final-and (Koehn et al. 2005): the links both ways, grown by neighbours that one way has.

    ``rows`` and ``columns`` are the lengths of source and target.
    """
    links, either = forward & backward, forward | backward
    row_linked, column_linked = {i for i, _ in links}, {j for _, j in links}

    def add(i: int, j: int) -> None:
        links.add((i, j))
        row_linked.add(i)
        column_linked.add(j)

    growing = True
    while growing:
        growing = False
        for i, j in sorted(links):
            for near in (
                (i - 1, j),
                (i, j - 1),
                (i + 1, j),
                (i, j + 1),
                (i - 1, j - 1),
                (i - 1, j + 1),
                (i + 1, j - 1),
                (i + 1, j + 1),
            ):
                if near in either - links and (near[0] not in row_linked or near[1] not in column_linked):
                    add(*near)
                    growing = True
    for way in (forward, backward):
        for i, j in sorted(way):
            if i not in row_linked and j not in column_linked:
                add(i, j)
    return sorted(links)
