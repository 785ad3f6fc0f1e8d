"""Ensembles of the native engine: BLEU of the first model and of the first two, three and so on, and their time.

All translate the test set in turn, in this process, on one core. A ratio divides the CPU time of an ensemble by that of
the first model, run by run; the table has the medians. The models have one vocabulary.
"""

import argparse
import os
import statistics
import time
from pathlib import Path

import sacrebleu

from common.command_line import positive, there
from common.errors import command
from common.files import write_json
from decode.translator import Translator
from formats import records


def measured(models: list[Path], beam_size: int, pairs: list[records.Record], runs: int) -> list[dict[str, object]]:
    """BLEU and the ratio of times for every number of models, with the same beam."""
    sources, references = zip(*pairs, strict=True)
    options = {"beam_size": beam_size, "workers": 1, "checksums": False}
    translators = [Translator(models[0], others=models[1:count], **options) for count in range(1, len(models) + 1)]
    outputs = [[*translator.translate(sources)] for translator in translators]
    seconds: list[list[float]] = [[] for _ in translators]
    for _ in range(runs):
        for translator, spent in zip(translators, seconds, strict=True):
            before = time.process_time()
            for _ in translator.translate(sources):
                pass
            spent.append(time.process_time() - before)
    return [
        {
            "models": number,
            "beam_size": beam_size,
            "type": translators[0].description.quantization,
            "bleu": sacrebleu.corpus_bleu(output, [references]).score,
            "seconds": statistics.median(spent),
            "times": statistics.median(own / first for own, first in zip(spent, seconds[0], strict=True)),
        }
        for number, (output, spent) in enumerate(zip(outputs, seconds, strict=True), 1)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=there, nargs="+", required=True, help="model folders of one type")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 4])
    parser.add_argument("--runs", type=positive, default=5)
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)))
    parser.add_argument("--test-set", type=there, required=True, help="records of sources and references")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()

    os.sched_setaffinity(0, {args.core})
    pairs = [*records.read(args.test_set)]
    rows = [row for beam in args.beam_sizes for row in measured(args.models, beam, pairs, args.runs)]
    write_json(args.output, rows)
    for row in rows:
        print("| " + " | ".join(f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values()))


if __name__ == "__main__":
    command(main)
