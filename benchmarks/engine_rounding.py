"""What 8-bit weights cost, product by product: BLEU with the rounded weights of some products, all else in float32.

Three bounds of rounding: the engine's own, under which the sums of two vpmaddubsw fit into 16 bits; that of one, which
would need an addition of 32 bits more on CPUs without VNNI; and none, which only VNNI multiplies exactly. Beside them
are int8, int16 and int4 as the engine computes them, with rounded inputs. Nothing is timed, so other programs may run
meanwhile.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from formats import experiments, records
from measure.bootstrap import TestSet
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_json, write_text
from nmt_frontier.importers import read_ctranslate2
from nmt_frontier.importers.float_model import FloatModel
from nmt_frontier.model import model_folder, native_quantization
from nmt_frontier.model.safetensors import Array
from nmt_frontier.progress import progress
from nmt_frontier.search.native import Native
from nmt_frontier.translator import Translator

EMBEDDINGS = "embeddings"
PARTS: dict[str, tuple[str, ...]] = {
    "all": ("queries", "memory", "output", "inner", "outer", EMBEDDINGS),
    "attention": ("queries", "memory", "output"),
    "feed-forward": ("inner", "outer"),
    EMBEDDINGS: (EMBEDDINGS,),
}
ENGINE, PAIRS, FREE = BOUNDS = ("engine", "pairs", "none")
HALF = "half"  # 4 bits, with a step for 32 inputs, as the engine has it for products
ALONE = ("attention", "feed-forward", EMBEDDINGS)
# Parts and bounds, and the engine's own types; the first is the reference. int4 with a bound has its embeddings, which
# are the output layer's, too, in 4 bits: half the file, which the engine's own int4 is not.
TYPES = ("float32", "int8", "int16", "int4")
WAYS = [*((kind, None) for kind in TYPES), *(("all", bound) for bound in BOUNDS), *((part, ENGINE) for part in ALONE),
        (EMBEDDINGS, HALF), ("int4", HALF)]  # fmt: skip
SAMPLES = 1000


def pair_sum(integers: Array) -> Array:
    """For each row, the largest sum of two neighbours of one sign."""
    pairs = integers.reshape(len(integers), -1, 2)
    largest: Array = np.maximum(*(np.maximum(sign * pairs, 0).sum(axis=2).max(axis=1) for sign in (1, -1)))
    return largest


def rounded(weights: Array, bound: str) -> Array:
    """Weights as 8 bits restore them, or 4."""
    weights = weights.astype(np.float32)
    if bound == HALF:
        nibbles, steps, scale = native_quantization.halved(weights)
        steps = np.repeat(steps.astype(np.float32), native_quantization.INT4_INPUTS, axis=1)
        halved: Array = nibbles * steps * scale[:, None]
        return halved
    found, scale = native_quantization.quantized(weights, "int8", bounded=bound == ENGINE)
    integers = found.astype(np.float32)
    while bound == PAIRS and (over := pair_sum(integers) > native_quantization.INT8_LANE).any():
        scale[over] *= 1.01
        integers[over] = np.rint(weights[over] / scale[over, None])
    restored: Array = integers * scale[:, None]
    return restored


def with_rounded(model: FloatModel, part: str, bound: str) -> FloatModel:
    """The model with the products of a part rounded. Only the output layer's embeddings have a bound."""
    chosen, output = PARTS[part], model.embeddings["output"][0]
    products = {
        name: (rounded(weights, bound), bias) if name.rpartition(".")[2] in chosen else (weights, bias)
        for name, (weights, bias) in model.products.items()
    }
    embeddings = model.embeddings
    if EMBEDDINGS in chosen:
        embeddings = {
            side: (origin, rounded(matrix, bound if bound == HALF or origin == output else FREE))
            for side, (origin, matrix) in embeddings.items()
        }
    return replace(model, products=products, embeddings=embeddings)


@contextmanager
def translating(
    folder: Path, way: tuple[str, str | None], beam: int, mapped: bool
) -> Iterator[Callable[[list[str]], Any]]:
    """A translator of lines by the model of CTranslate2 in a folder, with weights of one of WAYS."""
    part, bound = way
    model, kind = read_ctranslate2.read(folder), part if part in TYPES else "float32"
    part = EMBEDDINGS if part in TYPES else part
    with tempfile.TemporaryDirectory() as scratch:
        (with_rounded(model, part, bound) if bound else model).write(kind, made := Path(scratch) / "native")
        described = read_json(folder / model_folder.DESCRIPTION) | {"engine": Native.name, "quantization": kind}
        write_json(made / model_folder.DESCRIPTION, {key: described[key] for key in described if key != "sha256"})
        (made / "sentencepiece.model").symlink_to((folder / "sentencepiece.model").resolve())
        if mapped:
            Native.write_map(folder / "vmap.txt", made)
        translator = Translator(
            made, beam, vocabulary_map=mapped, workers=1, checksums=False, end_loops=False, copying=False
        )
        yield lambda lines: [*translator.translate(lines)]
        translator.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="folders of systems, results/X/models/Y")
    parser.add_argument("--beam-sizes", type=int, nargs="+", default=[1])
    parser.add_argument("--rounded", nargs="+", help="only these parts and types of the table (default: all)")
    parser.add_argument("--no-map", action="store_true", help="without the vocabulary map")
    parser.add_argument("--test-sets", type=Path, nargs="+", required=True, help="records")
    parser.add_argument("--language", required=True, help="of the translations")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()

    rows: list[dict[str, Any]] = []
    sets = {path: TestSet(path, args.language, SAMPLES) for path in args.test_sets}
    ways = [way for way in WAYS if way == WAYS[0] or not args.rounded or way[0] in args.rounded]
    todo = [(model, beam, way) for model in args.models for beam in args.beam_sizes for way in ways]
    with tempfile.TemporaryDirectory() as scratch:
        for model, beam, way in progress(todo, "translating", total=len(todo), unit="way"):
            with translating(model / "float32", way, beam, not args.no_map) as translate:
                for path, test_set in sets.items():
                    name = "{}-{}-{}-{}".format(model.name, beam, records.name(path), "{}")
                    output, exact = (Path(scratch, name.format(of[0] + (of[1] or ""))) for of in (way, WAYS[0]))
                    write_text(output, "".join(f"{line}\n" for line in translate(records.sources(path))))
                    difference, p = test_set.difference(output, exact)
                    pairs = zip(output.read_text().split("\n"), exact.read_text().split("\n"), strict=True)
                    row = {"model": model.name, "test_set": records.name(path), "beam_size": beam}
                    row |= {"vocabulary_map": not args.no_map, "rounded": way[0], "bound": way[1]}
                    quality = test_set.score(output)[0]
                    row |= {"bleu": quality["bleu"], "difference": difference, "p": p}
                    rows.append(row | {"changed": sum(one != other for one, other in pairs)})
    write_json(
        args.output, {"signature": quality["bleu_signature"], "samples": SAMPLES, **experiments.here(), "rows": rows}
    )
    print(tabulate(rows, headers="keys", floatfmt=".2f"))


if __name__ == "__main__":
    command(main)
