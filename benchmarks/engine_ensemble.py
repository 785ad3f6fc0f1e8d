"""Ensembles of the native engine: BLEU of the first two, three and so on of some models, of each alone, and their time.

All translate the test set in turn, in this process, on one core. A ratio divides the CPU time of an ensemble by that of
the first model, run by run; the table has the medians. p-values are paired bootstraps, against each model and against
the mean of their BLEU. The models have one vocabulary.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from formats import records
from measure.bootstrap import TestSet, p_value
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json, write_text
from nmt_frontier.translator import Translator

SAMPLES = 1000  # of the bootstrap


def measured(
    models: list[Path], search: dict[str, Any], path: Path, runs: int, folder: Path
) -> list[dict[str, object]]:
    """BLEU, p-values and the ratio of times for every number of models, with the same search."""
    sources, test_set = [source for source, _ in records.pairs(path)], TestSet(path, "", SAMPLES)

    def translator(own: Sequence[Path]) -> Translator:
        alike: dict[str, Any] = {"workers": 1, "checksums": False, "end_loops": False, "copying": False}
        return Translator(own[0], others=own[1:], **alike, **search)

    def output(name: str, translator: Translator) -> Path:
        write_text(folder / name, "".join(f"{line}\n" for line in translator.translate(sources)))
        return folder / name

    translators = [translator(models[:count]) for count in range(1, len(models) + 1)]
    alone = [output(f"alone-{number}", translator([model])) for number, model in enumerate(models)]
    together = [output(f"together-{number}", each) for number, each in enumerate(translators)]
    seconds: list[list[float]] = [[] for _ in translators]
    for _ in range(runs):
        for each, spent in zip(translators, seconds, strict=True):
            before = time.process_time()
            for _ in each.translate(sources):
                pass
            spent.append(time.process_time() - before)
    return [
        {
            "models": number,
            **search,
            "type": translators[0].description.quantization,
            "bleu": test_set.score(found)[0]["bleu"],
            "bleu_alone": [test_set.score(one)[0]["bleu"] for one in alone[:number]],
            "p_alone": [test_set.difference(found, one)[1] for one in alone[:number]],
            **over_mean(test_set, found, alone[:number]),
            "seconds": statistics.median(spent),
            "times": statistics.median(own / first for own, first in zip(spent, seconds[0], strict=True)),
        }
        for number, (found, spent) in enumerate(zip(together, seconds, strict=True), 1)
    ]


def over_mean(test_set: TestSet, together: Path, alone: list[Path]) -> dict[str, float]:
    """BLEU above the mean of the models' own, and its p-value: the mean of each resample is that of its scores."""
    quality, resamples = test_set.score(together)
    scores, others = zip(*map(test_set.score, alone), strict=True)
    gain = quality["bleu"] - statistics.fmean(score["bleu"] for score in scores)
    return {"over_mean": gain, "p_mean": p_value(resamples, sum(others) / len(others), gain)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=there, nargs="+", required=True, help="model folders of one type")
    parser.add_argument("--beam-sizes", type=positive, nargs="+", default=[1, 4])
    parser.add_argument(
        "--no-vocabulary-map", dest="vocabulary_map", action="store_false", help="as teachers translate"
    )
    parser.add_argument("--runs", type=positive, default=5)
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)))
    parser.add_argument("--test-set", type=there, required=True, help="records of sources and references")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()

    os.sched_setaffinity(0, {args.core})
    with tempfile.TemporaryDirectory() as folder:
        searches = ({"beam_size": beam, "vocabulary_map": args.vocabulary_map} for beam in args.beam_sizes)
        measure = partial(measured, path=args.test_set, runs=args.runs, folder=Path(folder))
        rows = [row for search in searches for row in measure(args.models, search)]
    write_json(args.output, rows)
    for row in rows:
        print("| " + " | ".join(map(shown, row.values())))


def shown(value: object) -> str:
    """A value of a row, as text."""
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    command(main)
