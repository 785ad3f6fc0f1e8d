"""The native engine against Marian, for decoders that CTranslate2 does not have.

Untrained models of the papers' sizes decode random sentences in int8, greedily, on one core, in turn in this process.
All generate the same number of pieces for every sentence, from the same 1,000 candidates. A ratio divides tokens per
CPU second, run by run.

The recurrent model is OpenNMT-tf's. Marian has no such model: its nearest LSTM has all 1,024 units in each direction of
the encoder, and a conditional decoder. In int8 that LSTM translates as in float32 (61 of 64 sentences of a small one);
Marian's GRU does not. The other models are Marian's, and both engines decode the same weights; without Marian they are
OpenNMT-tf's. Marian's layer after a mean is as wide as its other feed-forward layers, OpenNMT-tf's as the embeddings.
"""

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from decode.engines.marian import MarianWorker, options
from experiments.altered_models import ForcedLength, converted
from export import read_opennmt_tf, untrained
from export.marian import marian_files
from formats import experiments, marian, opennmt_tf
from formats.shape import RecurrentShape, Shape, registry, shape
from formats.spread import Spread
from measure import in_process, protocol, timing_loop
from measure.timing_loop import Repeats, Usage
from nmt_frontier.command_line import pick, positive
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json, write_text
from nmt_frontier.importers import read_marian
from nmt_frontier.importers.float_model import FloatModel
from nmt_frontier.importers.marian_binary import END
from nmt_frontier.importers.marian_parameters import Parameters, read_pieces
from nmt_frontier.model import model_folder
from nmt_frontier.search.engine import Batch, Search
from nmt_frontier.search.native import Native
from train.marian import structure

SHAPES = ("wnmt2018-rnn-small", "marian-base-aan", "bergamot-ssru-tiny", "bergamot-ssru-base-memory")
PEERS = ("marian",)
KIND = "int8"
ENTRIES = 32_000  # of the vocabulary, with <unk>
CANDIDATES = 1000
SIZES = {1: 64, 8: 128, 32: 256}  # sentences of a batch, and of a run
# Marian's options for wnmt2018-rnn-small; it needs tied embeddings for int8
LSTM = [
    "--type", "s2s", "--dim-emb", 512, "--dim-rnn", 1024, "--tied-embeddings", "--enc-type", "bidirectional",
    "--enc-cell", "lstm", "--enc-depth", 2, "--dec-cell", "lstm", "--dec-depth", 2,
]  # fmt: skip

Way = Callable[[Batch], Any]


def entries() -> list[str]:
    """The lines of vocabulary.txt, to which OpenNMT-tf adds <unk>."""
    control = opennmt_tf.CONTROL
    return [*control, *(f"w{number}" for number in range(ENTRIES - 1 - len(control)))]


def words() -> list[str]:
    """All pieces that may be generated; Marian's first candidates are these and its two control tokens."""
    return entries()[len(opennmt_tf.CONTROL) :][: CANDIDATES - 2]


def text(sentences: int, pieces: int, seed: int = 1) -> Batch:
    """Random sentences of ``words``, so that sources add no candidates."""
    return np.random.default_rng(seed).choice(words(), (sentences, pieces)).tolist()


def native(model: FloatModel, pieces: int, folder: Path, kind: str = KIND) -> Way:
    """Decode with the native engine, from a new folder; candidates are the words and the control tokens."""
    model.write(kind, folder)
    described = {"engine": "native", "quantization": kind, "vocabulary_map": True}
    write_json(folder / model_folder.DESCRIPTION, described)
    write_text(candidates := folder / "vmap.txt", "\t" + " ".join(words()) + "\n")
    forced = ForcedLength(folder, converted(candidates, folder, folder / Native.map_file))
    return lambda batch: forced.decode(batch, pieces, beam_size=1)


def marian_model(asked: Shape, folder: Path) -> Path:
    """Make a model.npz for Marian with random weights that never ends a sentence, in a new folder with its vocabulary.

    Marian writes a model when it has trained it, so it learns from one batch.
    """
    folder.mkdir()
    vocabulary, model = folder / marian.VOCABULARY, folder / "model.npz"
    write_text(folder / "vocabulary.txt", "".join(f"{entry}\n" for entry in entries()))
    marian.write_vocabulary(marian.entries(folder / "vocabulary.txt"), vocabulary)
    write_text(side := folder / "text", "".join(f"{' '.join(sentence)}\n" for sentence in text(8, 5)))
    kind = LSTM if isinstance(asked, RecurrentShape) else structure(asked)
    arguments = ["--model", model, "--train-sets", side, side, "--vocabs", vocabulary, vocabulary, *kind, "--seed", 1]
    arguments += ["--after", "1u", "--mini-batch", 8, "--workspace", 500, "--cpu-threads", 1, "--data-threads", 1]
    marian.run("train", *arguments, log=folder / "train.log")
    weights = dict(np.load(model))
    (bias,) = (name for name, value in weights.items() if value.shape == (1, ENTRIES - 2))
    weights[bias][0, marian.entries(folder / "vocabulary.txt").index(END)] = -1e4
    np.savez(model, **weights)
    return model


def marian_way(model: Path, pieces: int, folder: Path) -> Way:
    """Decode with Marian. Raises UserError if a translation has another length."""
    marian_files(model, model.with_name(marian.VOCABULARY), KIND, folder)
    pairs = (f"{word} {word} 1.0\n" for word in words())  # all of them among the first entries
    write_text(folder / "shortlist.txt", "".join(pairs))
    worker = MarianWorker(folder, [*options(Search()), "--shortlist", "shortlist.txt", str(CANDIDATES), "1", "0"])
    worker.answer()

    def way(batch: Batch) -> None:
        factor = (pieces - 0.5) / (len(batch[0]) + 1)  # as in decode.engines.marian
        worker.ask([" ".join(sentence) for sentence in batch], {"max-length-factor": factor})
        if {len(line.split(" ")) for line in worker.answer()} != {pieces}:
            raise UserError(f"{folder}: Marian's translations have not all {pieces} pieces")

    return way


def ways(name: str, peers: Iterable[str], pieces: int, folder: Path) -> tuple[dict[str, Way], str]:
    """Every way to decode a shape, and which engine's weights the native engine decodes."""
    asked, found = shape(registry()[name]), {}
    if "marian" in peers:
        model = marian_model(asked, folder / "marian")
        found["marian"] = marian_way(model, pieces, folder / "marian-int8")
    if "marian" in peers and not isinstance(asked, RecurrentShape):
        known = read_pieces(model.with_name(marian.VOCABULARY), 0, parameters := Parameters(model))
        read, weights = read_marian.read(parameters, known, known), "marian"
    else:
        write_text(folder / "vocabulary.txt", "".join(f"{entry}\n" for entry in entries()))
        untrained.make(registry()[name], folder / "vocabulary.txt", 1, folder / "checkpoint")
        read, weights = read_opennmt_tf.read(folder / "checkpoint"), "opennmt-tf"
    return {"native": native(read, pieces, folder / "native-int8"), **found}, weights


def records(name: str, size: int, tokens: int, usages: dict[str, list[Usage]]) -> list[dict[str, Any]]:
    """A record for each engine; those of peers have the ratio to the native engine."""
    rates = {way: [tokens / usage.cpu_seconds for usage in used] for way, used in usages.items()}
    rows = []
    for way, found in rates.items():
        row = {"shape": name, "engine": way, "compute_type": KIND, "batch": size, "candidates": CANDIDATES}
        row |= Spread.of(found).fields("tokens_per_cpu_second") | {"others": in_process.others(usages[way])}
        if way != "native":
            faster = Spread.of(one / other for one, other in zip(rates["native"], found, strict=True))
            row |= faster.fields("native_times_faster")
        rows.append(row)
    return rows


def measured(
    name: str, peers: Iterable[str], pieces: int, sizes: dict[int, int], repeats: Repeats, core: int
) -> list[dict[str, Any]]:
    """The records of one shape."""
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        calls, weights = ways(name, peers, pieces, Path(scratch))
        for size, count in sizes.items():
            sentences = text(count, pieces)
            cut = [sentences[start : start + size] for start in range(0, count, size)]
            decoding = {way: lambda call=call, cut=cut: [*map(call, cut)] for way, call in calls.items()}
            usages = in_process.timed(decoding, repeats, [core], f"{name} {size}")
            rows += records(name, size, count * pieces, usages)
    return [row | {"weights": weights, "pieces": pieces} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=[*SHAPES], choices=SHAPES)
    parser.add_argument("--peers", nargs="*", default=[*PEERS], choices=PEERS, help="without any: the engine alone")
    parser.add_argument("--pieces", type=positive, default=24, help="of every sentence and translation")
    parser.add_argument("--sentences", type=positive, help="of a run, instead of the usual ones")
    parser.add_argument("--core", type=int, default=0, help="the only one to use")
    timing_loop.options(parser, runs=5)
    args = parser.parse_args()

    from nmt_frontier.bindings import isa

    os.sched_setaffinity(0, [args.core])
    sizes = {size: args.sentences or count for size, count in SIZES.items()}
    repeats, rows = pick(Repeats, args), []
    for name in args.shapes:
        rows += measured(name, args.peers, args.pieces, sizes, repeats, args.core)
    shared = {"runs": args.runs, "noise": args.noise, "isa": isa(), "commit": protocol.commit()}
    write_json(args.output, [row | experiments.here() | shared for row in rows])


if __name__ == "__main__":
    command(main)
