"""Quality and CPU time over the width of the beam and the sentences of a batch (OpenNMT at WNMT 2018, Figure 3).

The batches of that paper are counted in sentences, so here they are, too; sorted by length inside a window as
everywhere here, with the vocabulary map where the model has one: its candidates are those of all sentences of a batch
together, by which the paper explains that larger batches translate a little better. One core, one worker.

The same weights are decoded in float32 without a map, beam 4, too: what the grid loses in BLEU is told against them.
"""

import argparse
import itertools
import os
from pathlib import Path

from decode import engines, runs
from decode.measurements import BEAM
from decode.runs import Configuration
from decode.score import TestSet
from decode.translate import positive
from formats.errors import command
from formats.files import write_json

BEAMS = (1, 2, 3, 4, 5)
BATCHES = (1, 2, 4, 8, 16, 32, 64)
SAMPLES = 1  # of a bootstrap that nobody asks


def grid(model: Path, beams: list[int], batches: list[int], core: int) -> list[Configuration]:
    mapped = engines.describe(model)["vocabulary_map"]
    return [
        Configuration(model, beam_size=beam, vocabulary_map=mapped, cores=(core,), batch_sentences=sentences)
        for beam, sentences in itertools.product(beams, batches)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder")
    parser.add_argument("--exact", type=Path, nargs="?", help="of the same weights in float32")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=BEAMS)
    parser.add_argument("--batch-sentences", type=positive, nargs="+", default=BATCHES)
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)), help="the only one to use")
    parser.add_argument("--target-language", required=True, help="sacreBLEU chooses its tokenizer by it")
    runs.options(parser)
    args = parser.parse_args()

    todo = grid(args.model, args.beam_sizes, args.batch_sentences, args.core)
    searches = (1, BEAM) if args.exact else ()
    todo += [Configuration(args.exact, beam, cores=(args.core,), label=f"beam-{beam}") for beam in searches]
    records = runs.measured(todo, args)
    scored = {name: TestSet(path, args.target_language, SAMPLES) for name, path in args.test_sets}
    for record in records:
        found, _ = scored[record["test_set"]].score(args.output.parent / record["output"])
        record.update(found)
    write_json(args.output, records)


if __name__ == "__main__":
    command(main)
