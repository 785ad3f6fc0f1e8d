"""Devlin 2017's ladder: what each way to compute less is worth in a recurrent model with fully connected layers.

A rung keeps what the rungs below it have: everything computed in float32, products in 16 bits, those of up to 8,000
pieces with the first layers looked up, those of the source once a sentence, sigmoid and tanh by polynomials where the
paper has tables, products of a state of the beam once, and beyond the paper products in 8 bits, then the sentences of a
batch together. Up to there each sentence is decoded by itself, with a beam, on one core, as in the paper; and from the
start the output layer has the candidates of the vocabulary map where the folders have one.

All but the steps from type to type say the same, but for rounding.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import machine
from common.errors import UserError, command
from decode import engines
from decode.engines.native import Native
from decode.pipeline import ONE_CORE
from formats import comparison, measurement
from measure import protocol
from measure.configuration import Configuration


def rungs(models: dict[str, Path], **common: Any) -> dict[str, Configuration]:
    """The configurations by their names, from the lowest rung to the highest.

    models: folders of the native engine, by type. common: fields of all.
    """
    engine = engines.of(models["float32"])
    mapped = all((folder / engine.map_file).exists() for folder in models.values())
    plain = Configuration(
        models["float32"],
        beam_size=comparison.BEAM,
        vocabulary_map=mapped,
        batch_tokens=ONE_CORE,
        batch_sentences=1,
        cores=machine.cores()[:1],
        piece_products=False,
        source_products=False,
        equal_states=False,
        polynomials=False,
        **common,
    )
    ladder = {"float32, everything computed": plain}
    ladder["16 bits"] = replace(plain, model=models["int16"])
    ladder["products of pieces looked up"] = replace(ladder["16 bits"], piece_products=True)
    ladder["products of the source once"] = replace(ladder["products of pieces looked up"], source_products=True)
    ladder["sigmoid and tanh by polynomials"] = replace(ladder["products of the source once"], polynomials=True)
    ladder["equal states once"] = replace(ladder["sigmoid and tanh by polynomials"], equal_states=True)
    ladder["8 bits"] = replace(ladder["equal states once"], model=models["int8"])
    ladder["batches of sentences"] = replace(ladder["8 bits"], batch_sentences=None)
    return ladder


def by_type(folders: list[Path]) -> dict[str, Path]:
    """Raises UserError for other folders than one of each type, and for models that have none of this."""
    described = {folder: engines.describe_for(folder, Native) for folder in folders}
    for folder, description in described.items():
        if " FC " not in description["shape"]:
            raise UserError(f"{folder}: {description['shape']} has no fully connected layers on top")
    found = {description["quantization"]: folder for folder, description in described.items()}
    if missing := {"float32", "int16", "int8"} - set(found):
        raise UserError(f"--models: none in {', '.join(sorted(missing))}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--models", type=Path, nargs=3, required=True, help="the native float32, int16 and int8 folders"
    )
    protocol.speed_options(parser)
    args = parser.parse_args()

    models = by_type(args.models)
    named = rungs(models, **protocol.text(models["int8"], args.sentences))
    measurement.write(args.output, protocol.rungs(named, args))


if __name__ == "__main__":
    command(main)
