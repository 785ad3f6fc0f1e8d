"""The program of ``export.model_folder``."""

import argparse
from pathlib import Path

from msgspec.structs import asdict

from decode import engines
from export.model_folder import __doc__ as about
from export.model_folder import described
from formats.learning import RandomWeights
from nmt_frontier.command_line import there
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, typed
from nmt_frontier.making import make
from nmt_frontier.model.model_folder import Description, Making


def main() -> None:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--weights", type=there, required=True, help="folder of export.convert or train.train")
    parser.add_argument("--sentencepiece", type=there, required=True)
    parser.add_argument("--map", type=there, help="vocabulary map, for an engine that uses one")
    parser.add_argument("--learning", type=there, required=True, help="JSON of train.train: shape and parameters")
    parser.add_argument("--quantization", required=True, help="type of the weights")
    parser.add_argument("--engine", required=True, choices=sorted(engines.ENGINES))
    parser.add_argument("--description", type=described, required=True, help="JSON: study, system, role, languages")
    parser.add_argument("--output", type=Path, required=True, help="model folder to write")
    args = parser.parse_args()

    weights = typed(read_json(args.learning), RandomWeights, f"{args.learning}: not made by train.train")
    description = Description(
        format=1,
        engine=args.engine,
        **asdict(args.description),
        shape=weights.shape,
        parameters=weights.parameters,
        quantization=args.quantization,
        vocabulary_map=args.map is not None,
        made_by=Making(steps=weights.steps),
    )
    make(description, args.weights, args.sentencepiece, args.map, args.output)


if __name__ == "__main__":
    command(main)
