"""N-gram blocking: the time of three algorithms for a step, and its cost in the engines (FastSeq, Table 3).

Each step of a search bans every piece that would repeat an n-gram of the hypothesis (Paulus et al. 2018). ``scan`` is
fairseq 0.9's way; ``sliding`` compares all positions of all hypotheses at once, like the threads of FastSeq's kernel
(section 4.2); ``compiled`` is the kernel's loop on one thread.

sequences: int (hypotheses, length), the pieces so far. scores: float (hypotheses, vocabulary); the algorithm writes
-inf for banned pieces.

As in the paper, batches have 32 sentences and no trigram may occur twice. The algorithms get random hypotheses of few
different pieces, so that trigrams repeat, and must ban the same pieces. CTranslate2 decodes with and without
no_repeat_ngram_size to the same number of pieces: the difference is the whole cost. So does the native engine, which
scans with SIMD or one position at a time. All are measured over beams and lengths, on one core, in CPU seconds.
"""

import argparse
import functools
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from msgspec import convert
from numpy.typing import NDArray

from decode.engines.ctranslate2 import CTranslate2
from experiments.altered_models import ForcedLength, exactly, loaded
from formats.spread import Spread
from measure import in_process
from measure.in_process import Session
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Batch, version
from nmt_frontier.search.native import Native
from papers.fastseq2021.documents import (
    DIFFERENT,
    OFF,
    ON,
    PLACES,
    VECTORS,
    VOCABULARY,
    AlgorithmRow,
    BlockingRow,
)

Array = NDArray[Any]

SENTENCES, N = 32, 3  # FastSeq, section 2.2
BEAMS, LENGTHS = (1, 4), (32, 128, 256)
CTRANSLATE2 = {OFF: {"no_repeat_ngram_size": 0}, ON: {"no_repeat_ngram_size": N}}  # options of a batch
PLAIN = frozenset({"parallel_scan"})
NATIVE: dict[str, dict[str, object]] = {
    OFF: {},
    VECTORS: {"blocked_ngram": N},
    PLACES: {"blocked_ngram": N, "without": PLAIN},
}
CALLS = {"scan": 10, "sliding": 200, "compiled": 1000}  # of an algorithm in a run, each one step of a search


def scan(sequences: Array, scores: Array, n: int) -> None:
    """Plain Python: index all n-grams of a hypothesis by their first n - 1 pieces, anew in each step."""
    for row, pieces in enumerate(sequences.tolist()):
        seen: dict[tuple[int, ...], list[int]] = {}
        for ngram in zip(*(pieces[start:] for start in range(n)), strict=False):
            seen.setdefault(ngram[:-1], []).append(ngram[-1])
        for piece in seen.get(tuple(pieces[len(pieces) + 1 - n :]), []):
            scores[row, piece] = -np.inf


def sliding(sequences: Array, scores: Array, n: int) -> None:
    """NumPy: compare every position of every hypothesis with its last n - 1 pieces."""
    places = sequences.shape[1] - n + 1
    if places < 1:
        return
    equal = np.ones((len(sequences), places), bool)
    for ahead in range(n - 1):
        equal &= sequences[:, ahead : ahead + places] == sequences[:, places + ahead, None]
    rows, starts = equal.nonzero()
    scores[rows, sequences[rows, starts + n - 1]] = -np.inf


@numba.njit(cache=True)
def compiled(sequences: Array, scores: Array, n: int) -> None:
    """Numba: compare one position at a time; most differ in the first piece."""
    hypotheses, length = sequences.shape
    places = length - n + 1
    for row in range(hypotheses):
        for start in range(places):
            ahead = 0
            while ahead < n - 1 and sequences[row, start + ahead] == sequences[row, places + ahead]:
                ahead += 1
            if ahead == n - 1:
                scores[row, sequences[row, start + ahead]] = -np.inf


ALGORITHMS = {"scan": scan, "sliding": sliding, "compiled": compiled}


class Case(NamedTuple):
    way: str  # an algorithm, or a key of CTRANSLATE2 or NATIVE
    beam_size: int
    length: int  # pieces of each hypothesis


Decode = Callable[[Batch, Case], object]
Sizes = list[tuple[int, int]]  # beams and lengths


def hypotheses(beam_size: int, length: int) -> Array:
    """Random pieces, int32 (sentences x beam, length)."""
    return np.random.default_rng(1).integers(DIFFERENT, size=(SENTENCES * beam_size, length), dtype=np.int32)


def banned(name: str, sequences: Array) -> Array:
    """bool (sentences x beam, vocabulary), by one algorithm."""
    scores = np.zeros((len(sequences), VOCABULARY), np.float32)
    ALGORITHMS[name](sequences, scores, N)
    return np.isneginf(scores)


def check(beam_size: int, length: int) -> int:
    """How many pieces are banned. Raises UserError where two algorithms do not ban the same ones."""
    sequences = hypotheses(beam_size, length)
    first, *others = [banned(name, sequences) for name in ALGORITHMS]
    if not all((other == first).all() for other in others):
        raise UserError(f"beam {beam_size}, {length} pieces: the algorithms do not ban the same pieces")
    return int(first.sum())


def job(case: Case) -> Callable[[], None]:
    """A run of an algorithm: its calls, with hypotheses and scores made beforehand."""
    sequences = hypotheses(case.beam_size, case.length)
    scores = np.zeros((len(sequences), VOCABULARY), np.float32)

    def steps() -> None:
        for _ in range(CALLS[case.way]):
            ALGORITHMS[case.way](sequences, scores, N)

    return steps


def algorithms(beam_sizes: list[int], lengths: list[int], session: Session) -> list[AlgorithmRow]:
    """A row for each beam, length and algorithm."""
    cases = [Case(name, beam, length) for beam in beam_sizes for length in lengths for name in ALGORITHMS]
    jobs = {case: job(case) for case in cases}
    usages = in_process.timed(jobs, session, [session.core], "algorithms")
    steps = {case: [usage.cpu_seconds / CALLS[case.way] for usage in runs] for case, runs in usages.items()}
    rows = []
    for case, seconds in steps.items():
        scan = case._replace(way="scan")
        row = case._asdict() | {"banned": check(case.beam_size, case.length)}
        row |= Spread.of(seconds).fields("step_seconds")
        row |= Spread.of(slow / fast for slow, fast in zip(steps[scan], seconds, strict=True)).fields("times_scan")
        others = in_process.others([*usages[case], *usages[scan]])
        rows.append(convert(row | {"others": others}, AlgorithmRow))
    return rows


def in_ctranslate2(model: Path) -> Decode:
    translate = loaded(model).translate_batch
    return lambda batch, case: translate(
        batch, beam_size=case.beam_size, **exactly(case.length), **CTRANSLATE2[case.way]
    )


def in_native(model: Path) -> Decode:
    engine = ForcedLength(model)
    return lambda batch, case: engine.decode(batch, case.length, case.beam_size, **NATIVE[case.way])


ENGINES: dict[str, tuple[Callable[[Path], Decode], Iterable[str]]] = {  # and their ways
    CTranslate2.name: (in_ctranslate2, CTRANSLATE2),
    Native.name: (in_native, NATIVE),
}


def engine(
    label: str, decode: Decode, ways: Iterable[str], batch: Batch, sizes: Sizes, session: Session
) -> list[BlockingRow]:
    """A row for each way, beam and length: with and without blocking, and the extra seconds of a step."""
    cases = [Case(way, *size) for size in sizes for way in ways]
    jobs = {case: functools.partial(decode, batch, case) for case in cases}
    usages = in_process.timed(jobs, session, [session.core], label)
    rows = []
    for case in (case for case in cases if case.way != OFF):
        off, on = usages[case._replace(way=OFF)], usages[case]
        extra = [(slow.cpu_seconds - fast.cpu_seconds) / case.length for slow, fast in zip(on, off, strict=True)]
        row: dict[str, object] = {"engine_label": label, **case._asdict(), "sentences": len(batch)}
        row |= {"others": in_process.others([*off, *on])}
        row |= Spread.of(usage.cpu_seconds for usage in off).fields("off_seconds")
        row |= Spread.of(usage.cpu_seconds for usage in on).fields("on_seconds")
        row |= in_process.ratio("times_off", on, off) | Spread.of(extra).fields("extra_step_seconds")
        rows.append(convert(row, BlockingRow))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=there, nargs="+", required=True, help="of CTranslate2 and the native engine")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=BEAMS)
    parser.add_argument("--lengths", type=positive, nargs="+", default=LENGTHS, help="pieces of a hypothesis")
    in_process.options(parser)
    args = parser.parse_args()

    session, shared = in_process.prepared(args)
    described = {model: loading.describe(model) for model in args.models}
    for model, description in described.items():
        if description.engine not in ENGINES:
            raise UserError(f"{model}: {loading.of_description(description).label} blocks no n-grams; leave it out")
    alone = algorithms(args.beam_sizes, args.lengths, session)
    batch = in_process.pieces(args.models[0], session)[:SENTENCES]
    sizes, rows = [*itertools.product(args.beam_sizes, args.lengths)], []
    for model, description in described.items():
        load, ways = ENGINES[description.engine]
        rows += engine(loading.of_description(description).label, load(model), ways, batch, sizes, session)
    about = {"n": N, "sentences": SENTENCES, "engine_version": version("ctranslate2")}
    made = {**shared, **about, "model": described[args.models[0]], "algorithms": alone, "engine": rows}
    write_json(args.output, made)


if __name__ == "__main__":
    command(main)
