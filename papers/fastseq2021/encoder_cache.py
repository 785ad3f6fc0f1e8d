"""The encoder's cache with one copy per sentence or per beam: memory and time (FastSeq, sections 4.1.2 and 5.2).

All beams of a sentence attend to the same keys and values. ``shared`` keeps one copy, which all beams of a sentence
multiply in one matrix product. ``copied`` keeps one copy per beam, as toolkits did, so that each beam is a product of
one row. ``reordered`` also moves the copies with their beams after the step, as if they differed.

queries: float32 (sentences, heads, beam, units per head). keys and values: float32 (sentences, heads, length, units
per head); for ``copied`` and ``reordered`` (sentences x beam, heads, length, units per head). The returned contexts
have the shape of the queries.

CTranslate2 keeps one copy (its TransformerDecoder::replicate_state and split_heads). Memory must agree: the resident
set that decoding adds is compared with the size of copies, beam by beam, each in a process of its own. If copies would
need more than was added, there are none; with few beams the peak is the encoder's, which tells nothing. The map leaves
FEW candidates, so that scores need little memory.

The native engine decodes both ways on the same batches, with copies that move behind their beams: the whole cost in CPU
seconds and memory. NumPy measures one layer, with the same products on the same numbers and equal results.
"""

import argparse
import itertools
import multiprocessing
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import ctranslate2
import numpy as np
from msgspec import convert
from numpy.typing import NDArray

from decode.engines.ctranslate2 import CTranslate2
from experiments import altered_models
from experiments.altered_models import ForcedLength, converted, exactly, write_few
from formats.spread import Spread
from measure import in_process, timing_loop
from measure.in_process import Session
from measure.timing_loop import Usage, forget_peak, peak_rss_bytes, watch
from nmt_frontier import machine
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import read_json, write_json
from nmt_frontier.importers import ctranslate2_model
from nmt_frontier.model import safetensors
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Batch
from nmt_frontier.search.native import Native
from papers.fastseq2021.documents import CacheRow, CopiesRow, StepRow

Array = NDArray[Any]
Result = TypeVar("Result")

BEAMS = (1, 2, 4, 8, 16, 32)
SENTENCES, PIECES, STEPS = 64, 200, 8  # of the engine's batch: long input, short output
LENGTHS, BATCH = (32, 128, 512), 8  # pieces and sentences of the products in NumPy
HEADS = 4
WAYS = ("shared", "copied", "reordered")
FLOAT = 4  # bytes; activations are float32 whatever the type of the weights
TOLERANCE = 1e-4
CALLS = 3  # steps in a run


def shared(queries: Array, keys: Array, values: Array) -> Array:
    scores = queries @ keys.swapaxes(2, 3)
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    contexts: Array = scores @ values
    return contexts


def copied(queries: Array, keys: Array, values: Array) -> Array:
    sentences, heads, beam_size, units = queries.shape
    rows = queries.swapaxes(1, 2).reshape(sentences * beam_size, heads, 1, units)
    contexts = shared(rows, keys, values)
    return contexts.reshape(sentences, beam_size, heads, units).swapaxes(1, 2)


def reordered(queries: Array, keys: Array, values: Array, origins: Array) -> tuple[Array, Array, Array]:
    """Contexts, keys and values of the next step; origins: int (sentences x beam,), the row each beam continues."""
    return copied(queries, keys, values), keys[origins], values[origins]


@dataclass
class MemoryUsage(Usage):
    """added_bytes: growth of the resident set by decoding with the loaded model."""

    added_bytes: int = 0


def batch_of(sentences: Batch, count: int, length: int) -> Batch:
    """``count`` sentences of ``length`` pieces each, filled with the pieces of the text."""
    pieces = itertools.cycle(piece for sentence in sentences for piece in sentence)
    return [list(itertools.islice(pieces, length)) for _ in range(count)]


def decoded(folder: str, batch: Batch, beam_size: int, core: int) -> MemoryUsage:
    """Load the model in CTranslate2, in this process, which must be a new one, and decode a batch."""
    machine.pin([core])
    translator = altered_models.loaded(Path(folder))
    options = {**exactly(STEPS), "beam_size": beam_size, "use_vmap": True}
    return added(lambda batch: translator.translate_batch(batch, **options), batch, core)


def decoded_natively(folder: str, vmap: str, copied: bool, batch: Batch, beam_size: int, core: int) -> MemoryUsage:
    """As ``decoded``, in the native engine. vmap: its map; copied: keep a copy of the cache for each beam."""
    machine.pin([core])
    engine = ForcedLength(Path(folder), Path(vmap))
    without = frozenset({"shared_cache"} if copied else ())
    return added(lambda batch: engine.decode(batch, STEPS, beam_size, without=without), batch, core)


def added(decode: Callable[[Batch], Any], batch: Batch, core: int) -> MemoryUsage:
    """Decode a batch with a model that is loaded in this process."""
    decode([batch[0][:1]])
    forget_peak()
    loaded = peak_rss_bytes()
    with watch([core]) as usage:
        decode(batch)
    return MemoryUsage(**vars(usage), added_bytes=peak_rss_bytes() - loaded)


def in_new_process(function: Callable[..., Result], *arguments: Any) -> Result:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def engine(
    model: Path, beam_sizes: list[int], length: int, layers: int, units: int, session: Session
) -> list[CacheRow]:
    """A row for each beam, with sources of ``length`` pieces. layers, units: of the decoder."""
    batch = batch_of(in_process.pieces(model, session), SENTENCES, length)
    one_copy = 2 * layers * SENTENCES * length * units * FLOAT  # keys and values
    with tempfile.TemporaryDirectory() as scratch:
        write_few(read_json(model / "shared_vocabulary.json"), vmap := Path(scratch) / "vmap.txt")
        with altered_models.folder(model, vmap=vmap) as folder:
            ways = {
                beam: lambda _, beam=beam: in_new_process(decoded, str(folder), batch, beam, session.core)
                for beam in beam_sizes
            }
            decodings = timing_loop.timed(ways, session, "engine")
    rows = (
        {"beam_size": beam, "length": length, "sentences": SENTENCES, "steps": STEPS}
        | in_process.seconds(runs, "cpu_seconds")
        | Spread.of(decoding.added_bytes for decoding in runs).fields("added_bytes")
        | {"cache_bytes": one_copy, "copies_bytes": one_copy * (beam - 1)}
        for beam, runs in decodings.items()
    )
    return [convert(row, CacheRow) for row in rows]


def native(model: Path, beam_sizes: list[int], batch: Batch, session: Session) -> list[CopiesRow]:
    """A row for each beam, with one copy of the cache and with a copy for each beam."""
    with tempfile.TemporaryDirectory() as scratch:
        write_few(Vocabulary.read(model).target, text := Path(scratch) / "vmap.txt")
        vmap = converted(text, model, Path(scratch) / Native.map_file)
        ways = {
            (beam, copied): lambda _, beam=beam, copied=copied: in_new_process(
                decoded_natively, str(model), str(vmap), copied, batch, beam, session.core
            )
            for beam, copied in itertools.product(beam_sizes, (False, True))
        }
        decodings = timing_loop.timed(ways, session, "native engine")
    rows = []
    for beam in beam_sizes:
        one, many = decodings[beam, False], decodings[beam, True]
        times = both(one, "shared") | both(many, "copied") | in_process.ratio("times_shared", many, one)
        row = {"beam_size": beam, "length": len(batch[0]), "sentences": len(batch), **times}
        rows.append(convert({**row, "others": in_process.others([*one, *many])}, CopiesRow))
    return rows


def both(runs: list[MemoryUsage], way: str) -> dict[str, float]:
    """CPU seconds and added memory of a way."""
    seconds = Spread.of(run.cpu_seconds for run in runs).fields(f"{way}_seconds")
    return seconds | Spread.of(run.added_bytes for run in runs).fields(f"{way}_bytes")


class Step:
    """Random queries, keys and values of one layer, and a step of attention in each of WAYS."""

    def __init__(self, beam_size: int, length: int, units: int):
        generator = np.random.default_rng(1)
        shape = (BATCH, HEADS, length, units // HEADS)
        self.keys, self.values = (generator.standard_normal(shape, np.float32) for _ in range(2))
        self.queries = generator.standard_normal((BATCH, HEADS, beam_size, units // HEADS), np.float32)
        self.beam_keys, self.beam_values = (np.repeat(cache, beam_size, axis=0) for cache in (self.keys, self.values))
        within = generator.integers(beam_size, size=(BATCH, beam_size))  # a beam continues one of its own sentence
        self.origins = (np.arange(BATCH)[:, None] * beam_size + within).ravel()

    def run(self, way: str) -> Array:
        """The contexts; ``reordered`` replaces the copies of the cache by those of the next step."""
        if way == "shared":
            return shared(self.queries, self.keys, self.values)
        copies = self.queries, self.beam_keys, self.beam_values
        if way == "copied":
            return copied(*copies)
        contexts, self.beam_keys, self.beam_values = reordered(*copies, self.origins)
        return contexts

    def cache_bytes(self, way: str) -> int:
        return 2 * (self.keys if way == "shared" else self.beam_keys).nbytes


def repeat(step: Step, way: str) -> None:
    """Free the contexts of each call at once, which is part of what is timed."""
    for _ in range(CALLS):
        step.run(way)


def reckoning(beam_sizes: list[int], lengths: list[int], units: int, session: Session) -> list[StepRow]:
    """A row for each way, beam and length. Raises UserError where the ways have different results."""
    rows = []
    for beam, length in itertools.product(beam_sizes, lengths):
        step = Step(beam, length, units)
        first, *same = [step.run(way) for way in WAYS]
        if any(abs(contexts - first).max() > TOLERANCE for contexts in same):
            raise UserError(f"beam {beam}, {length} pieces: attention differs between one copy and many")
        jobs = {way: partial(repeat, step, way) for way in WAYS}
        usages = in_process.timed(jobs, session, [session.core], f"beam {beam}, {length} pieces")
        for way, runs in usages.items():
            others = in_process.others([*runs, *usages["shared"]])
            row = {"way": way, "beam_size": beam, "length": length, "cache_bytes": step.cache_bytes(way)}
            times = Spread.of(usage.cpu_seconds / CALLS for usage in runs).fields("step_seconds")
            times |= in_process.ratio("times_shared", runs, usages["shared"])
            rows.append(convert({**row, **times, "others": others}, StepRow))
    return rows


def decoder(model: Path) -> tuple[int, int]:
    """The number of decoder layers, and their units, of a folder of CTranslate2 or the native engine."""
    if loading.of(model) is CTranslate2:
        return altered_models.decoder_layers(ctranslate2_model.read(model))
    loading.describe_for(model, Native)
    metadata = safetensors.metadata(model / Native.weights)
    return int(metadata.get("decoder_layers", 1)), int(metadata["units"])  # one with transitions instead of layers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=there, nargs="+", required=True, help="of CTranslate2 and the native engine")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=BEAMS)
    parser.add_argument("--pieces", type=positive, default=PIECES, help="of each source of the engine's batch")
    parser.add_argument("--lengths", type=positive, nargs="+", default=LENGTHS, help="pieces, for NumPy's products")
    in_process.options(parser)
    args = parser.parse_args()

    session, shared = in_process.prepared(args)
    first = args.models[0]
    layers, units = decoder(first)
    about = {"model": loading.describe(first), "layers": layers, "units": units, "heads": HEADS, "batch": BATCH}
    batch = batch_of(in_process.pieces(first, session), SENTENCES, args.pieces)
    found: dict[str, list[CacheRow] | list[CopiesRow]] = {"engine": [], "native": []}
    for model in args.models:
        if loading.of(model) is CTranslate2:
            found["engine"] = engine(model, args.beam_sizes, args.pieces, layers, units, session)
        else:
            found["native"] = native(model, args.beam_sizes, batch, session)
    # This process loaded NumPy before it was pinned, with a thread a core, which only large products would use.
    steps = in_new_process(reckoning, args.beam_sizes, args.lengths, units, session)
    made = {**shared, **about, "engine_version": ctranslate2.__version__, **found, "reckoning": steps}
    write_json(args.output, made)


if __name__ == "__main__":
    command(main)
