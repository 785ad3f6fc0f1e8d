"""Devlin 2017's ladder: ways to compute less in a recurrent model with fully connected layers, one after the other.

Each rung adds to those below it: everything computed in float32; products in 16 bits; products of up to 8,000 pieces
with the first layers looked up; products of the source once per sentence; sigmoid and tanh by polynomials (tables in
the paper); products of equal states of the beam once; beyond the paper 8 bits, then batches of sentences. Up to there
each sentence is decoded by itself, with a beam, on one core, as in the paper. All rungs use the vocabulary map if the
folders have one. Except for the types, translations may differ by rounding only.

Each way is also measured alone, over float32 with polynomials: a fast baseline, as the paper's probably was. So is
OpenNMT-tf, sentence by sentence with the same beam, if its folder is given.
"""

import argparse
import functools
from dataclasses import replace
from typing import Any

from findings import comparison
from formats import measurement
from formats.measurement import RecordPlace
from formats.shape import FullyConnectedShape, of_text
from measure import protocol
from measure.configuration import Configuration, ModelFolder
from nmt_frontier import machine
from nmt_frontier.errors import UserError, command
from nmt_frontier.limits import ONE_CORE
from nmt_frontier.search.native import Native
from papers.devlin2017.rungs import ALONE, POLYNOMIALS, TOGETHER
from report.claims import DEVLIN

Rows = dict[RecordPlace, Configuration]
Folders = dict[str, ModelFolder]  # by type
IDENTITIES = frozenset({"piece_products", "source_products", "polynomials", "equal_states"})


def rungs(models: Folders, **common: Any) -> Rows:
    """The rungs by place, from the lowest to the highest. models: native folders by type. common: fields of all."""
    mapped = all((folder.path / Native.map_file).exists() for folder in models.values())
    plain = Configuration(
        models["float32"],
        beam_size=comparison.BEAM,
        vocabulary_map=mapped,
        batch_tokens=ONE_CORE,
        batch_sentences=1,
        cores=machine.cores()[:1],
        without=IDENTITIES,
        **common,
    )
    found = {"float32": plain, "int16": replace(plain, model=models["int16"])}
    last = found["int16"]
    for switch in ("piece_products", "source_products", POLYNOMIALS, TOGETHER):
        last = found[switch] = last.but(again={switch})
    last = found["int8"] = replace(last, model=models["int8"])
    found["batches"] = replace(last, batch_sentences=None)
    return {RecordPlace(DEVLIN, row=name): configuration for name, configuration in found.items()}


def alone(models: Folders, plain: Configuration) -> Rows:
    """Each way but the polynomials by itself, over ``plain`` with polynomials, which is first."""
    fast = plain.but(again={POLYNOMIALS})
    ways = {POLYNOMIALS: fast, "int16": replace(fast, model=models["int16"])}
    ways |= {switch: fast.but(again={switch}) for switch in ("piece_products", "source_products", TOGETHER)}
    return {RecordPlace(DEVLIN, row=name, way=ALONE): way for name, way in ways.items()}


def toolkit(folder: ModelFolder, plain: Configuration) -> Rows:
    """OpenNMT-tf, which has none of the switches and no map, searching as ``plain``."""
    same = replace(plain, model=folder, baseline=True, vocabulary_map=False, without=frozenset())
    return {RecordPlace(DEVLIN, row=comparison.BASELINE, way=ALONE): same}


def by_type(folders: list[ModelFolder]) -> Folders:
    """Raises UserError for a missing type, and for models without fully connected layers."""
    for folder in folders:
        text = folder.description.shape or ""
        if of_text(text)[0] is not FullyConnectedShape:
            raise UserError(f"{folder.path}: {text} has no fully connected layers on top")
    found = {folder.description.quantization: folder for folder in folders}
    if missing := {"float32", "int16", "int8"} - set(found):
        raise UserError(f"--models: none in {', '.join(sorted(missing))}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    of_native = functools.partial(ModelFolder.read, engine=Native)
    parser.add_argument("--models", type=of_native, nargs=3, required=True, help="in float32, int16 and int8")
    parser.add_argument("--baseline", type=ModelFolder.read, help="folder of the same weights for OpenNMT-tf")
    protocol.speed_options(parser)
    args = parser.parse_args()

    models = by_type(args.models)
    rows = rungs(models, **protocol.text(models["int8"], args.sentences))
    plain = next(iter(rows.values()))
    rows |= alone(models, plain) | (toolkit(args.baseline, plain) if args.baseline else {})
    measurement.write(args.output, protocol.placed(rows, args))


if __name__ == "__main__":
    command(main)
