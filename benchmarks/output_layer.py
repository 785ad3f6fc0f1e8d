"""What the output layer costs a model of a paper's size, and what a vocabulary map leaves of it.

The model has random weights and says nothing; it is decoded for a fixed number of steps, so that only the size of its
output layer differs: with the whole vocabulary, the maps given, and no words at all. Speed only.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from common.errors import command
from common.files import read_json, write_json
from export import model_folder, untrained
from formats.shape import registry, shape


def model(study: Path, name: str, kind: str, folder: Path) -> Path:
    """A model folder of this shape and type with the vocabulary of a study."""
    parameters = untrained.make(registry()[name], study / "vocabulary" / "vocabulary.txt", 1, folder / "checkpoint")
    convert = ["export.convert", "--checkpoint", folder / "checkpoint", "--outputs", folder / kind]
    subprocess.run([sys.executable, "-m", *map(str, convert)], check=True)
    description = {
        "format": 1, "engine": "ctranslate2", "study": study.name, "system": name, "role": "student",
        "source": "en", "target": "de", "shape": str(shape(registry()[name])), "parameters": parameters,
        "quantization": kind, "vocabulary_map": True, "speed_only": True,
    }  # fmt: skip
    tokenizer = study / "vocabulary" / "sentencepiece.model"
    model_folder.make(description, folder / kind, tokenizer, study / "alignment" / "vmap.txt", folder / "model")
    return folder / "model"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", type=Path, required=True, help="results/X of a study with a vocabulary map")
    parser.add_argument("--test-set", required=True, help="name of one of its corpora")
    parser.add_argument("--shape", default="wngt2020-base", choices=registry())
    parser.add_argument("--type", default="int8", help="of the weights (default: %(default)s)")
    parser.add_argument("--maps", type=Path, nargs="*", default=[], help="more maps than the one the study uses")
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--output", type=Path, required=True, help="JSON")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as scratch:
        made = model(args.study, args.shape, args.type, Path(scratch))
        maps = [args.study / "alignment" / "vmap.txt", *args.maps]
        timing = ["experiments.map_timing", "--model", made, "--maps", *maps, "--target-language", "de"]
        timing += ["--test-set", args.study / "corpora" / "clean" / f"{args.test_set}.tsv.zst", "--runs", args.runs]
        timing += ["--steps", args.steps, "--sentences", args.sentences, "--output", args.output]
        subprocess.run([sys.executable, "-m", *map(str, timing)], check=True)
    given = {name: value for name, value in vars(args).items() if name != "output" and value}
    words = [f"--{name.replace('_', '-')} {' '.join(map(str, np.ravel(value)))}" for name, value in given.items()]
    write_json(
        args.output, {"command": f"python benchmarks/output_layer.py {' '.join(words)}", **read_json(args.output)}
    )


if __name__ == "__main__":
    command(main)
