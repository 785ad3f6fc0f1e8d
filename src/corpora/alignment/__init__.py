"""Align a corpus in subword units, in both directions, symmetrised.

``train`` learns from a sample, the first ``--pairs`` pairs of a shuffled corpus; ``apply`` aligns a shard of the
corpus with what was learned. Its records are ``source pieces<TAB>target pieces<TAB>links``, the links as ``0-0 1-2``,
source position first, from 0. ``links`` aligns a shard of what a training reads, text in pieces, and writes the links
alone, a line a pair, for a guided alignment (train.guided_alignment). There text that both sides have alike, such as a
URL, is linked piece by piece: the aligner has not seen it before, and in it a letter would be linked to any equal one.
"""

import heapq
import importlib
import itertools
import math
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import sentencepiece

from formats import records
from nmt_frontier.errors import UserError
from nmt_frontier.files import atomic_path
from nmt_frontier.progress import progress
from nmt_frontier.sentence import split_pieces
from nmt_frontier.text.tokenizers import pieces

# Pairs of a source and a target piece from which fast_align learns both directions in a minute, on one core of an AMD
# EPYC (Zen 3).
LINKS_A_MINUTE = 9_000_000

Pair = tuple[list[str], list[str]]
Links = list[tuple[int, int]]

MAX_LENGTH = 1 << 10  # pieces of one side of a pair; the pairs that models learn from are far shorter
PRIOR, TYPICAL = 4, -5.0  # FastAlign.score
COPIED = 3  # pieces in a row that both sides have are a copy, not a translation

BATCH = 10_000  # pairs encoded at a time; ten times as many are aligned at a time


class FastAlign:
    """fast_align (Dyer et al. 2013) in both directions, symmetrised by SYSTRAN's library.

    Trainings on equal pairs give equal bytes.
    """

    def __init__(self, folder: Path):
        files = [folder / name for name in ("forward", "backward")]
        for file in files:
            if not file.is_file():
                raise UserError(f"{folder}: has no file {file.name}; give the folder of corpora.alignment train")
        self._aligner = _fast_align().Aligner(*map(str, files))

    def align(self, pairs: Sequence[Pair]) -> Iterator[Links]:
        """pairs: as many as fit in memory."""
        return (self._aligner.align(source, target)["alignments"] for source, target in pairs)

    def score(self, source: Sequence[str], target: Sequence[str]) -> float:
        """The mean of both directions of the mean log-probability of a piece, given the other side.

        Of a short side little is known: PRIOR pieces of the log-probability TYPICAL count with those of each side.
        """
        found = self._aligner.align(source, target)
        sides = ((found["forward_log_prob"], len(target)), (found["backward_log_prob"], len(source)))
        forward, backward = ((total + PRIOR * TYPICAL) / (pieces + PRIOR) for total, pieces in sides)
        return float(forward + backward) / 2

    @staticmethod
    def train(pairs: Iterator[Pair], folder: Path) -> None:
        """Train with the options that fast_align's README recommends, ``-d -o -v``."""
        text, forward, backward = (str(folder / name) for name in ("pairs", "forward", "backward"))
        links = 0
        with open(text, "w", encoding="utf-8") as file:
            for source, target in pairs:
                file.write(f"{' '.join(source)} ||| {' '.join(target)}\n")
                links += len(source) * len(target)
        minutes = math.ceil(links / LINKS_A_MINUTE)
        print(f"fast_align: learning, silently, some {minutes} minutes", file=sys.stderr, flush=True)
        _fast_align().generate_alignment_probabilities(
            text, forward, backward, favor_diagonal=True, optimize_tension=True, variational_bayes=True
        )
        Path(text).unlink()


class Eflomal:
    """eflomal (Östling and Tiedemann 2016) in both directions, symmetrised by ``grow_diag_final_and``.

    It samples, so that its links differ from run to run. It is no dependency, since it needs a C compiler.
    """

    def __init__(self, folder: Path):
        self._priors = folder / "priors"

    def align(self, pairs: Sequence[Pair]) -> Iterator[Links]:
        with open(self._priors, encoding="utf-8") as priors:
            forward, backward = _sample_links(pairs, priors)
        for _, forward_links, backward_links in zip(pairs, forward, backward, strict=True):
            yield grow_diag_final_and(_parsed(forward_links), _parsed(backward_links))

    @staticmethod
    def train(pairs: Iterator[Pair], folder: Path) -> None:
        eflomal = _eflomal()
        some = list(pairs)
        sides = ([_words(pieces) for pieces in side] for side in zip(*some, strict=True))
        with open(folder / "priors", "w", encoding="utf-8") as priors:
            eflomal.write_priors(priors, *eflomal.calculate_priors(*sides, *_sample_links(some, None)))


Aligner = FastAlign | Eflomal
ALIGNERS: dict[str, type[Aligner]] = {"fast_align": FastAlign, "eflomal": Eflomal}


def _fast_align() -> ModuleType:
    """SYSTRAN's library with one thread: several sum counts in any order, so that two trainings would differ."""
    os.environ["OMP_NUM_THREADS"] = "1"  # which OpenMP reads when the library is loaded
    return importlib.import_module("systran_align")


def _eflomal() -> ModuleType:
    try:
        return importlib.import_module("eflomal")
    except ImportError:
        raise UserError("the aligner eflomal is not installed; with a C compiler: pip install eflomal==2.0.0") from None


def _words(pieces: list[str]) -> str:
    """A side for eflomal, which splits at every kind of space: spaces inside a piece are replaced."""
    return " ".join(re.sub(r"\s", "␣", piece) for piece in pieces)


def _sample_links(pairs: Sequence[Pair], priors: Iterator[str] | None) -> tuple[list[str], list[str]]:
    """Forward and backward links of eflomal, a line a pair."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("forward", "backward")]
        _eflomal().Aligner().align(
            [_words(source) for source, _ in pairs],
            [_words(target) for _, target in pairs],
            *map(str, files),
            priors_input=priors,
        )
        forward, backward = (path.read_text().split("\n")[:-1] for path in files)
    return forward, backward


def _parsed(links: str) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in re.findall(r"(\d+)-(\d+)", links)}


NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def grow_diag_final_and(forward: set[tuple[int, int]], backward: set[tuple[int, int]]) -> Links:
    """Symmetrise the links of both directions (Koehn et al. 2005); returns them in ascending order.

    Start from the links that both have. Add neighbours that either has, if one of the two positions has no link yet.
    Finally add the remaining links between two positions without any.
    """
    links, union = forward & backward, forward | backward
    sources, targets = {i for i, _ in links}, {j for _, j in links}

    def add(i: int, j: int) -> None:
        links.add((i, j))
        sources.add(i)
        targets.add(j)

    growing = True
    while growing:
        growing = False
        for i, j in sorted(links):
            for down, right in NEIGHBOURS:
                link = i + down, j + right
                if link in union - links and (link[0] not in sources or link[1] not in targets):
                    add(*link)
                    growing = True
    for direction in (forward, backward):
        for i, j in sorted(direction):
            if i not in sources and j not in targets:
                add(i, j)
    return sorted(links)


def encoded(corpus: Path, model: Path, shard: records.Shard | None = None, most: int | None = None) -> Iterator[Pair]:
    """Stream the pairs of a corpus as pieces, at most ``most`` of them.

    Pairs that cannot be aligned are left out; their number goes to stderr at the end.
    """
    yielded = left_out = 0
    for source, target in _in_pieces(records.read(corpus, shard), pieces(model)):
        if yielded == most:
            break
        if alignable(source, target):
            yielded += 1
            yield source, target
        else:
            left_out += 1
    print(f"{left_out:,} pairs left out: a side is empty or has more than {MAX_LENGTH:,} pieces", file=sys.stderr)


def alignable(source: list[str], target: list[str]) -> bool:
    return min(len(source), len(target)) > 0 and max(len(source), len(target)) <= MAX_LENGTH


def in_lines(source: Path, target: Path, shard: records.Shard | None) -> Iterator[Pair]:
    """Stream the pairs of two files of pieces, or of one shard of their lines."""
    with open(source, "rb") as file:
        total = sum(1 for _ in file)
    part, parts = shard or (1, 1)
    with open(source, encoding="utf-8", newline="\n") as left, open(target, encoding="utf-8", newline="\n") as right:
        both = zip(left, right, strict=True)
        for pair in itertools.islice(both, total * (part - 1) // parts, total * part // parts):
            first, second = (split_pieces(line.removesuffix("\n")) for line in pair)
            yield first, second


def linked(pairs: Iterator[Pair], aligner: Aligner) -> Iterator[str]:
    """Stream the lines of ``links``, empty ones for pairs that cannot be aligned."""
    while batch := list(itertools.islice(pairs, BATCH * 10)):
        links = iter(aligner.align([pair for pair in batch if alignable(*pair)]))
        for pair in batch:
            yield _text(with_copies(*pair, next(links))) if alignable(*pair) else ""


def with_copies(source: Sequence[str], target: Sequence[str], links: Links) -> Links:
    """The links, but those of copies are of equal pieces alone, one to one; the longest copy is chosen first."""
    copied: dict[int, int] = {}
    targets: set[int] = set()
    heapq.heapify(runs := [*_equal(source, target)])
    while runs:
        size, i, j = heapq.heappop(runs)
        places = range(size, 0)  # from the ends of both sides back, so that they index free, too
        free = [i + place not in copied and j + place not in targets for place in places]
        if all(free):
            copied.update((i + place, j + place) for place in places)
            targets.update(j + place for place in places)
            continue
        for is_free, group in itertools.groupby(places, free.__getitem__):
            part = [*group]
            if is_free and len(part) >= COPIED:
                heapq.heappush(runs, (-len(part), i + part[-1] + 1, j + part[-1] + 1))
    others = [(i, j) for i, j in links if i not in copied and j not in targets]
    return sorted([*others, *copied.items()])


def _equal(source: Sequence[str], target: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """At least COPIED equal pieces in a row, as many as there are: how many, negative, and the places behind them."""
    places: dict[str, list[int]] = {}
    for place, piece in enumerate(target, 1):
        places.setdefault(piece, []).append(place)
    sizes: dict[int, int] = {}  # of those that end at the last piece of the source, by their place in the target
    for end, found in enumerate([*(places.get(piece, []) for piece in source), []]):
        longer = {place: sizes.get(place - 1, 0) + 1 for place in found}
        yield from ((-size, end, place) for place, size in sizes.items() if size >= COPIED and place + 1 not in longer)
        sizes = longer


def _text(links: Links) -> str:
    return " ".join(f"{i}-{j}" for i, j in links)


def _in_pieces(pairs: Iterator[records.Record], processor: sentencepiece.SentencePieceProcessor) -> Iterator[Pair]:
    while batch := [record[:2] for record in itertools.islice(pairs, BATCH)]:
        sides = (processor.encode(list(side), out_type=str, num_threads=1) for side in zip(*batch, strict=True))
        yield from zip(*sides, strict=True)


def aligned(pairs: Iterator[Pair], aligner: Aligner) -> Iterator[records.Record]:
    """Stream the records of ``apply``."""
    while batch := list(itertools.islice(pairs, BATCH * 10)):
        for (source, target), links in zip(batch, aligner.align(batch), strict=True):
            yield " ".join(source), " ".join(target), _text(links)


def train(aligner: type[Aligner], pairs: Iterator[Pair], output: Path) -> None:
    """Raises UserError where there is no pair."""
    if (first := next(pairs, None)) is None:
        raise UserError("the corpus has no pair that can be aligned; see the counts in corpora/clean/*.json")
    with atomic_path(output) as part:
        part.mkdir(parents=True)
        aligner.train(progress(itertools.chain([first], pairs), "reading", unit="pair"), part)


def apply(aligner: Aligner, pairs: Iterator[Pair], output: Path) -> None:
    records.write(output, progress(aligned(pairs, aligner), "aligning", unit="pair"))


def write_links(aligner: Aligner, pairs: Iterator[Pair], output: Path) -> None:
    with atomic_path(output) as part, open(part, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in progress(linked(pairs, aligner), "aligning", unit="pair"))
