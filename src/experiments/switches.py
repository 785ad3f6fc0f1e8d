"""Ablations of the native engine: everything on, and everything with one switch off at a time.

*Everything* is 8 bits, the map of each sentence, sorted batches, overlapping stages, the widest instructions, and on
all cores a worker each. Rows are compared with *everything* of their group, run by run:

    greedy, one core    vocabulary map of the batch, or none; unsorted batches; no overlap; weights packed for every
                        product; finished sentences kept; each narrower instruction set of this CPU; other types
    beam 4, one core    the encoder's keys and values copied to every beam; trigrams blocked with SIMD, or one position
                        at a time
    greedy, all cores   threads that share a batch, instead of workers with a batch each
"""

import argparse
import functools
from dataclasses import replace
from typing import Any

from findings import comparison
from formats import measurement
from measure import protocol
from measure.configuration import Configuration, ModelFolder
from nmt_frontier import machine
from nmt_frontier.errors import command
from nmt_frontier.limits import ONE_CORE
from nmt_frontier.search import native
from nmt_frontier.search.native import Native
from nmt_frontier.search.pipeline import MANY_CORES

NGRAM = 3  # no trigram twice, as in FastSeq
BLOCKED = "no trigram twice"
EVERYTHING = "everything"


def instruction_sets() -> list[str]:
    """Those of this CPU that are narrower than the engine's own choice, widest first."""
    sets: list[str] = native.library().available_sets()
    return sets[-2::-1]


def configurations(model: ModelFolder, others: list[ModelFolder], **common: Any) -> dict[str, Configuration]:
    """All rows by name, in groups. model: folder in 8 bits. others: in other types. common: fields of all."""
    cores = machine.cores()
    everything = Configuration(model, vocabulary_map=True, batch_tokens=ONE_CORE, cores=cores[:1], **common)
    beam = replace(everything, beam_size=comparison.BEAM)
    blocked = replace(beam, blocked_ngram=NGRAM)
    rows = {
        EVERYTHING: everything,
        "map of the batch": everything.but(without={"map_per_sentence"}),
        "no map": replace(everything, vocabulary_map=False),
        "unsorted batches": everything.but(without={"sorting"}),
        "no overlapping stages": everything.but(without={"overlap"}),
        "weights packed for every product": everything.but(without={"packed"}),
        "finished sentences kept": everything.but(without={"remove_finished"}),
        **{f"held to {name}": replace(everything, isa=name) for name in instruction_sets()},
        **{other.description.quantization: replace(everything, model=other) for other in others},
        f"{EVERYTHING}, beam {comparison.BEAM}": beam,
        "copies of the encoder's cache": beam.but(without={"shared_cache"}),
        f"{BLOCKED}, with vectors": blocked,
        f"{BLOCKED}, place by place": blocked.but(without={"parallel_scan"}),
    }
    if len(cores) > 1:
        workers = replace(everything, cores=cores, workers=len(cores), batch_tokens=MANY_CORES, label="all-cores")
        rows[f"{EVERYTHING}, {len(cores)} workers on {len(cores)} cores"] = workers
        rows[f"{len(cores)} threads in place of workers"] = replace(workers, workers=1, threads=len(cores))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    of_native = functools.partial(ModelFolder.read, engine=Native)
    parser.add_argument("--model", type=of_native, required=True, help="native folder in 8 bits, with a map")
    parser.add_argument("--others", type=of_native, nargs="*", default=[], help="the same weights in other types")
    protocol.speed_options(parser)
    args = parser.parse_args()

    named = configurations(args.model, args.others, **protocol.text(args.model, args.sentences))
    measurement.write(args.output, protocol.rungs(named, args))


if __name__ == "__main__":
    command(main)
