"""Fixed scales for the activations of a native model in integers, like Bergamot's "alphas".

Without them every row of activations is scaled by its largest magnitude. This decodes a text, records those scales and
writes a copy of the model folder with one fixed scale for each product: the largest, or the mean plus some standard
deviations. Larger values are cut off. Speed and quality: results/reference/engine/static.json.
"""

import argparse
import shutil
from itertools import islice
from pathlib import Path

import numpy as np

from formats import records
from nmt_frontier.bindings import InputScales
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import atomic_path, write_json
from nmt_frontier.limits import ONE_CORE
from nmt_frontier.model import model_folder, native_weights, safetensors
from nmt_frontier.model.model_folder import Calibration, Making
from nmt_frontier.search import loading
from nmt_frontier.search.batching import batches
from nmt_frontier.search.engine import Search
from nmt_frontier.search.native import Native
from nmt_frontier.translator import LineTokenizer

SUFFIX = ".input_scale"  # of a tensor, after the name of its product (engine/model/model.cpp)


def input_scales(folder: Path, lines: list[str]) -> dict[str, InputScales]:
    """InputScales of each product while lines are translated. Raises UserError for a folder without scales to fix."""
    description = loading.describe(folder)
    if description.engine != Native.name or description.quantization == "float32":
        raise UserError(f"{folder}: is {description.engine} {description.quantization}; only models of the native"
                        " engine in int16, int8 and int4 have scales to fix")  # fmt: skip
    if any(name.endswith(SUFFIX) for name in safetensors.read(folder / native_weights.NAME)):
        raise UserError(f"{folder}: its scales are fixed already; take the folder that it was made from")
    encode = LineTokenizer(folder).encode
    if not (sentences := [pieces for pieces in map(encode, lines) if pieces]):
        raise UserError("there is no sentence to calibrate with")
    engine = loading.load(folder, Search(vocabulary_map=description.vocabulary_map))
    assert isinstance(engine, Native)
    return engine.input_scales([sentences[place] for place in places] for places in batches(sentences, ONE_CORE))


def write(folder: Path, scales: dict[str, float], about: Calibration, output: Path) -> None:
    """Copy a model folder and fix the scales of its products. about: how they were found, for ``model.json``."""
    weights = folder / native_weights.NAME
    tensors = dict(safetensors.read(weights))
    tensors |= {f"{name}{SUFFIX}": np.array([scale], np.float32) for name, scale in scales.items()}
    description = loading.describe(folder)
    description.made_by = description.made_by or Making()
    description.made_by.input_scales = about
    changed = (native_weights.NAME, model_folder.DESCRIPTION, *model_folder.NOT_DECODED)
    with atomic_path(output) as part:
        part.mkdir(parents=True)
        for path in folder.iterdir():
            if path.name not in changed:
                shutil.copy(path, part)
        safetensors.write(part / native_weights.NAME, tensors, safetensors.metadata(weights))
        description.sha256 = model_folder.checksums(part)
        write_json(part / model_folder.DESCRIPTION, description)
        if (readme := folder / model_folder.README).exists():
            shutil.copy(readme, part)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=there, required=True, help="model folder of the native engine")
    parser.add_argument("--records", type=there, required=True, help="records whose sources are decoded: a dev set")
    parser.add_argument("--sentences", type=positive, default=1000, help="only the first ones")
    parser.add_argument("--deviations", type=float, help="take the mean plus this many standard deviations")
    parser.add_argument("--output", type=Path, required=True, help="model folder to write")
    args = parser.parse_args()

    lines = [record[0] for record in islice(records.read(args.records), args.sentences)]
    found = input_scales(args.model, lines)
    scales = {
        name: seen.largest if args.deviations is None else seen.mean + args.deviations * seen.deviation
        for name, seen in found.items()
    }
    about = Calibration(records.name(args.records), len(lines), args.deviations)
    write(args.model, scales, about, args.output)


if __name__ == "__main__":
    command(main)
