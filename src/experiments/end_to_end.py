"""Table 6 of WNGT 2020: the toolkit with a beam of 4 against the optimised configuration, from text to text.

Each system is measured on one core and on all of them: in OpenNMT-tf, with sorted batches and as many threads as cores;
in CTranslate2, greedy, in 8 bits with the vocabulary map and its best settings; and so in the native engine, with the
map of each sentence. The settings are those that ``python -m measure.tune`` found for this machine, else the paper's
batches and the widest instructions, which the others take by themselves. Engines are compared on the same cores only:
batches differ between one core and all (experiments.scaling compares workers).

The BLEU that a trained system loses is the difference to the best of its searches in float32: OpenNMT-tf's, and
CTranslate2's, greedy and with a beam of 4, which are decoded on one core.
"""

import argparse
from pathlib import Path
from typing import Any

from common import machine
from common.command_line import pick
from common.errors import UserError, command
from decode import tuned
from decode.pipeline import MANY_CORES, ONE_CORE
from formats import measurement
from formats.selection import BEAM, of_test_set
from measure import protocol
from measure.configuration import Conditions, Configuration


def configurations(baseline: Path, *rounded: Path, label: str, **common: Any) -> list[Configuration]:
    """One system: ``baseline`` in OpenNMT-tf, ``rounded`` of other engines in 8 bits. common: fields of all."""
    everywhere = machine.cores()
    todo = []
    for cores in dict.fromkeys((everywhere[:1], everywhere)):
        shared = {**common, "cores": cores, "label": f"{label}.{len(cores)}-cores"}
        todo += [Configuration(baseline, BEAM, baseline=True, batch_tokens=ONE_CORE, **shared)]
        todo += [optimised(model, **shared) for model in rounded]
    return todo


def optimised(model: Path, cores: tuple[int, ...], **shared: Any) -> Configuration:
    """A model in 8 bits with all that makes it fast, a worker on each core."""
    batch_tokens = tuned.settings(model).get("batch_tokens", MANY_CORES) if len(cores) > 1 else ONE_CORE
    return Configuration(
        model, vocabulary_map=True, batch_tokens=batch_tokens, workers=len(cores), cores=cores, **shared
    )


def searches(exact: Path, label: str) -> list[Configuration]:
    """The searches of the same weights in float32 that lost BLEU is measured from."""
    common = {"batch_tokens": ONE_CORE, "cores": machine.cores()[:1]}
    return [Configuration(exact, beam, **common, label=f"{label}.beam-{beam}") for beam in (1, BEAM)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baselines", type=Path, nargs="+", required=True, help="model folders of OpenNMT-tf")
    parser.add_argument("--rounded", type=Path, nargs="+", required=True, help="of CTranslate2 in 8 bits, same order")
    parser.add_argument("--native", type=Path, nargs="*", default=[], help="of the native engine in 8 bits, same order")
    parser.add_argument("--exact", type=Path, nargs="*", default=[], help="of CTranslate2 in float32, if trained")
    protocol.speed_options(parser)
    args = parser.parse_args()

    if len(args.baselines) != len(args.rounded):
        raise UserError(f"{len(args.baselines)} --baselines and {len(args.rounded)} --rounded; a system needs both")
    if args.native and len(args.native) != len(args.rounded):
        raise UserError(f"{len(args.native)} --native and {len(args.rounded)} --rounded; all systems need one, or none")
    todo = []
    for baseline, *rounded in zip(args.baselines, args.rounded, *([args.native] if args.native else []), strict=True):
        name, text = rounded[0].parent.name, protocol.text(rounded[0], args.sentences)
        todo += configurations(baseline, *rounded, label=name, **text)
    todo += [search for exact in args.exact for search in searches(exact, exact.parent.name)]
    measurement.write(args.output, of_test_set(protocol.measured(todo, pick(Conditions, args)), args.test_sets[0][0]))


if __name__ == "__main__":
    command(main)
