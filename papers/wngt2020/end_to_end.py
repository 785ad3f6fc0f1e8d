"""Table 6 of WNGT 2020: the toolkit with a beam of 4 against the optimised configuration, from text to text.

Each system is measured on one core and on all of them: in OpenNMT-tf, with sorted batches and as many threads as cores;
in CTranslate2, if it runs the system, and the native engine: greedy, in 8 bits, with the vocabulary map (in the native
engine of each sentence) and the settings of ``python -m measure.tune`` for this machine, by default the paper's batches
and the widest instructions. Engines are compared on the same cores only, as batches differ between one core and all.

Lost BLEU is relative to the best of the system's searches in float32: OpenNMT-tf's, and another engine's, greedy and
with a beam of 4, on one core.
"""

import argparse
from dataclasses import replace
from typing import Any

from findings.comparison import BASELINE, BEAM
from formats import measurement
from measure import protocol
from measure.configuration import Configuration, ModelFolder
from nmt_frontier import machine
from nmt_frontier.errors import UserError, command
from nmt_frontier.limits import ONE_CORE
from nmt_frontier.search import tuned
from nmt_frontier.search.pipeline import MANY_CORES


def configurations(baseline: ModelFolder, *rounded: ModelFolder, label: str, **common: Any) -> list[Configuration]:
    """One system: ``baseline`` in OpenNMT-tf, ``rounded`` of other engines in 8 bits. common: fields of all."""
    everywhere, base = machine.cores(), Configuration(baseline, baseline=True, **common)
    todo = []
    for cores in dict.fromkeys((everywhere[:1], everywhere)):
        name = f"{label}.{len(cores)}-cores"
        todo += [replace(base, beam_size=BEAM, batch_tokens=ONE_CORE, cores=cores, label=name)]
        todo += [optimised(model, cores, label=name, **common) for model in rounded]
    return todo


def optimised(model: ModelFolder, cores: tuple[int, ...], **shared: Any) -> Configuration:
    """A model in 8 bits with its fastest settings, a worker on each core."""
    size = tuned.settings(model.path).get("batch_tokens", MANY_CORES) if len(cores) > 1 else ONE_CORE
    return Configuration(model, vocabulary_map=True, batch_tokens=size, workers=len(cores), cores=cores, **shared)


def searches(exact: ModelFolder, label: str) -> list[Configuration]:
    """The searches of the same weights in float32 that lost BLEU is relative to."""
    greedy = Configuration(exact, batch_tokens=ONE_CORE, cores=machine.cores()[:1])
    return [replace(greedy, beam_size=beam, label=f"{label}.beam-{beam}") for beam in (1, BEAM)]


def by_system(models: list[ModelFolder]) -> dict[str, list[ModelFolder]]:
    """Folders by system, OpenNMT-tf's first. Raises UserError without exactly one of those or without others."""
    found: dict[str, list[ModelFolder]] = {}
    for model in models:
        found.setdefault(model.description.system or "", []).append(model)
    for name, folders in found.items():
        folders.sort(key=lambda folder: folder.engine.name != BASELINE)
        others = [folder.engine.name != BASELINE for folder in folders]
        if others.count(False) != 1 or len(others) == 1:
            raise UserError(f"--models: {name} needs one folder of OpenNMT-tf and some of other engines, to compare it")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    about = "folders of all systems: of OpenNMT-tf, and of other engines in 8 bits with maps"
    parser.add_argument("--models", type=ModelFolder.read, nargs="+", required=True, help=about)
    parser.add_argument("--exact", type=ModelFolder.read, nargs="*", default=[], help="float32 of each trained system")
    protocol.speed_options(parser)
    args = parser.parse_args()

    todo = []
    for name, (baseline, *rounded) in by_system(args.models).items():
        todo += configurations(baseline, *rounded, label=name, **protocol.text(baseline, args.sentences))
    todo += [search for exact in args.exact for search in searches(exact, exact.description.system or "")]
    measurement.write(args.output, protocol.timed(todo, args))


if __name__ == "__main__":
    command(main)
