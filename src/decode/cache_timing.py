"""The encoder's cache, one copy a sentence or one a beam: memory and time (FastSeq, sections 4.1.2 and 5.2).

CTranslate2 keeps one copy: its decoder says of the projected keys and values of the encoder that they need not be
replicated, and lets the queries of all beams of a sentence meet them in one product
(TransformerDecoder::replicate_state and split_heads of CTranslate2). Here that is held against memory: what decoding
adds to the resident set, beam by beam, each in a process of its own, beside what copies alone would take. Where they
alone would take more than all that was added, there are none; of fewer beams the peak is the encoder's, and says
nothing. The map leaves FEW candidates, so that scores take no room.

What the copies would cost in time the engine cannot tell, as it has none; NumPy does, for one layer, with the same
products on the same numbers (decode.shared_attention), asserted to have the same results.
"""

import argparse
import functools
import itertools
import multiprocessing
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy: only some ways have products that it would share out

import ctranslate2
import numpy as np

from decode import surgery, turns
from decode.components import few_candidates
from decode.engines import Batch
from decode.measure import pin
from decode.shared_attention import copied, copies, reordered, shared
from decode.translate import positive
from decode.watch import Usage, forget_peak, peak_rss_bytes, watch
from formats import loading
from formats.decoding import compute_type
from formats.errors import UserError, command
from formats.files import write_json

BEAMS = (1, 2, 4, 8, 16, 32)
SENTENCES, PIECES, STEPS = 64, 200, 8  # of the engine's batch: long input, short output
LENGTHS, BATCH = (32, 128, 512), 8  # pieces and sentences, of the reckoning
HEADS = 4
FLOAT = 4  # bytes; activations are float32 whatever the type of the weights
TOLERANCE = 1e-4
CALLS = 3  # steps in a run


class Case(NamedTuple):
    way: str
    beam_size: int
    length: int  # pieces of the source


# The engine


def batch_of(sentences: Batch, count: int, length: int) -> Batch:
    """As many sentences, each of so many pieces of the text."""
    pieces = itertools.cycle(piece for sentence in sentences for piece in sentence)
    return [list(itertools.islice(pieces, length)) for _ in range(count)]


def decoded(folder: str, kind: str, batch: Batch, beam_size: int, core: int) -> tuple[Usage, int]:
    """In a process of its own: what a batch took, and the bytes that decoding it adds to those of the loaded model."""
    pin([core])
    translator = loading.translator(Path(folder), device="cpu", compute_type=kind, intra_threads=1)
    options = {"min_decoding_length": STEPS, "max_decoding_length": STEPS, "beam_size": beam_size, "use_vmap": True}
    translator.translate_batch([batch[0][:1]], **options)
    forget_peak()
    loaded = peak_rss_bytes()
    with watch([core]) as usage:
        translator.translate_batch(batch, **options)
    return usage, peak_rss_bytes() - loaded


def engine(args: argparse.Namespace) -> list[dict[str, Any]]:
    kind = compute_type(turns.of_ctranslate2(args.model)["quantization"])
    layers, units = surgery.decoder_layers(surgery.read(args.model / "model.bin"))
    batch = batch_of(turns.pieces(args.model, args), SENTENCES, args.pieces)
    once = 2 * layers * SENTENCES * args.pieces * units * FLOAT  # keys and values
    found: dict[int, list[tuple[Usage, int]]] = {beam: [] for beam in args.beam_sizes}
    fresh = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as scratch:
        few_candidates(args.model, vmap := Path(scratch) / "vmap.txt")
        with surgery.folder(args.model, vmap=vmap) as folder:
            for _, beam in itertools.product(range(args.runs), args.beam_sizes):
                with fresh.Pool(1) as pool:
                    found[beam].append(pool.apply(decoded, (str(folder), kind, batch, beam, args.core)))
    return [
        {"beam_size": beam, "length": args.pieces, "sentences": SENTENCES, "steps": STEPS}
        | turns.cpu_seconds([usage for usage, _ in runs])
        | turns.spread("added_bytes", [added for _, added in runs])
        | {"cache_bytes": once, "copies_bytes": once * (beam - 1)}
        for beam, runs in found.items()
    ]


# The reckoning


class Step:
    """Random queries, keys and values of one layer, and a step of each way."""

    def __init__(self, beam_size: int, length: int, units: int):
        generator = np.random.default_rng(1)
        shape = (BATCH, HEADS, length, units // HEADS)
        self.keys, self.values = (generator.standard_normal(shape, np.float32) for _ in range(2))
        self.queries = generator.standard_normal((BATCH, HEADS, beam_size, units // HEADS), np.float32)
        self.beam_keys, self.beam_values = (copies(cache, beam_size) for cache in (self.keys, self.values))
        within = generator.integers(beam_size, size=(BATCH, beam_size))  # beams come from beams of their sentence
        self.origins = (np.arange(BATCH)[:, None] * beam_size + within).ravel()

    def run(self, way: str) -> np.ndarray:
        """The contexts."""
        if way == "shared":
            return shared(self.queries, self.keys, self.values)
        if way == "copied":
            return copied(self.queries, self.beam_keys, self.beam_values)
        contexts, self.beam_keys, self.beam_values = reordered(
            self.queries, self.beam_keys, self.beam_values, self.origins
        )
        return contexts

    def cache_bytes(self, way: str) -> int:
        return 2 * (self.keys if way == "shared" else self.beam_keys).nbytes


WAYS = ("shared", "copied", "reordered")


def repeat(step: Step, way: str) -> None:
    for _ in range(CALLS):
        step.run(way)


def reckoning(args: argparse.Namespace, units: int) -> list[dict[str, Any]]:
    """A row for each way, beam and length. Raises UserError where the ways have different results."""
    rows = []
    for beam, length in itertools.product(args.beam_sizes, args.lengths):
        step = Step(beam, length, units)
        contexts = [step.run(way) for way in WAYS]
        if any(abs(one - contexts[0]).max() > TOLERANCE for one in contexts):
            raise UserError(f"beam {beam}, {length} pieces: attention differs between one copy and many")
        jobs = {way: functools.partial(repeat, step, way) for way in WAYS}
        usages = turns.timed(jobs, args, [args.core], f"beam {beam}, {length} pieces")
        for way, found in usages.items():
            row = Case(way, beam, length)._asdict() | {"cache_bytes": step.cache_bytes(way)}
            row |= turns.spread("step_seconds", [usage.cpu_seconds / CALLS for usage in found])
            row |= {"others": turns.others([*found, *usages["shared"]])}
            rows.append(row | turns.ratio("times_shared", found, usages["shared"]))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder of CTranslate2, a Transformer")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=BEAMS)
    parser.add_argument("--pieces", type=positive, default=PIECES, help="of each source of the engine's batch")
    parser.add_argument("--lengths", type=positive, nargs="+", default=LENGTHS, help="pieces, of the reckoning")
    turns.options(parser)
    args = parser.parse_args()

    pin([args.core])
    conditions = turns.conditions(args) | {"model": turns.of_ctranslate2(args.model)}
    layers, units = surgery.decoder_layers(surgery.read(args.model / "model.bin"))
    conditions |= {"layers": layers, "units": units, "heads": HEADS, "batch": BATCH}
    conditions |= {"engine_version": ctranslate2.__version__}
    write_json(args.output, {**conditions, "engine": engine(args), "reckoning": reckoning(args, units)})


if __name__ == "__main__":
    command(main)
