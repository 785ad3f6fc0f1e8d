"""What rounding does to each layer: the error of its weights in fewer bits, and what the whole model loses in BLEU.

CTranslate2 rounds weights to 8 bits row by row, s_i = 127 / max_j |W_ij| (Klein et al. 2020), and to 16 bits with one
scale a matrix, 1024 / max |W|, so that products fit into 32 bits. The error is ||W - W'|| / ||W|| in Frobenius norms.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from export import weights
from formats.errors import UserError, command
from formats.files import read_json, write_json, write_text

NOTE = """Relative error of the weights, per cent of their norm; BLEU on {test_set}, greedy, without a map. "computes
in" is the type that the engine really used, "products" says whether its matrix products are exact: without VNNI
instructions those of 8 bits are cut off where their sums do not fit into 16 bits (`src/formats/cpu.py`).
"""
NONE = "–"


def restored(arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    """A weight in float32: divided by its scale if it has one, of each row or of all of it."""
    scale = arrays.get(f"{name}_scale")
    weight = arrays[name].astype(np.float32)
    if scale is None:
        return weight
    return weight / (scale.reshape(-1, *[1] * (weight.ndim - 1)) if scale.ndim else scale)


def errors(exact: dict[str, np.ndarray], rounded: dict[str, np.ndarray]) -> dict[str, float]:
    """Error of each matrix and of all of them together, as ``all``. Raises UserError for another model's weights."""
    found, difference, total = {}, 0.0, 0.0
    for name, weight in exact.items():
        if weight.ndim < 2:
            continue
        if name not in rounded or rounded[name].shape != weight.shape:
            raise UserError(
                f"the weights {name} are not the same in both models; convert one checkpoint into all types"
            )
        squares = [
            float(np.square(part, dtype=np.float64).sum()) for part in (weight - restored(rounded, name), weight)
        ]
        found[name] = (squares[0] / squares[1]) ** 0.5 if squares[1] else 0.0
        difference, total = difference + squares[0], total + squares[1]
    return {**found, "all": (difference / total) ** 0.5}


def quality(measurements: list[dict[str, Any]], system: str) -> list[dict[str, Any]]:
    """The greedy records of a system in CTranslate2 without a map, on the first test set."""
    asked = {"system": system, "engine": "ctranslate2", "beam_size": 1, "vocabulary_map": False}
    found = [record for record in measurements if asked.items() <= record.items()]
    return [record for record in found if record["test_set"] == found[0]["test_set"]]


def products(record: dict[str, Any]) -> str:
    """Nothing for a record from before it was known."""
    return {True: "saturate", False: "exact"}.get(record.get("int8_saturates"), NONE)


def scores(records: list[dict[str, Any]], elsewhere: list[dict[str, Any]]) -> str:
    """BLEU of every type on this CPU, and of int8 as others compute it, which was not timed."""
    rows = [
        [
            record["compute_type"], record["effective_compute_type"], f"{record['cpu']} ({record['isa']})",
            record.get("library") or NONE, products(record), f"{record['bleu']:.2f}", f"{record['model_bytes']:,}",
            f"{record['source_words_per_second']:,.0f}",
        ]
        for record in records
    ]  # fmt: skip
    for other in elsewhere:
        told = " ".join(f"{name}={value}" for name, value in other["environment"].items())
        kind = "as without VNNI" if other["int8_saturates"] else "as with VNNI"
        type_ = other["compute_type"]
        rows.append([type_, type_, kind, f"`{told}`", products(other), f"{other['bleu']:.2f}", NONE, NONE])
    names = ["type", "computes in", "CPU", "library", "products", "BLEU", "bytes", "words/s"]
    return tabulate(rows, names, "pipe", disable_numparse=True)


def markdown(table: dict[str, dict[str, float]], records: list[dict[str, Any]], elsewhere: list[dict[str, Any]]) -> str:
    names = next(iter(table.values()))
    rows = [[name, *(f"{100 * found[name]:.3f}" for found in table.values())] for name in names]
    layers = tabulate(rows, ["weights", *(f"{type}, %" for type in table)], "pipe", disable_numparse=True)
    if not records:
        return f"# Quantization\n\n{NOTE.split(';')[0]}.\n\n{layers}\n"
    return f"# Quantization\n\n{NOTE.format(**records[0])}\n{scores(records, elsewhere)}\n\n{layers}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exact", type=Path, required=True, help="folder of export.convert, float32")
    parser.add_argument("--rounded", type=Path, nargs="+", required=True, help="folders named after their types")
    parser.add_argument("--measurements", type=Path, help="measurements.json of the study")
    parser.add_argument("--elsewhere", type=Path, help="JSON of decode.elsewhere")
    parser.add_argument("--system", required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--markdown", type=Path, required=True)
    args = parser.parse_args()

    exact = weights.read(args.exact)
    table = {folder.name: errors(exact, weights.read(folder)) for folder in args.rounded}
    records = quality(read_json(args.measurements), args.system) if args.measurements else []
    elsewhere = read_json(args.elsewhere) if args.elsewhere else []
    write_json(args.json, {"system": args.system, "errors": table, "elsewhere": elsewhere})
    write_text(args.markdown, markdown(table, records, elsewhere))


if __name__ == "__main__":
    command(main)
