"""Quality and CPU time over the width of the beam and the sentences of a batch (OpenNMT at WNMT 2018, Figure 3).

The paper counts batches in sentences, and so does this grid. Sentences are sorted by length inside a window, as always
here, and the model's vocabulary map is used where it has one. In CTranslate2 its candidates are those of all sentences
of a batch together; by that the paper explains that larger batches translate a little better. In the native engine each
sentence has its own. One core, one worker.

The same weights are also decoded in float32 without a map, greedily and with beam 4: the reference for lost BLEU.
"""

import argparse
import itertools
from dataclasses import replace
from pathlib import Path

from common import machine
from common.command_line import pick, positive
from common.errors import command
from decode import engines
from formats import measurement
from formats.comparison import BEAM
from formats.measurement import Measurement
from measure import protocol
from measure.bootstrap import TestSet
from measure.configuration import Conditions, Configuration

BEAMS = (1, 2, 3, 4, 5)
BATCHES = (1, 2, 3, 4, 5, 8, 16, 32, 64)  # the paper's end at 5
SAMPLES = 1  # of the bootstrap, whose result is not used


def grid(model: Path, beams: list[int], batches: list[int], core: int) -> list[Configuration]:
    """A configuration for each beam and each number of sentences in a batch."""
    mapped = engines.describe(model)["vocabulary_map"]
    return [
        Configuration(model, beam_size=beam, vocabulary_map=mapped, cores=(core,), batch_sentences=sentences)
        for beam, sentences in itertools.product(beams, batches)
    ]


def scored(record: Measurement, test_sets: dict[str, TestSet], folder: Path) -> Measurement:
    """The record with BLEU and chrF. folder: the one that the path of its translations starts from."""
    scores, _ = test_sets[record.test_set].score(folder / record.output)
    return replace(record, **scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder")
    parser.add_argument("--exact", type=Path, nargs="?", help="folder of the same weights in float32")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=BEAMS)
    parser.add_argument("--batch-sentences", type=positive, nargs="+", default=BATCHES)
    parser.add_argument("--core", type=int, default=machine.cores()[0], help="the only one to use")
    parser.add_argument("--target-language", required=True, help="sacreBLEU chooses its tokenizer by it")
    protocol.options(parser)
    args = parser.parse_args()

    todo = grid(args.model, args.beam_sizes, args.batch_sentences, args.core)
    searches = (1, BEAM) if args.exact else ()
    todo += [Configuration(args.exact, beam, cores=(args.core,), label=f"beam-{beam}") for beam in searches]
    records = protocol.measured(todo, pick(Conditions, args))
    test_sets = {name: TestSet(path, args.target_language, SAMPLES) for name, path in args.test_sets}
    measurement.write(args.output, (scored(record, test_sets, args.output.parent) for record in records))


if __name__ == "__main__":
    command(main)
