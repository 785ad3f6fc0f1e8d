"""What rounding does to each layer: the error of its weights in fewer bits.

CTranslate2 rounds weights to 8 bits row by row with the scale s_i = 127 / max_j |W_ij| (Klein et al. 2020), and to 16
bits with one scale a matrix, 1024 / max |W|, so that products fit into 32 bits. The error of rounded weights W' is
||W - W'|| / ||W|| in Frobenius norms.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import read_json, write_json
from nmt_frontier.importers import ctranslate2_model


def restored(arrays: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    """A weight in float32, divided by its scale, if it has one: a scale for each row or one for all of it."""
    scale = arrays.get(f"{name}_scale")
    weight: NDArray[Any] = arrays[name].astype(np.float32)
    if scale is None:
        return weight
    divided: NDArray[Any] = weight / (scale.reshape(-1, *[1] * (weight.ndim - 1)) if scale.ndim else scale)
    return divided


def errors(exact: dict[str, NDArray[Any]], rounded: dict[str, NDArray[Any]]) -> dict[str, float]:
    """Relative error of each matrix by its name, and of all together as ``all``.

    Raises UserError for the weights of two models.
    """
    relative, difference, total = {}, 0.0, 0.0
    for name, weight in exact.items():
        if weight.ndim < 2:
            continue
        if name not in rounded or rounded[name].shape != weight.shape:
            raise UserError(
                f"the weights {name} are not the same in both models; convert one checkpoint into all types"
            )
        parts = (weight - restored(rounded, name), weight)
        lost, norm = (float(np.square(part, dtype=np.float64).sum()) for part in parts)
        relative[name] = (lost / norm) ** 0.5 if norm else 0.0
        difference, total = difference + lost, total + norm
    return {**relative, "all": (difference / total) ** 0.5}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exact", type=there, required=True, help="folder of export.convert, float32")
    parser.add_argument("--rounded", type=there, nargs="+", required=True, help="folders named after their types")
    parser.add_argument("--elsewhere", type=there, help="JSON of measure.int8_other_cpus")
    parser.add_argument("--system", required=True)
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()

    exact = ctranslate2_model.arrays(args.exact)
    table = {folder.name: errors(exact, ctranslate2_model.arrays(folder)) for folder in args.rounded}
    elsewhere = read_json(args.elsewhere) if args.elsewhere else []
    write_json(args.output, {"system": args.system, "errors": table, "elsewhere": elsewhere})


if __name__ == "__main__":
    command(main)
