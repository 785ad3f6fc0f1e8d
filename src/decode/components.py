"""Where CTranslate2's time goes: encoder, decoder, attention, generator, search (OpenNMT at WNMT 2018, Figure 2).

CTranslate2 has a profiler, but not in the wheels of PyPI: they are built without ENABLE_PROFILING, its functions have
no names in Python, and called from C++ they throw. (oneMKL's own log, MKL_VERBOSE, is no way out: it gives 10
microseconds even to calls that compute nothing, as many as to a product of a small model.) So parts are taken out of
the model (decode.surgery) and timed by what is missing. All sentences are decoded to the same number of pieces,
whatever the model says, so that every variant takes the same steps with the same shapes:

    measured   whole       the model as it is
    measured   encoder     the encoder alone, in the engine
               attention   whole - without the layers between decoder and encoder, their projections included
               generator   whole - with FEW candidates: output layer, softmax, the choice among all pieces but FEW
               search      (bare - encoder) - (rows - their encoder): what beams cost more than as many sentences;
                           bare is without attention and with FEW candidates, rows the same, greedy, on every sentence
                           as often as the beam is wide. Greedy search has none: its choice is the generator's
               decoder     what is left of whole: embeddings, self-attention, feed-forward layers, work of each step

The first two are readings, the others differences of readings, run by run. All are CPU seconds of one thread, which
other work on the machine disturbs less than it disturbs the clock on the wall.
"""

import argparse
import contextlib
import functools
import json
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ctranslate2

from decode import surgery, turns
from decode.engines import Batch
from decode.measure import pin
from decode.pipeline import batches
from decode.translate import ONE_CORE, positive
from formats import loading
from formats.decoding import compute_type
from formats.errors import UserError, command
from formats.files import write_json, write_text

FEW = 64  # candidates; a beam looks at twice its width
COMPONENTS = ("encoder", "decoder", "attention", "generator", "search", "other")
VARIANTS = {"whole": surgery.whole, "deaf": surgery.without_attention, "encoder": surgery.encoder}

Job = Callable[[], Any]


class Way(NamedTuple):
    """How a model folder is decoded."""

    model: Path
    beam_size: int
    vocabulary_map: bool


class Engines:
    """The variants of one model, loaded. ``few`` is the path of a map that allows only FEW pieces."""

    def __init__(self, model: Path, stack: contextlib.ExitStack, few: Path):
        kind = compute_type(turns.of_ctranslate2(model)["quantization"])
        settings = {"device": "cpu", "compute_type": kind, "intra_threads": 1}

        def made(operation: str, vmap: Path | None = None) -> Path:
            return stack.enter_context(surgery.folder(model, VARIANTS[operation], vmap))

        self.encoder = loading.encoder(made("encoder"), **settings)
        self.whole = loading.translator(made("whole"), **settings)
        self.deaf = loading.translator(made("deaf"), **settings)
        self.few = loading.translator(made("whole", few), **settings)
        self.bare = loading.translator(made("deaf", few), **settings)


def few_candidates(model: Path, path: Path) -> None:
    """Write a map that is always on and holds the first pieces of the vocabulary."""
    pieces = json.loads((model / "shared_vocabulary.json").read_text(encoding="utf-8"))
    write_text(path, "\t" + " ".join(pieces[3 : 3 + FEW]) + "\n")


def decode(translator: ctranslate2.Translator, cut: list[Batch], steps: int, beam_size: int, **options: Any) -> None:
    options |= {"min_decoding_length": steps, "max_decoding_length": steps, "max_input_length": 0}
    for batch in cut:
        translator.translate_batch(batch, beam_size=beam_size, **options)


def encode(encoder: ctranslate2.Encoder, cut: list[Batch]) -> None:
    for batch in cut:
        encoder.forward_batch(batch)


def jobs(loaded: Engines, way: Way, cut: list[Batch], steps: int) -> dict[tuple[Way, str], Job]:
    """What has to be timed to know the components of a way."""
    beam, mapped = way.beam_size, way.vocabulary_map
    found: dict[str, Job] = {
        "whole": functools.partial(decode, loaded.whole, cut, steps, beam, use_vmap=mapped),
        "encoder": functools.partial(encode, loaded.encoder, cut),
        "deaf": functools.partial(decode, loaded.deaf, cut, steps, beam, use_vmap=mapped),
        "few": functools.partial(decode, loaded.few, cut, steps, beam, use_vmap=True),
    }
    if beam > 1:
        repeated = [[sentence for sentence in batch for _ in range(beam)] for batch in cut]
        # As many hypotheses come back as of the rows, so that handing them to Python costs the same.
        found["bare"] = functools.partial(decode, loaded.bare, cut, steps, beam, use_vmap=True, num_hypotheses=beam)
        found["rows"] = functools.partial(decode, loaded.bare, repeated, steps, 1, use_vmap=True)
        found["rows' encoder"] = functools.partial(encode, loaded.encoder, repeated)
    return {(way, name): job for name, job in found.items()}


def components(taken: dict[str, float]) -> dict[str, float]:
    """Seconds of each component from the seconds that the jobs of one run took."""
    search = 0.0
    if "bare" in taken:
        search = (taken["bare"] - taken["encoder"]) - (taken["rows"] - taken["rows' encoder"])
    found = {
        "encoder": taken["encoder"],
        "attention": taken["whole"] - taken["deaf"],
        "generator": taken["whole"] - taken["few"],
        "search": search,
    }
    return found | {"decoder": taken["whole"] - sum(found.values()), "other": 0.0}


def row(way: Way, usages: dict[str, list[turns.Usage]], steps: int) -> dict[str, Any]:
    """Median share of each component in the whole, and what it was reckoned from."""
    description = turns.of_ctranslate2(way.model)
    by_run = [
        components({name: found[number].cpu_seconds for name, found in usages.items()})
        for number in range(len(usages["whole"]))
    ]
    shares = {
        name: [found[name] / whole.cpu_seconds for found, whole in zip(by_run, usages["whole"], strict=True)]
        for name in COMPONENTS
    }
    return {
        "engine": "ctranslate2",
        "engine_version": ctranslate2.__version__,
        "how": "differences",
        **{name: description.get(name) for name in ("system", "shape")},
        "compute_type": description["quantization"],
        "beam_size": way.beam_size,
        "vocabulary_map": way.vocabulary_map,
        "steps": steps,
        **turns.cpu_seconds(usages["whole"]),
        "readings": {name: statistics.median(usage.cpu_seconds for usage in found) for name, found in usages.items()},
        "shares": {name: turns.spread("share", values) for name, values in shares.items()},
    }


def length(translator: ctranslate2.Translator, cut: list[Batch]) -> int:
    """The mean number of pieces of the model's own translations."""
    found = [len(result.hypotheses[0]) for batch in cut for result in translator.translate_batch(batch)]
    return max(round(sum(found) / len(found)), 2)


def measured(args: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each model and beam, and for the last model with its map, all timed in turn."""
    ways = [Way(model, beam, False) for model in args.models for beam in args.beam_sizes]
    if turns.of_ctranslate2(args.models[-1])["vocabulary_map"]:
        ways += [Way(args.models[-1], beam, True) for beam in args.beam_sizes]
    sentences = turns.pieces(args.models[0], args)
    cut = [[sentences[place] for place in places] for places in batches(sentences, ONE_CORE)]
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        few_candidates(args.models[0], scratch / "vmap.txt")
        loaded = {model: Engines(model, stack, scratch / "vmap.txt") for model in args.models}
        steps = length(loaded[args.models[0]].whole, cut)
        todo = {key: job for way in ways for key, job in jobs(loaded[way.model], way, cut, steps).items()}
        usages = turns.timed(todo, args, [args.core], "components")
    return [row(way, {name: found for (other, name), found in usages.items() if other == way}, steps) for way in ways]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="folders of one system, in some types")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 2, 5])
    turns.options(parser)
    args = parser.parse_args()

    if 2 * max(args.beam_sizes) > FEW:
        raise UserError(f"--beam-sizes: at most {FEW // 2}, or the search would look at all of {FEW} candidates")
    pin([args.core])
    conditions = turns.conditions(args) | {"sentences": len(turns.pieces(args.models[0], args))}
    write_json(args.output, {**conditions, "batch_tokens": ONE_CORE, "rows": measured(args)})


if __name__ == "__main__":
    command(main)
