"""Whether one layer's products in 8 bits are exact: what CTranslate2's libraries compute, against exact arithmetic.

It calls the function with which all of CTranslate2's layers multiply, as they call it: activations shifted to 0..255,
weights in -127..127, and the shift subtracted again. Each row is a process of its own, whose environment selects the
library and limits its instructions, like an older CPU. Three products: of the largest values; of normally distributed
ones, rounded as CTranslate2 rounds; and, if there are models, of the first one's widest weights with such activations.
With a test set, the rows in SCORED also have the BLEU of the models, greedy, without a map, and the file has that of
the same weights in float32. Nothing is timed, so other programs may run meanwhile.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU

from formats import ctranslate2_products as products
from formats import records
from measure.int8_other_cpus import translation
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from nmt_frontier.importers import ctranslate2_model
from nmt_frontier.machine import describe

# ctranslate2::primitives<Device::CPU>::gemm<int8_t, int32_t>, as the wheels for Linux export it
GEMM = "_ZN11ctranslate210primitivesILNS_6DeviceE0EE4gemmIaiEEvbbbblllfPKT_lS6_lfPT0_lPKS7_"
ONEDNN = {"CT2_USE_MKL": "0"}
ONEMKL = {"CT2_USE_MKL": "1"}
ROWS = [  # variables of the environment
    {},
    ONEMKL,
    *(ONEMKL | {"MKL_ENABLE_INSTRUCTIONS": isa} for isa in ("AVX512", "AVX2", "SSE4_2")),
    ONEMKL | {"MKL_CBWR": "COMPATIBLE"},
    ONEDNN,
    *(ONEDNN | {"ONEDNN_MAX_CPU_ISA": isa} for isa in ("AVX512_CORE_VNNI", "AVX512_CORE", "AVX2", "SSE41")),
    ONEDNN | {"CT2_FORCE_CPU_ISA": "AVX2"},
]
SCORED = ({}, ONEDNN | {"ONEDNN_MAX_CPU_ISA": "AVX2"}, ONEMKL | {"MKL_CBWR": "COMPATIBLE"})


def product(activations: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """int32 [m, n] from int8 [m, k] and int8 [n, k], by CTranslate2. Raises UserError if it does not export this."""
    import ctranslate2

    found = sorted(Path(ctranslate2.__file__).parents[1].glob("ctranslate2.libs/libctranslate2*"))
    try:
        gemm = getattr(ctypes.CDLL(str(found[0])), GEMM)
    except (IndexError, OSError, AttributeError):
        raise UserError("this CTranslate2 does not export its products; take the wheel for Linux on x86-64") from None
    size, number = ctypes.c_int64, ctypes.c_float
    left, right, sums = (np.ctypeslib.ndpointer(kind, flags="C") for kind in (np.uint8, np.int8, np.int32))
    gemm.argtypes = [*[ctypes.c_bool] * 4, *[size] * 3, number, left, size, right, size, number, sums, size, sums]
    gemm.restype = None
    (m, k), n = activations.shape, len(matrix)
    shifted = (activations.astype(np.int16) + 128).astype(np.uint8)
    shift = (-128 * matrix.sum(axis=1, dtype=np.int64)).astype(np.int32)
    out = np.zeros((m, n), np.int32)
    matrix = np.ascontiguousarray(matrix)
    # neither is packed, the second one is transposed; alpha is 1, beta 0
    gemm(False, False, False, True, m, n, k, 1, shifted, k, matrix, k, 0, out, n, shift)
    return out


def rounded(values: np.ndarray) -> np.ndarray:
    """int8, with a scale for each row."""
    return np.rint(127 * values / np.abs(values).max(axis=1, keepdims=True)).astype(np.int8)


def matrices(model: Path | None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Activations and weights, int8."""
    generator = np.random.default_rng(1)
    normal = rounded(generator.normal(size=(64, 512)))
    found = {
        "largest": (np.full((8, 64), 127, np.int8), np.full((8, 64), 127, np.int8)),
        "normal": (normal, rounded(generator.normal(size=(512, 512)))),
    }
    if model:
        integers = [
            array for array in ctranslate2_model.arrays(model).values() if array.dtype == np.int8 and array.ndim == 2
        ]
        widest = max(integers, key=lambda array: np.abs(array).mean())
        found["model"] = (rounded(generator.normal(size=(64, widest.shape[1]))), widest)
    return found


def errors(model: Path | None) -> dict[str, dict[str, float]]:
    """The share of wrong numbers of each product, and its error in per cent of the norm."""
    found = {}
    for name, (activations, matrix) in matrices(model).items():
        exact = activations.astype(np.int64) @ matrix.astype(np.int64).T
        difference = product(activations, matrix) - exact
        found[name] = {
            "wrong": round(float((difference != 0).mean()), 4),
            "error_per_cent": round(float(100 * np.linalg.norm(difference) / np.linalg.norm(exact)), 3),
        }
    return found


def scored(models: list[Path], test_set: Path | None, settings: dict[str, str]) -> dict[str, float]:
    """BLEU of each model, by its system."""
    if not test_set:
        return {}
    sources, references = zip(*((row[0], row[1]) for row in records.read(test_set)), strict=True)
    outputs = {model.parent.name: translation(model, list(sources), settings) for model in models}
    return {name: round(BLEU().corpus_score(lines, [references]).score, 2) for name, lines in outputs.items()}


def row(settings: dict[str, str], model: Path | None) -> dict[str, Any]:
    """The errors in this environment, and what ``ctranslate2_products`` predicts for it, in the field ``said``."""
    kept = {
        name: value for name, value in os.environ.items() if name not in {*products.settings(), "CT2_FORCE_CPU_ISA"}
    }
    call = [sys.executable, __file__, "--row", *(["--models", str(model)] if model else [])]
    done = subprocess.run(call, env=kept | settings, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise UserError(f"{settings}: failed with status {done.returncode}; see above")
    return {"environment": settings, **json.loads(done.stdout)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, nargs="+", default=[], help="folders SYSTEM/int8, with float32 beside")
    parser.add_argument("--test-set", type=Path, help="records, to have the BLEU of the models")
    parser.add_argument("--row", action="store_true", help="only this environment, to standard output")
    parser.add_argument("--output", type=Path, help="JSON to write")
    args = parser.parse_args()

    first = next(iter(args.models), None)
    if args.row:
        print(
            json.dumps(
                {
                    "library": products.described(),
                    "said": products.int8_saturates(),
                    "products": errors(first),
                }
            )
        )
        return
    if not args.output:
        parser.error("give --output")
    rows = [row(settings, first) for settings in ROWS]
    for made in rows:
        if made["environment"] in SCORED:
            made["bleu"] = scored(args.models, args.test_set, made["environment"])
    exact = scored([model.with_name("float32") for model in args.models], args.test_set, {})
    given = ["--models", *args.models] if args.models else []
    given += ["--test-set", args.test_set] if args.test_set else []
    words = " ".join(map(str, ["python benchmarks/saturation.py", *given, "--output", args.output]))
    result = {"command": words, **describe(), "ctranslate2": metadata.version("ctranslate2")}
    write_json(args.output, result | {"float32_bleu": exact, "rows": rows})


if __name__ == "__main__":
    command(main)
