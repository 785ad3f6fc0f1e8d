"""N-gram blocking: what three algorithms take for a step, and what it costs in CTranslate2 (FastSeq, Table 3).

As in the paper: batches of 32 sentences, no trigram twice. The algorithms (decode.ngrams) work on hypotheses drawn at
random, of few different pieces so that trigrams do come again, and must ban the same pieces. The engine decodes with
its own no_repeat_ngram_size and without, to the same number of pieces; the difference is all that it costs, the scan
of its C++ code and the writing of the scores. Both over beams and lengths, on one core, in CPU seconds.
"""

import argparse
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ctranslate2
import numpy as np

from decode import turns
from decode.engines import Batch
from decode.measure import pin
from decode.ngrams import ALGORITHMS, Scores, Sequences
from decode.translate import positive
from formats import loading
from formats.decoding import compute_type
from formats.errors import UserError, command
from formats.files import write_json

SENTENCES, N = 32, 3  # FastSeq, section 2.2
BEAMS, LENGTHS = (1, 4), (32, 128, 256)
DIFFERENT = 40  # pieces that hypotheses are drawn of: at 256 pieces one in seven steps has something to ban
VOCABULARY = 8000
CALLS = {"scan": 10, "sliding": 200, "compiled": 1000}  # of an algorithm in a run, each a step of a search


class Case(NamedTuple):
    way: str
    beam_size: int
    length: int  # pieces of each hypothesis


def hypotheses(beam_size: int, length: int) -> Sequences:
    """int32 (sentences x beam, length)."""
    return np.random.default_rng(1).integers(DIFFERENT, size=(SENTENCES * beam_size, length), dtype=np.int32)


def banned(name: str, sequences: Sequences) -> np.ndarray:
    scores = np.zeros((len(sequences), VOCABULARY), np.float32)
    ALGORITHMS[name](sequences, scores, N)
    return np.isneginf(scores)


def check(beam_size: int, length: int) -> int:
    """How many pieces are banned. Raises UserError where two algorithms do not ban the same ones."""
    sequences = hypotheses(beam_size, length)
    found = [banned(name, sequences) for name in ALGORITHMS]
    if not all((one == found[0]).all() for one in found):
        raise UserError(f"beam {beam_size}, {length} pieces: the algorithms do not ban the same pieces")
    return int(found[0].sum())


def steps(name: str, sequences: Sequences, scores: Scores) -> None:
    for _ in range(CALLS[name]):
        ALGORITHMS[name](sequences, scores, N)


def job(case: Case) -> Callable[[], None]:
    """Some calls of an algorithm, with hypotheses and scores that are there before the clock runs."""
    sequences = hypotheses(case.beam_size, case.length)
    scores = np.zeros((len(sequences), VOCABULARY), np.float32)
    return functools.partial(steps, case.way, sequences, scores)


def algorithms(args: argparse.Namespace) -> list[dict[str, Any]]:
    cases = [Case(name, beam, length) for beam in args.beam_sizes for length in args.lengths for name in ALGORITHMS]
    usages = turns.timed({case: job(case) for case in cases}, args, [args.core], "algorithms")
    taken = {case: [usage.cpu_seconds / CALLS[case.way] for usage in found] for case, found in usages.items()}
    rows = []
    for case, per_step in taken.items():
        scanned = taken[case._replace(way="scan")]
        faster = [slow / fast for slow, fast in zip(scanned, per_step, strict=True)]
        row = case._asdict() | {"banned": check(case.beam_size, case.length)}
        row |= turns.spread("step_seconds", per_step) | turns.spread("times_scan", faster)
        rows.append(row | {"others": turns.others(usages[case])})
    return rows


def decode(translator: ctranslate2.Translator, batch: Batch, case: Case) -> None:
    translator.translate_batch(
        batch,
        beam_size=case.beam_size,
        no_repeat_ngram_size=N if case.way == "on" else 0,
        min_decoding_length=case.length,
        max_decoding_length=case.length,
    )


def engine(args: argparse.Namespace) -> list[dict[str, Any]]:
    """The engine with and without blocking; extra seconds are those of a step."""
    kind = compute_type(turns.of_ctranslate2(args.model)["quantization"])
    translator = loading.translator(args.model, device="cpu", compute_type=kind, intra_threads=1)
    batch = turns.pieces(args.model, args)[:SENTENCES]
    cases = [Case(way, beam, length) for beam in args.beam_sizes for length in args.lengths for way in ("off", "on")]
    jobs = {case: functools.partial(decode, translator, batch, case) for case in cases}
    usages = turns.timed(jobs, args, [args.core], "engine")
    rows = []
    for case in cases[1::2]:
        off, on = usages[case._replace(way="off")], usages[case]
        extra = [(slow.cpu_seconds - fast.cpu_seconds) / case.length for slow, fast in zip(on, off, strict=True)]
        row = {"beam_size": case.beam_size, "length": case.length, "sentences": len(batch)}
        row |= {"others": turns.others([*off, *on])}
        row |= turns.spread("off_seconds", [usage.cpu_seconds for usage in off])
        row |= turns.spread("on_seconds", [usage.cpu_seconds for usage in on])
        rows.append(row | turns.ratio("times_off", on, off) | turns.spread("extra_step_seconds", extra))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder of CTranslate2")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=BEAMS)
    parser.add_argument("--lengths", type=positive, nargs="+", default=LENGTHS, help="pieces of a hypothesis")
    turns.options(parser)
    args = parser.parse_args()

    pin([args.core])
    conditions = turns.conditions(args) | {"n": N, "sentences": SENTENCES, "model": turns.of_ctranslate2(args.model)}
    conditions |= {"engine_version": ctranslate2.__version__}
    write_json(args.output, {**conditions, "algorithms": algorithms(args), "engine": engine(args)})


if __name__ == "__main__":
    command(main)
