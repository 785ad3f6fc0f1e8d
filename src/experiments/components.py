"""Where CTranslate2's time goes: encoder, decoder, attention, generator, search (OpenNMT at WNMT 2018, Figure 2).

The wheels of CTranslate2 on PyPI have no profiler: they are built without ENABLE_PROFILING, Python has no names for
its functions, and called from C++ they throw. (oneMKL's own log, MKL_VERBOSE, is no substitute: it gives 10
microseconds to a call that computes nothing, as many as to a product of a small model.) So a part of the model is
removed (experiments.altered_models), and its time is the time that is then missing. All sentences are decoded to the
same number of pieces, whatever the model says, so that every variant takes the same steps with the same shapes:

    measured   whole       the model as it is
    measured   encoder     the encoder alone, in the engine
               attention   whole - without the layers between decoder and encoder, their projections included
               generator   whole - with FEW candidates: output layer, softmax, the choice among all pieces but FEW
               search      (bare - encoder) - (rows - their encoder): the cost of beams over as many sentences; bare is
                           without attention and with FEW candidates, rows is the same, greedy, on every sentence as
                           often as the beam is wide. Greedy search has none: its choice is the generator's
               decoder     the rest of whole: embeddings, self-attention, feed-forward layers, work of each step

The first two are readings, the others differences of readings, run by run. All are CPU seconds of one thread, which
other work on the machine disturbs less than wall time.

The native engine needs none of this, as it has a clock of its own (experiments.components_native). A system that
CTranslate2 does not run has its rows only.
"""

import argparse
import contextlib
import functools
import itertools
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ctranslate2

from common import machine
from common.command_line import pick, positive
from common.errors import UserError, command
from common.files import write_json, write_text
from decode import engines
from decode.engines import Batch
from decode.engines.ctranslate2 import CTranslate2
from decode.pipeline import ONE_CORE
from experiments import altered_models, components_native
from formats import loading
from formats.decoding import compute_type
from formats.measurement import COMPONENTS, FEW, Spread
from measure import in_process
from measure.in_process import Conditions
from measure.timing_loop import Usage

OPERATIONS = {  # that make the variants of a model
    "whole": altered_models.whole,
    "deaf": altered_models.without_attention,
    "encoder": altered_models.encoder,
}

Job = Callable[[], Any]


class Way(NamedTuple):
    """How a model folder is decoded."""

    model: Path
    beam_size: int
    vocabulary_map: bool


class Variants:
    """The variants of one model, loaded.

    stack: keeps their folders until it is closed. few: a map that allows FEW pieces only.
    """

    def __init__(self, model: Path, stack: contextlib.ExitStack, few: Path):
        kind = compute_type(engines.describe_for(model, CTranslate2)["quantization"])
        settings = {"device": "cpu", "compute_type": kind, "intra_threads": 1}

        def variant(name: str, vmap: Path | None = None) -> Path:
            return stack.enter_context(altered_models.folder(model, OPERATIONS[name], vmap))

        self.encoder = loading.encoder(variant("encoder"), **settings)
        self.whole = loading.translator(variant("whole"), **settings)
        self.deaf = loading.translator(variant("deaf"), **settings)
        self.few = loading.translator(variant("whole", few), **settings)
        self.bare = loading.translator(variant("deaf", few), **settings)


def few_candidates(model: Path, path: Path) -> None:
    """Write a vocabulary map of the first FEW pieces, which are candidates for every source."""
    write_few(json.loads((model / "shared_vocabulary.json").read_text(encoding="utf-8")), path)


def write_few(pieces: list[str], path: Path) -> None:
    """Write a vocabulary map of the first FEW pieces of a vocabulary, behind its control tokens."""
    write_text(path, "\t" + " ".join(pieces[3 : 3 + FEW]) + "\n")


def decode(
    translator: ctranslate2.Translator, batches: list[Batch], steps: int, beam_size: int, **options: Any
) -> None:
    options |= {"min_decoding_length": steps, "max_decoding_length": steps, "max_input_length": 0}
    for batch in batches:
        translator.translate_batch(batch, beam_size=beam_size, **options)


def encode(encoder: ctranslate2.Encoder, batches: list[Batch]) -> None:
    for batch in batches:
        encoder.forward_batch(batch)


def jobs(loaded: Variants, way: Way, batches: list[Batch], steps: int) -> dict[tuple[Way, str], Job]:
    """The readings that the components of a way are computed from, by the way and their names."""
    beam, mapped = way.beam_size, way.vocabulary_map
    readings: dict[str, Job] = {
        "whole": functools.partial(decode, loaded.whole, batches, steps, beam, use_vmap=mapped),
        "encoder": functools.partial(encode, loaded.encoder, batches),
        "deaf": functools.partial(decode, loaded.deaf, batches, steps, beam, use_vmap=mapped),
        "few": functools.partial(decode, loaded.few, batches, steps, beam, use_vmap=True),
    }
    if beam > 1:
        repeated = [[sentence for sentence in batch for _ in range(beam)] for batch in batches]
        # Both return equally many hypotheses, so that handing them to Python costs the same.
        readings["bare"] = functools.partial(
            decode, loaded.bare, batches, steps, beam, use_vmap=True, num_hypotheses=beam
        )
        readings["rows"] = functools.partial(decode, loaded.bare, repeated, steps, 1, use_vmap=True)
        readings["rows' encoder"] = functools.partial(encode, loaded.encoder, repeated)
    return {(way, name): job for name, job in readings.items()}


def components(readings: dict[str, float]) -> dict[str, float]:
    """Seconds of each component from the readings of one run, in seconds."""
    search = 0.0
    if "bare" in readings:
        search = (readings["bare"] - readings["encoder"]) - (readings["rows"] - readings["rows' encoder"])
    seconds = {
        "encoder": readings["encoder"],
        "attention": readings["whole"] - readings["deaf"],
        "generator": readings["whole"] - readings["few"],
        "search": search,
    }
    return seconds | {"decoder": readings["whole"] - sum(seconds.values()), "other": 0.0}


def row(way: Way, usages: dict[str, list[Usage]], steps: int) -> dict[str, Any]:
    """The share of each component in the whole, and the readings it was computed from."""
    description = engines.describe_for(way.model, CTranslate2)
    by_run = [
        components({name: runs[number].cpu_seconds for name, runs in usages.items()})
        for number in range(len(usages["whole"]))
    ]
    shares = {
        name: [seconds[name] / whole.cpu_seconds for seconds, whole in zip(by_run, usages["whole"], strict=True)]
        for name in COMPONENTS
    }
    return {
        "engine": CTranslate2.name,
        "engine_label": CTranslate2.label,
        "engine_version": ctranslate2.__version__,
        "how": "differences",
        **{name: description.get(name) for name in ("system", "shape")},
        "compute_type": description["quantization"],
        "beam_size": way.beam_size,
        "vocabulary_map": way.vocabulary_map,
        "steps": steps,
        **in_process.cpu_seconds(usages["whole"]),
        "others": in_process.others(itertools.chain(*usages.values())),  # shares are differences of all readings
        "readings": {name: Spread.of(usage.cpu_seconds for usage in runs).middle for name, runs in usages.items()},
        "shares": {name: Spread.of(values).fields("share") for name, values in shares.items()},
    }


def length(translator: ctranslate2.Translator, batches: list[Batch]) -> int:
    """The mean number of pieces of the model's own translations, at least 2."""
    lengths = [len(result.hypotheses[0]) for batch in batches for result in translator.translate_batch(batch)]
    return max(round(sum(lengths) / len(lengths)), 2)


def measured(models: list[Path], beam_sizes: list[int], conditions: Conditions) -> list[dict[str, Any]]:
    """A row for each model and beam, and for each beam of the last model with its map, all timed in turn."""
    first, last = models[0], models[-1]
    ways = [Way(model, beam, False) for model in models for beam in beam_sizes]
    if engines.describe_for(last, CTranslate2)["vocabulary_map"]:
        ways += [Way(last, beam, True) for beam in beam_sizes]
    batches = in_process.in_batches(in_process.pieces(first, conditions), ONE_CORE)
    with contextlib.ExitStack() as stack:
        few = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "vmap.txt"
        few_candidates(first, few)
        loaded = {model: Variants(model, stack, few) for model in models}
        steps = length(loaded[first].whole, batches)
        todo = {key: job for way in ways for key, job in jobs(loaded[way.model], way, batches, steps).items()}
        usages = in_process.timed(todo, conditions, [conditions.core], "components")
    return [row(way, {name: runs for (other, name), runs in usages.items() if other == way}, steps) for way in ways]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--models", type=Path, nargs="+", required=True, help="of one system, in CTranslate2, the native engine or both"
    )
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 2, 5])
    in_process.options(parser)
    args = parser.parse_args()
    conditions = pick(Conditions, args)

    if 2 * max(args.beam_sizes) > FEW:
        raise UserError(f"--beam-sizes: at most {FEW // 2}, or the search would look at all of {FEW} candidates")
    machine.pin([args.core])
    shared = in_process.shared_fields(conditions)
    sentences = in_process.pieces(args.models[0], conditions)
    shared |= {"sentences": len(sentences), "batch_tokens": ONE_CORE}
    inferred = [model for model in args.models if engines.of(model) is CTranslate2]
    clocked = [model for model in args.models if model not in inferred]
    rows = measured(inferred, args.beam_sizes, conditions) if inferred else []
    if clocked:
        batches = in_process.in_batches(sentences, ONE_CORE)
        rows += components_native.rows(clocked, args.beam_sizes, batches, conditions)
    write_json(args.output, {**shared, "rows": rows})


if __name__ == "__main__":
    command(main)
