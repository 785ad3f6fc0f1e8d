"""What --protect and --recase cost: CPU time without them divided by that with them, run by run, on one core.

The model's vocabulary has symbols. Lines of a test set are decoded as they are, and with an item of a drawn kind in a
tenth of them (measure.perturb); all ways decode in turn, in this process.
"""

import argparse
import os
import time
from pathlib import Path
from random import Random
from typing import Any

from formats import experiments, records
from formats.measurement import Spread
from measure.perturb import PERTURBATIONS
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json
from nmt_frontier.text.items import KINDS
from nmt_frontier.translator import Translator

SHARE = 0.1  # of the lines, that get an item
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "protect": {"protect": KINDS, "protect_missing": "append"},
    "protect, recase": {"protect": KINDS, "protect_missing": "append", "recase": True},
}


def with_items(pairs: list[tuple[str, str]], drawn: Random) -> list[str]:
    """The sources, a tenth of them with an item."""
    kinds = [PERTURBATIONS[kind] for kind in KINDS]
    return [drawn.choice(kinds)(*pair, drawn)[0] if drawn.random() < SHARE else pair[0] for pair in pairs]


def seconds(translator: Translator, lines: list[str]) -> float:
    before = time.process_time()
    for _ in translator.translate(lines):
        pass
    return time.process_time() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, required=True, help="folder of a model that learned symbols")
    parser.add_argument("--test-set", type=there, required=True, help="records")
    parser.add_argument("--runs", type=positive, default=21)
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)))
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()

    os.sched_setaffinity(0, {args.core})
    pairs = [*records.pairs(args.test_set)]
    texts = {"as it is": [pair[0] for pair in pairs], "a tenth with items": with_items(pairs, Random(1))}
    ways = {name: Translator(args.model, workers=1, **options) for name, options in WAYS.items()}
    rows = []
    for text, lines in texts.items():
        times = [
            {name: seconds(translator, lines) for name, translator in ways.items()} for _ in range(args.runs + 1)
        ]  # the first run warms up
        for name in list(WAYS)[1:]:
            ratio = Spread.of(run["plain"] / run[name] for run in times[1:]).fields("ratio")
            rows.append({"lines": text, "way": name, **ratio})
            print(rows[-1])
    write_json(args.output, {"runs": args.runs, "sentences": len(pairs), **experiments.here(), "rows": rows})


if __name__ == "__main__":
    command(main)
