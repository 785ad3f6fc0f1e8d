"""Convert a study's model to the native engine, in several types of weights at once.

It reads what CTranslate2's converters wrote, and checkpoints of OpenNMT-tf whose layers CTranslate2 lacks. Models that
were trained elsewhere become model folders by ``nmt-frontier import``.
"""

import argparse
from pathlib import Path

from export import read_opennmt_tf
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import atomic_path
from nmt_frontier.importers import ctranslate2_model, read_ctranslate2
from nmt_frontier.model import native_weights
from nmt_frontier.progress import progress


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
