"""Table 6 of WNGT 2020: the toolkit with a beam of 4 against the optimised configuration, from text to text.

Each system four times, on one core and on all of them: OpenNMT-tf, with its batches sorted and with as many threads
as it has cores, and CTranslate2 in 8 bits with the vocabulary map, greedy, with its best settings. These are the
ones that were found for this machine (``python -m decode.translate --tune``), else the paper's batches and the widest
instructions, which OpenNMT-tf takes by itself. The rows of one core and of all are held against OpenNMT-tf, not
against each other: their batches differ (decode.scaling compares workers).

What a trained system loses in BLEU is told against the best of its searches in float32: OpenNMT-tf's, and
CTranslate2's, greedy and with a beam of 4, which are decoded on one core.
"""

import argparse
from pathlib import Path
from typing import Any

from decode import machine, runs, tune
from decode.measurements import BEAM, of_test_set
from decode.runs import Configuration
from decode.translate import MANY_CORES, ONE_CORE
from formats.errors import UserError, command
from formats.files import write_json


def configurations(baseline: Path, rounded: Path, label: str, **common: Any) -> list[Configuration]:
    """One system, from its folders of OpenNMT-tf and of CTranslate2 in 8 bits. common: what all configurations have."""
    settings = {"batch_tokens": MANY_CORES, **tune.known(rounded)}
    everywhere = machine.cores()
    found = []
    for cores in dict.fromkeys((everywhere[:1], everywhere)):
        batch_tokens = settings["batch_tokens"] if len(cores) > 1 else ONE_CORE
        shared = {**common, "cores": cores, "label": f"{label}.{len(cores)}-cores"}
        toolkit = Configuration(baseline, BEAM, baseline=True, batch_tokens=ONE_CORE, **shared)
        best = Configuration(
            rounded,
            vocabulary_map=True,
            batch_tokens=batch_tokens,
            workers=len(cores),
            **shared,
        )
        found += [toolkit, best]
    return found


def searches(exact: Path, label: str) -> list[Configuration]:
    """Searches of the same weights that a system may lose BLEU against."""
    common = {"batch_tokens": ONE_CORE, "cores": machine.cores()[:1]}
    return [Configuration(exact, beam, **common, label=f"{label}.beam-{beam}") for beam in (1, BEAM)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baselines", type=Path, nargs="+", required=True, help="model folders of OpenNMT-tf")
    parser.add_argument("--rounded", type=Path, nargs="+", required=True, help="of CTranslate2 in 8 bits, same order")
    parser.add_argument("--exact", type=Path, nargs="*", default=[], help="of CTranslate2 in float32, if trained")
    runs.speed_options(parser)
    args = parser.parse_args()

    if len(args.baselines) != len(args.rounded):
        raise UserError(f"{len(args.baselines)} --baselines and {len(args.rounded)} --rounded; a system needs both")
    todo = []
    for baseline, rounded in zip(args.baselines, args.rounded, strict=True):
        todo += configurations(baseline, rounded, rounded.parent.name, **runs.text(rounded, args))
    todo += [search for exact in args.exact for search in searches(exact, exact.parent.name)]
    write_json(args.output, of_test_set(runs.measured(todo, args), args.test_sets[0][0]))


if __name__ == "__main__":
    command(main)
