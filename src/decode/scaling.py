"""Figure 2 of WNGT 2020: more workers over the file against more threads inside the batch, in time and memory.

With n cores, n workers decode a batch each on one thread, or one worker decodes each batch on n threads; the weights
are there once in both cases, and batches are of the same size. n doubles from one core to all of them.
"""

import argparse
from pathlib import Path
from typing import Any

from decode import engines, machine, runs
from decode.measurements import of_test_set
from decode.runs import Configuration
from decode.translate import MANY_CORES
from formats.errors import command
from formats.files import write_json


def counts(cores: int) -> list[int]:
    """Numbers of cores to try."""
    return sorted({min(2**power, cores) for power in range(cores.bit_length() + 1)})


def configurations(model: Path, **common: Any) -> list[Configuration]:
    """On one core both ways are the same. common: what all configurations have."""
    cores, vocabulary_map = machine.cores(), engines.describe(model)["vocabulary_map"]
    found = []
    for count in counts(len(cores)):
        shared = {**common, "batch_tokens": MANY_CORES, "cores": cores[:count], "isa": machine.widest()}
        found += [
            Configuration(model, vocabulary_map=vocabulary_map, label=f"{count}-{way}", **{way: count}, **shared)
            for way in (("workers", "threads") if count > 1 else ("workers",))
        ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder of CTranslate2")
    runs.speed_options(parser)
    args = parser.parse_args()

    todo = configurations(args.model, **runs.forced(args.model, args))
    write_json(args.output, of_test_set(runs.measured(todo, args), args.test_sets[0][0]))


if __name__ == "__main__":
    command(main)
