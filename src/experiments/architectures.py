"""Every untrained model of a study in OpenNMT-tf and in the native engine: speed, size and memory of all architectures.

All decode greedily on one core, from text to text: OpenNMT-tf in float32 without a map, the native engine in each type
with the map of each sentence. CTranslate2 only runs Transformers with self-attention (papers.wngt2020.ladder).
"""

import argparse

from decode import engines
from findings.comparison import BASELINE, NATIVE
from formats import measurement
from measure import protocol
from measure.configuration import Configuration, ModelFolder
from nmt_frontier import machine
from nmt_frontier.errors import UserError, command
from nmt_frontier.limits import ONE_CORE


def configuration(model: ModelFolder, sentences: int | None) -> Configuration:
    """Raises UserError for the folder of another engine."""
    if model.engine.name not in (BASELINE, NATIVE):
        names = " and ".join(engines.ENGINES[name].label for name in (BASELINE, NATIVE))
        raise UserError(f"{model.path}: is for {model.engine.label}; here {names} are compared")
    native = model.engine.name == NATIVE
    return Configuration(
        model,
        vocabulary_map=native,
        baseline=not native,
        batch_tokens=ONE_CORE,
        cores=machine.cores()[:1],
        label=model.path.parent.name,
        **protocol.text(model, sentences),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=ModelFolder.read, nargs="+", required=True, help="folders of all systems")
    protocol.speed_options(parser)
    args = parser.parse_args()

    todo = [configuration(model, args.sentences) for model in args.models]
    measurement.write(args.output, protocol.timed(todo, args))


if __name__ == "__main__":
    command(main)
