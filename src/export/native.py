"""Convert a study's model to the native engine, in several types of weights at once.

It reads what CTranslate2's converters wrote, and checkpoints of OpenNMT-tf whose layers CTranslate2 lacks. Models that
were trained elsewhere become model folders by export.model.
"""

import argparse
from pathlib import Path

from common.command_line import there
from common.errors import command
from common.files import atomic_path
from common.progress import progress
from export import read_ctranslate2, read_opennmt_tf
from formats import ctranslate2_model, native_weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = "folder of export.convert with float32 weights, or of train.train"
    parser.add_argument("--model", type=there, required=True, help=source)
    parser.add_argument("--outputs", type=Path, nargs="+", required=True, help="folders, whose names end in -TYPE")
    args = parser.parse_args()

    kinds = {output: native_weights.kind(output) for output in args.outputs}
    reader = read_ctranslate2 if (args.model / ctranslate2_model.NAME).exists() else read_opennmt_tf
    model = reader.read(args.model)
    for output, kind in progress(kinds.items(), "converting", total=len(kinds), unit="type"):
        with atomic_path(output) as part:
            model.write(kind, part)


if __name__ == "__main__":
    command(main)
