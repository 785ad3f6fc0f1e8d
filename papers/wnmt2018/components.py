"""Where CTranslate2's time goes: encoder, decoder, attention, generator, search (OpenNMT at WNMT 2018, Figure 2).

The wheels on PyPI are built without CTranslate2's profiler, and oneMKL's log (MKL_VERBOSE) is too coarse for a small
model. So a part of the model is removed (experiments.altered_models): its time is the difference. All sentences are
decoded to the same number of pieces, so that every variant takes the same steps with the same shapes:

    whole       measured
    encoder     measured: the encoder alone
    attention   whole - without the layers between decoder and encoder, their projections included
    generator   whole - with FEW candidates: output layer, softmax, the choice among all pieces but FEW
    search      (bare - encoder) - (rows - their encoder): the cost of beams over as many sentences; bare is without
                attention and with FEW candidates, rows is the same, greedy, with every sentence beam times. 0 for
                greedy search, whose choice is part of the generator
    decoder     the rest of whole: embeddings, self-attention, feed-forward layers, work of each step

Differences are taken run by run, in CPU seconds of one thread, which other processes disturb less than wall time. The
native engine has a clock of its own (components_native).
"""

import argparse
import contextlib
import functools
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ctranslate2
from msgspec import convert

from decode.engines.ctranslate2 import CTranslate2
from experiments import altered_models
from experiments.altered_models import exactly, loaded, without_attention, write_few
from formats import ctranslate2_loading
from formats.experiments import FEW
from formats.spread import Spread
from measure import in_process
from measure.in_process import Session
from measure.timing_loop import Usage
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import read_json, write_json
from nmt_frontier.importers.ctranslate2_model import ModelBin
from nmt_frontier.limits import ONE_CORE
from nmt_frontier.search import loading
from nmt_frontier.search.engine import Batch
from papers.wnmt2018 import components_native
from papers.wnmt2018.documents import COMPONENTS, DIFFERENCES, ComponentsRow

Job = Callable[[], Any]


class DecodedFolder(NamedTuple):
    """How a model folder is decoded."""

    model: Path
    beam_size: int
    vocabulary_map: bool


class Variants:
    """The variants of one model, loaded; ``deaf`` and ``bare`` have no attention between decoder and encoder.

    stack: keeps their folders until it is closed. few: a map that allows FEW pieces only.
    """

    def __init__(self, model: Path, stack: contextlib.ExitStack, few: Path):
        def variant(operation: Callable[[ModelBin], ModelBin] | None = None, vmap: Path | None = None) -> Path:
            return stack.enter_context(altered_models.folder(model, operation, vmap))

        self.encoder = loaded(variant(altered_models.encoder), ctranslate2_loading.encoder)
        self.whole, self.few = loaded(variant()), loaded(variant(vmap=few))
        self.deaf, self.bare = loaded(variant(without_attention)), loaded(variant(without_attention, few))


def decode(
    translator: ctranslate2.Translator, batches: list[Batch], steps: int, beam_size: int, **options: Any
) -> None:
    for batch in batches:
        translator.translate_batch(batch, beam_size=beam_size, **exactly(steps), **options)


def encode(encoder: ctranslate2.Encoder, batches: list[Batch]) -> None:
    for batch in batches:
        encoder.forward_batch(batch)


def jobs(
    variants: Variants, way: DecodedFolder, batches: list[Batch], steps: int
) -> dict[tuple[DecodedFolder, str], Job]:
    """The readings that the components of a way are computed from, by way and name."""
    beam, mapped, partial = way.beam_size, way.vocabulary_map, functools.partial
    readings: dict[str, Job] = {
        "whole": partial(decode, variants.whole, batches, steps, beam, use_vmap=mapped),
        "encoder": partial(encode, variants.encoder, batches),
        "deaf": partial(decode, variants.deaf, batches, steps, beam, use_vmap=mapped),
        "few": partial(decode, variants.few, batches, steps, beam, use_vmap=True),
    }
    if beam > 1:
        repeated = [[sentence for sentence in batch for _ in range(beam)] for batch in batches]
        # Both return the same number of hypotheses, so that passing them to Python takes the same time.
        readings["bare"] = partial(decode, variants.bare, batches, steps, beam, use_vmap=True, num_hypotheses=beam)
        readings["rows"] = partial(decode, variants.bare, repeated, steps, 1, use_vmap=True)
        readings["rows' encoder"] = partial(encode, variants.encoder, repeated)
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


def row(way: DecodedFolder, usages: dict[str, list[Usage]], steps: int) -> ComponentsRow:
    """The share of each component in the whole, and the readings it was computed from."""
    description = loading.describe_for(way.model, CTranslate2)
    by_run = [
        (components({name: runs[number].cpu_seconds for name, runs in usages.items()}), whole.cpu_seconds)
        for number, whole in enumerate(usages["whole"])
    ]
    shares = {name: [seconds[name] / whole for seconds, whole in by_run] for name in COMPONENTS}
    made = {
        "engine": CTranslate2.name,
        "engine_label": CTranslate2.label,
        "engine_version": ctranslate2.__version__,
        "how": DIFFERENCES,
        "system": description.system,
        "shape": description.shape,
        "compute_type": description.quantization,
        "beam_size": way.beam_size,
        "vocabulary_map": way.vocabulary_map,
        "steps": steps,
        **in_process.seconds(usages["whole"], "cpu_seconds"),
        "others": in_process.others(itertools.chain(*usages.values())),
        "readings": {name: Spread.of(usage.cpu_seconds for usage in runs).middle for name, runs in usages.items()},
        "shares": {name: Spread.of(values).fields("share") for name, values in shares.items()},
    }
    return convert(made, ComponentsRow)


def length(translator: ctranslate2.Translator, batches: list[Batch]) -> int:
    """The mean number of pieces of the model's own translations, at least 2."""
    lengths = [len(result.hypotheses[0]) for batch in batches for result in translator.translate_batch(batch)]
    return max(round(sum(lengths) / len(lengths)), 2)


def measured(models: list[Path], beam_sizes: list[int], session: Session) -> list[ComponentsRow]:
    """A row for each model and beam, and for each beam of the last model with its map, all timed in turn."""
    first, last = models[0], models[-1]
    ways = [DecodedFolder(model, beam, False) for model in models for beam in beam_sizes]
    if loading.describe_for(last, CTranslate2).vocabulary_map:
        ways += [DecodedFolder(last, beam, True) for beam in beam_sizes]
    batches = in_process.in_batches(in_process.pieces(first, session), ONE_CORE)
    with contextlib.ExitStack() as stack:
        few = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "vmap.txt"
        write_few(read_json(first / "shared_vocabulary.json"), few)
        variants = {model: Variants(model, stack, few) for model in models}
        steps = length(variants[first].whole, batches)
        todo = {key: job for way in ways for key, job in jobs(variants[way.model], way, batches, steps).items()}
        usages = in_process.timed(todo, session, [session.core], "components")
    return [row(way, {name: runs for (other, name), runs in usages.items() if other == way}, steps) for way in ways]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=there, nargs="+", required=True, help="of one system, CTranslate2 or native")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 2, 5])
    in_process.options(parser)
    args = parser.parse_args()
    if 2 * max(args.beam_sizes) > FEW:
        raise UserError(f"--beam-sizes: at most {FEW // 2}, or the search would look at all of {FEW} candidates")

    session, shared = in_process.prepared(args)
    sentences = in_process.pieces(args.models[0], session)
    about = {"sentences": len(sentences), "batch_tokens": ONE_CORE}
    inferred = [model for model in args.models if loading.of(model) is CTranslate2]
    clocked = [model for model in args.models if model not in inferred]
    rows = measured(inferred, args.beam_sizes, session) if inferred else []
    if clocked:
        batches = in_process.in_batches(sentences, ONE_CORE)
        rows += components_native.rows(clocked, args.beam_sizes, batches, session)
    write_json(args.output, {**shared, **about, "rows": rows})


if __name__ == "__main__":
    command(main)
