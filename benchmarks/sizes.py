"""Table 4 of WNGT 2020: bytes of the Base model in several types, with 32,000 entries in the vocabulary."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from common.errors import command
from common.files import write_json
from common.machine import describe
from export import untrained
from formats.shape import registry

PAPER = {"float32": 373, "int16": 187, "int8": 94}  # MB
TYPES = ("float32", "float16", "int16", "int8")
SHAPE = "wngt2020-base"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=32_000, help="of the vocabulary, <unk> included")
    parser.add_argument("--output", type=Path, required=True, help="JSON")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        pieces = ["<blank>", "<s>", "</s>", *(f"piece{number}" for number in range(args.entries - 4))]
        (folder / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in pieces))
        parameters = untrained.make(registry()[SHAPE], folder / "vocabulary.txt", 1, folder / "checkpoint")
        outputs = [folder / type for type in TYPES]
        convert = [sys.executable, "-m", "export.convert", "--checkpoint", folder / "checkpoint", "--outputs", *outputs]
        subprocess.run(convert, check=True)
        sizes = {output.name: (output / "model.bin").stat().st_size for output in outputs}
    rows = {type: {"bytes": size, "of_float32": round(size / sizes["float32"], 4)} for type, size in sizes.items()}
    for type, megabytes in PAPER.items():
        rows[type] |= {"paper_MB": megabytes, "ratio_to_paper": round(sizes[type] / 1e6 / megabytes, 4)}
    result = {"command": f"python benchmarks/sizes.py --entries {args.entries}", "machine": describe(), "shape": SHAPE}
    write_json(args.output, result | {"entries": args.entries, "parameters": parameters, "types": rows})


if __name__ == "__main__":
    command(main)
