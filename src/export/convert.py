"""Convert an averaged OpenNMT-tf checkpoint to CTranslate2, in several types of weights at once.

TensorFlow is loaded once for all types. The folders hold only weights and vocabulary; export.model_folder makes model
folders of them.
"""

import argparse
from pathlib import Path

from common.errors import UserError, command
from common.files import atomic_path
from common.progress import progress
from formats import opennmt_checkpoint
from formats.conversion import Converter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True, help="averaged model of train.train")
    parser.add_argument("--outputs", type=Path, nargs="+", required=True, help="folders, each named after its type")
    args = parser.parse_args()

    converter = Converter(opennmt_checkpoint.load(args.checkpoint))
    for output in progress(args.outputs, "converting", total=len(args.outputs), unit="type"):
        with atomic_path(output) as part:
            try:
                converter.convert(str(part), quantization=output.name)
            except (ValueError, RuntimeError) as error:  # CTranslate2 says what it does not support
                raise UserError(f"{args.checkpoint}: as {output.name}: {error}") from error


if __name__ == "__main__":
    command(main)
