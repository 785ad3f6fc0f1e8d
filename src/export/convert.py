"""Convert an averaged OpenNMT-tf checkpoint to CTranslate2, in several types of weights at once.

TensorFlow is loaded once for all types, and not at all where the model is converted to float32 already. The folders
hold only weights and vocabulary; export.model_folder makes model folders of them.
"""

import argparse
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from nmt_frontier.command_line import there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import atomic_path
from nmt_frontier.importers import ctranslate2_model
from nmt_frontier.progress import progress


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = "averaged model of train.train, or what this command made of it in float32"
    parser.add_argument("--checkpoint", type=there, required=True, help=source)
    parser.add_argument("--outputs", type=Path, nargs="+", required=True, help="folders, each named after its type")
    args = parser.parse_args()

    convert = converter(args.checkpoint)
    for output in progress(args.outputs, "converting", total=len(args.outputs), unit="type"):
        with atomic_path(output) as part:
            try:
                convert(part, quantization=output.name)
            except (ValueError, RuntimeError) as error:  # CTranslate2 names what it does not support
                raise UserError(f"{args.checkpoint}: as {output.name}: {error}") from error


def converter(model: Path) -> Callable[..., object]:
    """A function that writes the model to a folder in a type. It or this raises UserError for a damaged model."""
    if (model / ctranslate2_model.NAME).exists():
        return partial(requantise, model)
    from formats import opennmt_tf
    from formats.conversion import Converter

    convert: Callable[..., object] = Converter(opennmt_tf.load_checkpoint(model)).convert
    return convert


def requantise(model: Path, output: Path, quantization: str) -> None:
    """Write a CTranslate2 model with float32 weights in another type: the bytes of a conversion from the checkpoint."""
    from formats.conversion import Stored

    stored = Stored(ctranslate2_model.read(model))
    stored.optimize(quantization)
    shutil.copytree(model, output, ignore=shutil.ignore_patterns(ctranslate2_model.NAME), dirs_exist_ok=True)
    stored.save(output)


if __name__ == "__main__":
    command(main)
