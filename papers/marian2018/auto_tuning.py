"""The faster type of every matrix product of a model, as Marian's auto-tuner chose it (row 5 of Table 2).

The paper times its products in float32 and in 16 bits for every shape and keeps the faster one. Here both are the
native engine's, with the tile that is fastest for the shape, of as many rows as a step of decoding has: one, where
sentences are alone, and 16, as in batches of 384 tokens. Where 16 bits are faster for all, row 5 decodes as row 4.
"""

import argparse
from pathlib import Path
from typing import Any

from formats import experiments
from measure import protocol, tune
from nmt_frontier import machine
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import write_json

ROWS = (1, 16)
TYPES = ("float32", "int16")


def measured(folder: Path) -> list[dict[str, Any]]:
    """A row for each shape and number of rows, with the speeds of both types in GFLOP/s."""
    return [row(*shape, count) for shape in tune.shapes(folder) for count in ROWS]


def row(inputs: int, outputs: int, count: int) -> dict[str, Any]:
    speeds = {kind: max(tune.tiles(inputs, outputs, kind, count).values()) for kind in TYPES}
    faster = round(speeds["int16"] / speeds["float32"], 2)
    return {"inputs": inputs, "outputs": outputs, "rows": count, "gflops": speeds, "int16_times_faster": faster}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, required=True, help="model folder of the native engine")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()
    machine.pin(machine.cores()[:1])
    found = {"model": args.model.parent.name, "commit": protocol.commit(), **experiments.here()}
    write_json(args.output, found | {"products": measured(args.model)})


if __name__ == "__main__":
    command(main)
