"""Figure 2 of WNGT 2020: more workers over the file against more threads inside the batch, in time and memory.

With n cores, n workers decode a batch each on one thread, or one worker decodes each batch on n threads; the weights
are there once in both cases. n doubles from one core to all of them. Each way is measured with batches of the same
sizes, on one core, too, and the best of each are compared: a size that is slow on one core would flatter the workers.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from decode import engines, machine, runs
from decode.ladder import BATCHES
from decode.measurements import fastest, of_test_set
from decode.runs import Configuration
from formats.errors import command
from formats.files import write_json


def counts(cores: int) -> list[int]:
    """Numbers of cores to try."""
    return sorted({min(2**power, cores) for power in range(cores.bit_length() + 1)})


def configurations(model: Path, **common: Any) -> list[dict[int, Configuration]]:
    """Each way by tokens of a batch; on one core both ways are the same. common: what all configurations have."""
    cores, vocabulary_map = machine.cores(), engines.describe(model)["vocabulary_map"]
    found = []
    for count in counts(len(cores)):
        shared = {**common, "cores": cores[:count], "vocabulary_map": vocabulary_map}
        for way in ("workers", "threads") if count > 1 else ("workers",):
            one = Configuration(model, **{way: count}, **shared)
            found.append({n: replace(one, batch_tokens=n, label=f"{count}-{way}.{n}-tokens") for n in BATCHES})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder of CTranslate2")
    runs.speed_options(parser)
    args = parser.parse_args()

    ways = configurations(args.model, **runs.text(args.model, args))
    todo = [configuration for sizes in ways for configuration in sizes.values()]
    records = dict(zip(todo, of_test_set(runs.measured(todo, args), args.test_sets[0][0]), strict=True))
    write_json(args.output, [fastest({n: records[one] for n, one in sizes.items()}) for sizes in ways])


if __name__ == "__main__":
    command(main)
