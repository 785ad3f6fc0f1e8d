"""The native engine against CTranslate2: how many times faster, and how close to the CPU's limit.

Both decode the same weights with the same vocabulary map, batches and longest translation, in turn, in this process, on
one core. --peers adds OpenNMT-tf (float32, without a map) and Marian, if the system has their folders. A ratio divides
tokens per CPU second, run by run. Integer types change a few translations, so each engine's tokens are counted.
``--types int4 --over int8`` compares one type of the native engine with another instead.
CTranslate2 obeys its environment variables: try them, and publish the best.

The limit of a model is the roofline of its products on this core: the larger of their operations over the kernel's peak
and the bytes of their weights over the rate at which the core reads the cache where these lie (measure.machine).
Attention and search are not in the limit.
"""

import argparse
import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from decode import engines
from formats import ctranslate2_products
from formats.spread import Spread
from measure import in_process
from measure.in_process import Session
from measure.machine import Level, levels, rate
from measure.timing_loop import Usage
from nmt_frontier.command_line import pick
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from nmt_frontier.model import native_packing, native_weights
from nmt_frontier.model.native_vocabulary import Vocabulary
from nmt_frontier.model.safetensors import metadata
from nmt_frontier.peaks import peak
from nmt_frontier.search import loading
from nmt_frontier.search.batching import batches, by_sentence
from nmt_frontier.search.engine import Batch, Engine, Search
from nmt_frontier.search.native import Native

# Batches, and sentences of the test set: about a second of decoding
SIZES = {"1": 100, "8": 300, "32": 640, "512t": 1000}
PEER = "ctranslate2"
OTHERS = ("marian", "opennmt-tf")


def cut(sentences: Batch, size: str) -> list[Batch]:
    """The first sentences in batches, sorted by length unless a batch is one sentence."""
    first = sentences[: SIZES[size]]
    if size == "1":
        return [[sentence] for sentence in first]
    tokens = size.endswith("t")
    cuts = batches(first, int(size.rstrip("t")), weigh=len if tokens else by_sentence)
    return [[first[place] for place in places] for places in cuts]


class DecodingWork(NamedTuple):
    """What a decoding computes and reads in its products; ``limit`` bounds its speed.

    operations: two for each weight and row. sizes: bytes of the weights of the encoder, and of the decoder's steps.
    """

    encoder: float  # operations
    decoder: float
    encoder_bytes: float
    step_bytes: float
    steps: int  # of the longest sentence of the batch

    def seconds(self, peak: float, levels: list[Level]) -> float:
        """The roofline: at least so long take operations at the peak, or the weights at the rate of their cache.

        The encoder's weights are read once a batch, from the cache that holds the whole model; the decoder's once a
        step, from the cache that holds the decoder.
        """
        whole = self.encoder_bytes + self.step_bytes
        encoder = max(self.encoder / peak, self.encoder_bytes / rate(levels, whole))
        return encoder + max(self.decoder / peak, self.steps * self.step_bytes / rate(levels, self.step_bytes))


# A weight in 4 bits, and of 32 weights their step.
WEIGHT_BYTES = {"float32": 4.0, "int16": 2.0, "int8": 1.0, "int4": 17 / 32}


def work(model: Path, kind: str, batch: Batch, output: Batch, candidates: int) -> DecodingWork:
    """The work of all products of a batch."""
    shape = metadata(model / native_weights.NAME)
    units, inner = int(shape["units"]), int(shape["feed_forward_units"])
    source, target = (
        int(shape[f"{side}_heads"]) * native_packing.padded(int(shape[f"{side}_head_units"]))
        for side in ("encoder", "decoder")
    )
    encoder = int(shape["encoder_layers"]) * (4 * units * source + 2 * units * inner)
    encoder += int(shape["decoder_layers"]) * 2 * units * target  # keys and values of the source
    decoder, last = int(shape["decoder_layers"]) * (6 * units * target + 2 * units * inner), units * candidates
    lengths, size = [len(sentence) + 1 for sentence in output], WEIGHT_BYTES[kind]
    step_bytes = decoder * size + last * max(size, 1)  # the output layer of int4 is int8
    operations = 2.0 * encoder * sum(map(len, batch)), 2.0 * (decoder + last) * sum(lengths)
    return DecodingWork(*operations, encoder * size, step_bytes, max(lengths))


def record(
    model: Path,
    kind: str,
    beam: int,
    size: str,
    usages: dict[str, list[Usage]],
    outputs: dict[str, list[Batch]],
    peer: str = PEER,
) -> dict[str, Any]:
    """A record of the ratio and both speeds."""
    tokens = {name: sum(len(sentence) for batch in found for sentence in batch) for name, found in outputs.items()}
    rates = {name: [tokens[name] / usage.cpu_seconds for usage in used] for name, used in usages.items()}
    ratio = Spread.of(native / other for native, other in zip(rates["native"], rates[peer], strict=True))
    pairs = [*zip(*([s for batch in outputs[name] for s in batch] for name in ("native", peer)), strict=True)]
    return {
        "model": model.name, "compute_type": kind, "beam_size": beam, "batch": size, "peer": peer,
        **ratio.fields("ratio"),
        "tokens_per_cpu_second": Spread.of(rates["native"]).middle,
        "peer_tokens_per_cpu_second": Spread.of(rates[peer]).middle,
        "equal": sum(a == b for a, b in pairs), "sentences": len(pairs),
        "others": in_process.others([usage for used in usages.values() for usage in used]),
    }  # fmt: skip


def peers(model: Path, kind: str, asked: Iterable[str]) -> dict[str, Path]:
    """Folders of this type by engine, for the engines in ``asked`` that have one."""
    folders = {name: model / engines.ENGINES[name].folder(kind) for name in asked}
    there = {name: folder for name, folder in folders.items() if folder.exists()}
    return {name: folder for name, folder in there.items() if loading.describe(folder).quantization == kind}


def kept(outputs: dict[str, Any], name: str, function: Callable[..., Any], *arguments: Any) -> Callable[[], None]:
    """A call to time that stores its result in ``outputs``."""

    def call() -> None:
        outputs[name] = function(*arguments)

    return call


def decoded(engine: Engine, cuts: list[Batch]) -> list[Batch]:
    return [engine.translate(batch) for batch in cuts]


def compared(
    model: Path,
    kind: str,
    beam: int,
    sentences: Batch,
    asked: Iterable[str],
    session: Session,
    sizes: Sequence[str] = tuple(SIZES),
) -> list[dict[str, Any]]:
    """The records of one model in one type: one for each peer and batch size."""
    folders = {"native": model / Native.folder(kind), **peers(model, kind, asked)}
    has_map = {name: loading.describe(folder).vocabulary_map for name, folder in folders.items()}
    mapped = has_map["native"] and has_map[PEER]
    loaded = {
        name: loading.load(folder, Search(beam_size=beam, vocabulary_map=mapped and has_map[name]))
        for name, folder in folders.items()
    }
    vocabulary = Vocabulary.read(folders["native"])
    tokens = {piece for batch in sentences for piece in batch}
    entries = Native.read_map(folders["native"], [[*tokens], *sentences]) if mapped else None
    found, best, read = [], peak(kind), levels()
    for size in sizes:
        cuts = cut(sentences, size)
        outputs: dict[str, list[Batch]] = {}
        calls = {name: kept(outputs, name, decoded, engine, cuts) for name, engine in loaded.items()}
        usages = in_process.timed(calls, session, [session.core], f"{kind} {size}")
        rows = [record(model, kind, beam, size, usages, outputs, peer) for peer in loaded if peer != "native"]

        def candidates(batch: Batch) -> int:
            return len(entries.candidates(batch)) if entries else len(vocabulary.target)

        if beam == 1:
            pairs = zip(cuts, outputs["native"], strict=True)
            works = [work(folders["native"], kind, batch, output, candidates(batch)) for batch, output in pairs]
            least = sum(each.seconds(best, read) for each in works)
            share = least / Spread.of(u.cpu_seconds for u in usages["native"]).middle
            rows[0] |= {"peak": best, "levels": read, "share_of_limit": share}
            rows[0] |= {"components": loaded["native"].components(cuts)}
        found += [row | {"isa": loaded["native"].isa, "vocabulary_map": mapped} for row in rows]
    return found


def types_compared(
    model: Path,
    kind: str,
    over: str,
    beam: int,
    sentences: Batch,
    session: Session,
    sizes: Sequence[str] = tuple(SIZES),
) -> list[dict[str, Any]]:
    """The records of the native engine in one type over the same engine in another, for each batch size."""
    folders = {"native": model / Native.folder(kind), over: model / Native.folder(over)}
    mapped = all(loading.describe(folder).vocabulary_map for folder in folders.values())
    search = Search(beam_size=beam, vocabulary_map=mapped)
    loaded = {name: loading.load(folder, search) for name, folder in folders.items()}
    found = []
    for size in sizes:
        outputs: dict[str, list[Batch]] = {}
        cuts = cut(sentences, size)
        calls = {name: kept(outputs, name, decoded, engine, cuts) for name, engine in loaded.items()}
        usages = in_process.timed(calls, session, [session.core], f"{kind} over {over} {size}")
        row = record(model, kind, beam, size, usages, outputs, over) | {"peer": f"native {over}"}
        found.append(row | {"isa": loaded["native"].isa, "vocabulary_map": mapped})
    return found


def check(model: Path, kind: str, over: str | None = None) -> None:
    """Raises UserError if a system lacks this type in one of the engines, or the other type in the native one."""
    peer = Native.folder(over) if over else kind
    if not (model / peer).exists() or not (model / Native.folder(kind)).exists():
        raise UserError(f"{model}: has not both {peer} and {Native.folder(kind)}")


def options(description: str, types: Sequence[str]) -> argparse.ArgumentParser:
    """The options of a comparison with CTranslate2. types: default of --types."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="folders of systems, results/X/models/Y")
    parser.add_argument("--types", nargs="+", default=[*types])
    in_process.options(parser)
    return parser


def measure(args: argparse.Namespace, of_model: Callable[..., list[dict[str, Any]]]) -> None:
    """Write the records of all models and types. of_model: takes model, type, sentences and session."""
    session, rows = pick(Session, args), []
    os.sched_setaffinity(0, [session.core])
    for model, kind in itertools.product(args.models, args.types):
        over = getattr(args, "over", None)
        check(model, kind, over)
        cut_by = model / (Native.folder(kind) if over else kind)  # CTranslate2 has no int4
        rows += of_model(model, kind, in_process.pieces(cut_by, session), session)
    shared = in_process.shared_fields(session) | {"peer_settings": ctranslate2_products.settings()}
    write_json(args.output, [shared | row for row in rows])  # a row has the set that the engine used


def main() -> None:
    parser = options(__doc__, ("float32", "int16", "int8"))
    parser.add_argument("--beam-sizes", type=int, nargs="+", default=[1])
    parser.add_argument("--sizes", nargs="+", default=[*SIZES], choices=SIZES, help="of batches: sentences, or tokens")
    parser.add_argument("--peers", nargs="*", default=[], choices=OTHERS, help="besides CTranslate2")
    parser.add_argument("--over", choices=native_weights.TYPES, help="this type of the native engine is the only peer")
    args = parser.parse_args()

    def of_model(model: Path, kind: str, sentences: Batch, session: Session) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for beam in args.beam_sizes:
            if args.over:
                found += types_compared(model, kind, args.over, beam, sentences, session, args.sizes)
            else:
                found += compared(model, kind, beam, sentences, [PEER, *args.peers], session, args.sizes)
        return found

    measure(args, of_model)


if __name__ == "__main__":
    command(main)
