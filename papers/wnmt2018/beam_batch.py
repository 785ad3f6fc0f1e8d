"""Quality and CPU time over the width of the beam and the sentences of a batch (OpenNMT at WNMT 2018, Figure 3).

As in the paper, batches are counted in sentences, which are sorted by length in a window. One core, one worker, with
the vocabulary map if the model has one: in CTranslate2 of a whole batch, which is the paper's reason why larger batches
translate a little better, in the native engine of each sentence.

The same weights are also decoded in float32 without a map, greedily and with beam 4: the reference for lost BLEU. An
untrained model has no BLEU, only CPU time.
"""

import argparse
import itertools
from dataclasses import replace
from typing import Any

from findings.comparison import BEAM
from formats import measurement
from formats.measurement import UNTRAINED, Measurement, Scores
from measure import protocol
from measure.bootstrap import TestSet
from measure.configuration import Benchmark, Configuration, ModelFolder
from nmt_frontier import machine
from nmt_frontier.command_line import pick, positive
from nmt_frontier.errors import command

BEAMS = (1, 2, 3, 4, 5)
BATCHES = (1, 2, 3, 4, 5, 8, 16, 32, 64)  # up to 5 in the paper
SAMPLES = 1  # of the bootstrap; no p-values are needed


def grid(model: ModelFolder, beams: list[int], batches: list[int], core: int, **common: Any) -> list[Configuration]:
    """A configuration for each beam and each number of sentences in a batch. common: fields of all."""
    common |= {"vocabulary_map": model.description.vocabulary_map, "cores": (core,)}
    return [
        Configuration(model, beam_size=beam, batch_sentences=sentences, **common)
        for beam, sentences in itertools.product(beams, batches)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=ModelFolder.read, required=True, help="model folder")
    parser.add_argument("--exact", type=ModelFolder.read, nargs="?", help="folder of the same weights in float32")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=BEAMS)
    parser.add_argument("--batch-sentences", type=positive, nargs="+", default=BATCHES)
    parser.add_argument("--core", type=int, default=machine.cores()[0])
    parser.add_argument("--target-language", required=True, help="sacreBLEU chooses its tokenizer by it")
    protocol.speed_options(parser)
    args = parser.parse_args()

    text = protocol.text(args.model, args.sentences)
    todo = grid(args.model, args.beam_sizes, args.batch_sentences, args.core, **text)
    searches = (1, BEAM) if args.exact else ()
    todo += [Configuration(args.exact, beam_size=beam, cores=(args.core,), label=f"beam-{beam}") for beam in searches]
    records = protocol.measured(todo, pick(Benchmark, args))
    test_sets = {name: TestSet(path, args.target_language, SAMPLES) for name, path in args.test_sets}

    def scored(record: Measurement) -> Measurement:
        quality, _ = test_sets[record.test_set].score(args.output.parent / record.decoding.output)
        return replace(record, scores=Scores(**quality))

    untrained = args.model.description.role == UNTRAINED
    measurement.write(args.output, records if untrained else map(scored, records))


if __name__ == "__main__":
    command(main)
