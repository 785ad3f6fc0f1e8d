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
from formats.measurement import RecordPlace
from measure import protocol
from measure.configuration import Configuration, ModelFolder
from nmt_frontier import machine
from nmt_frontier.errors import command
from nmt_frontier.limits import ONE_CORE
from nmt_frontier.search import native
from nmt_frontier.search.native import Native
from nmt_frontier.search.pipeline import MANY_CORES

NGRAM = 3  # no trigram twice, as in FastSeq
EVERYTHING = "everything"


def instruction_sets() -> list[str]:
    """Those of this CPU that are narrower than the engine's own choice, widest first."""
    sets: list[str] = native.library().available_sets()
    return sets[-2::-1]


def configurations(model: ModelFolder, others: list[ModelFolder], **common: Any) -> dict[RecordPlace, Configuration]:
    """All rows in groups, by what was changed; its value, or what sets the group apart, is the way.

    model: folder in 8 bits. others: in other types. common: fields of all.
    """
    cores = machine.cores()
    everything = Configuration(model, vocabulary_map=True, batch_tokens=ONE_CORE, cores=cores[:1], **common)
    beam = replace(everything, beam_size=comparison.BEAM)
    blocked = replace(beam, blocked_ngram=NGRAM)
    rows = {
        RecordPlace(row=EVERYTHING): everything,
        **without(everything, "map_per_sentence"),
        RecordPlace(row="vocabulary_map"): replace(everything, vocabulary_map=False),
        **without(everything, "sorting", "overlap", "packed", "remove_finished"),
        **{RecordPlace(row="isa", way=name): replace(everything, isa=name) for name in instruction_sets()},
        **{
            RecordPlace(row="compute_type", way=n.description.quantization): replace(everything, model=n)
            for n in others
        },
        RecordPlace(row=EVERYTHING, way="beam"): beam,
        **without(beam, "shared_cache"),
        RecordPlace(row="blocked_ngram"): blocked,
        **without(blocked, "parallel_scan"),
    }
    if len(cores) > 1:
        workers = replace(everything, cores=cores, workers=len(cores), batch_tokens=MANY_CORES, label="all-cores")
        rows[RecordPlace(row=EVERYTHING, way="workers")] = workers
        rows[RecordPlace(row=EVERYTHING, way="threads")] = replace(workers, workers=1, threads=len(cores))
    return rows


def without(all_on: Configuration, *switches: str) -> dict[RecordPlace, Configuration]:
    """A row for each switch, which is off."""
    return {RecordPlace(row=switch): all_on.but(without={switch}) for switch in switches}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    of_native = functools.partial(ModelFolder.read, engine=Native)
    parser.add_argument("--model", type=of_native, required=True, help="native folder in 8 bits, with a map")
    parser.add_argument("--others", type=of_native, nargs="*", default=[], help="the same weights in other types")
    protocol.speed_options(parser)
    args = parser.parse_args()

    rows = configurations(args.model, args.others, **protocol.text(args.model, args.sentences))
    measurement.write(args.output, protocol.placed(rows, args))


if __name__ == "__main__":
    command(main)
