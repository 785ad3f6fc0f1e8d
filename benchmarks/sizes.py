"""Bytes of the papers' models in the files of an engine: random weights, a vocabulary of a given number of entries.

Only the file of the weights counts: ``model.bin`` of CTranslate2, ``weights.safetensors`` of the native engine.
"""

import argparse
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from decode.engines.ctranslate2 import CTranslate2
from export import untrained
from formats.shape import registry
from nmt_frontier.errors import command
from nmt_frontier.files import write_json
from nmt_frontier.search.native import Native

WEIGHTS = {CTranslate2.name: "model.bin", Native.name: "weights.safetensors"}


def convert(shape: dict[str, Any], checkpoint: Path, engine: str, types: list[str]) -> list[Path]:
    """The folders of an engine, by the way that the workflow takes (rule convert_native)."""
    folder = checkpoint.parent
    if engine == CTranslate2.name:
        return run("export.convert", "--checkpoint", checkpoint, outputs=[folder / type for type in types])
    source = checkpoint
    if CTranslate2.runs(shape):
        (source,) = run("export.convert", "--checkpoint", checkpoint, outputs=[folder / "float32"])
    return run("export.native", "--model", source, outputs=[folder / f"native-{type}" for type in types])


def run(module: str, *options: str | Path, outputs: list[Path]) -> list[Path]:
    subprocess.run([sys.executable, "-m", module, *options, "--outputs", *outputs], check=True)
    return outputs


def sizes(name: str, engine: str, types: list[str], vocabulary: Path) -> dict[str, int]:
    """The parameters, and the bytes of the weights by type."""
    shape, checkpoint = registry()[name], vocabulary.with_name("checkpoint")
    parameters = untrained.make(shape, vocabulary, 1, checkpoint)
    folders = convert(shape, checkpoint, engine, types)
    found = {type: (folder / WEIGHTS[engine]).stat().st_size for type, folder in zip(types, folders, strict=True)}
    return {"parameters": parameters} | found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=["wngt2020-base"], help="names in src/formats/shapes.yaml")
    parser.add_argument("--engine", choices=WEIGHTS, default=CTranslate2.name)
    parser.add_argument("--types", nargs="+", default=["float32", "int16", "int8"])
    parser.add_argument("--entries", type=int, default=32_000, help="of the vocabulary, <unk> included")
    parser.add_argument("--output", type=Path, required=True, help="JSON")
    args = parser.parse_args()

    pieces = ["<blank>", "<s>", "</s>", *(f"piece{number}" for number in range(args.entries - 4))]
    found = {}
    for shape in args.shapes:
        with tempfile.TemporaryDirectory() as scratch:
            vocabulary = Path(scratch, "vocabulary.txt")
            vocabulary.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
            found[shape] = sizes(shape, args.engine, args.types, vocabulary)
    call = f"python benchmarks/sizes.py {shlex.join(sys.argv[1:])}"
    write_json(args.output, {"command": call, "entries": args.entries, "engine": args.engine, "bytes": found})


if __name__ == "__main__":
    command(main)
