"""The program of ``train.marian``."""

import argparse
from dataclasses import asdict
from pathlib import Path

from formats import marian
from formats.shape import ConditionalShape, TransformerShape, shape
from nmt_frontier.command_line import json_value, pick, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import sha256
from train.marian import Schedule, begin, train
from train.marian import __doc__ as about


def main() -> None:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=there, required=True, help="text in pieces, made by train.encode")
    parser.add_argument("--target", type=there, required=True, help="its translations, in pieces")
    parser.add_argument("--vocabulary", type=there, required=True, help="vocabulary.txt, made by train.vocabulary")
    parser.add_argument("--shape", type=json_value, required=True, help="JSON, as in formats/shapes.yaml")
    parser.add_argument("--updates", type=int, default=3000, help="length of the training (default: %(default)s)")
    parser.add_argument("--batch-tokens", type=int, default=1000, help="target tokens (default: %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=0.003, help="peak value (default: %(default)s)")
    parser.add_argument("--warmup", type=int, default=300, help="updates before the peak (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="folder to write; resumes a training begun there")
    args = parser.parse_args()

    try:
        asked = shape(args.shape)
    except ValueError as error:
        raise UserError(f"--shape: {error}") from None
    if not isinstance(asked, TransformerShape | ConditionalShape):
        raise UserError(f"--shape: {asked}: only Transformers and models with transitions are trained with Marian here")
    schedule, data = pick(Schedule, args), (args.source, args.target, args.vocabulary)
    # more updates prolong a training
    lasting = {name: value for name, value in asdict(schedule).items() if name != "updates"}
    begin(args.output / "training", {"shape": asdict(asked), **lasting, "data": [*map(sha256, data)]})
    marian.write_vocabulary(marian.entries(args.vocabulary), args.output / marian.VOCABULARY)
    train([args.source, args.target], asked, schedule, args.output)


if __name__ == "__main__":
    command(main)
