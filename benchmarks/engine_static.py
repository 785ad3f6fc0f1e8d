"""What fixed scales of activations are worth in the native engine (measure.calibrate): speed and BLEU.

The folder as it is, in which every row has its own scale, is decoded in turn with copies whose scales are fixed: by the
largest row of a dev set, or by the mean of its rows and some standard deviations. Speeds are ratios of target tokens
per CPU second on one core, run by run; above 1 the fixed scales are faster. Decoding is greedy with the folder's map.
"""

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sacrebleu

from common.command_line import pick
from common.errors import command
from common.files import write_json
from decode import engines
from decode.engines import Batch, Search
from decode.tokenizer import Tokenizer
from engine import SIZES, cut
from formats import records
from formats.spread import Spread
from measure import calibrate, in_process
from measure.in_process import Conditions

DYNAMIC = "each row's own"
BERGAMOT = 1.1  # standard deviations


def calibrated(model: Path, dev: Path, scratch: Path) -> dict[str, Path]:
    """The folder, and its copies with fixed scales."""
    found = calibrate.input_scales(model, [record[0] for record in records.read(dev)])
    fixed = {
        "fixed, the largest": {name: seen.largest for name, seen in found.items()},
        f"fixed, mean + {BERGAMOT} deviations": {
            name: seen.mean + BERGAMOT * seen.deviation for name, seen in found.items()
        },
    }
    folders = {DYNAMIC: model}
    for number, (name, scales) in enumerate(fixed.items()):
        folders[name] = scratch / f"{model.parent.name}-{model.name}-{number}"
        calibrate.write(model, scales, {"text": records.name(dev)}, folders[name])
    return folders


def compared(model: Path, dev: Path, scratch: Path, conditions: Conditions) -> list[dict[str, Any]]:
    """The records of one folder: one for each kind of scales and size of batch."""
    folders = calibrated(model, dev, scratch)
    mapped = engines.describe(model)["vocabulary_map"]
    loaded = {name: engines.load(folder, Search(vocabulary_map=mapped)) for name, folder in folders.items()}
    sentences = in_process.pieces(model, conditions)
    tokenizer = Tokenizer(model)
    references = [record[1] for record in records.read(conditions.test_set)]
    bleu, found = sacrebleu.BLEU(), []
    for size in SIZES:
        cuts = cut(sentences, size)
        outputs: dict[str, list[Batch]] = {}

        def way(name: str, cuts: list[Batch] = cuts, outputs: dict[str, list[Batch]] = outputs) -> Callable[[], None]:
            def call() -> None:
                outputs[name] = [loaded[name].translate(batch) for batch in cuts]

            return call

        what = f"{model.parent.name} {model.name} {size}"
        usages = in_process.timed({name: way(name) for name in loaded}, conditions, [conditions.core], what)
        tokens = {name: sum(len(s) for batch in found for s in batch) for name, found in outputs.items()}
        rates = {name: [tokens[name] / usage.cpu_seconds for usage in used] for name, used in usages.items()}
        for name in folders:
            ratio = Spread.of(a / b for a, b in zip(rates[name], rates[DYNAMIC], strict=True))
            found.append(
                {"model": model.parent.name, "compute_type": engines.describe(model)["quantization"], "scales": name,
                 "batch": size, **ratio.fields("ratio"), "tokens_per_cpu_second": Spread.of(rates[name]).middle,
                 "others": in_process.others([usage for used in usages.values() for usage in used])}
            )  # fmt: skip
    for name, engine in loaded.items():
        lines = [tokenizer.decode(engine.translate([pieces])[0]) for pieces in sentences]
        score = bleu.corpus_score(lines, [references]).score
        for row in found:
            if row["scales"] == name:
                row |= {"bleu": score, "signature": str(bleu.get_signature())}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--models", type=Path, nargs="+", required=True, help="model folders, native-int8 or native-int16"
    )
    parser.add_argument("--dev-set", type=Path, required=True, help="records whose sources fix the scales")
    in_process.options(parser)
    args = parser.parse_args()
    conditions = pick(Conditions, args)
    os.sched_setaffinity(0, [conditions.core])
    with tempfile.TemporaryDirectory() as scratch:
        rows = [row for model in args.models for row in compared(model, args.dev_set, Path(scratch), conditions)]
    write_json(args.output, [row | in_process.shared_fields(conditions) for row in rows])


if __name__ == "__main__":
    command(main)
