"""Table 5 of WNGT 2020: what each optimisation is worth, one switch after the other, on one core.

A rung has the switches of all rungs below it, but for those that its name tells: the baseline, CTranslate2, then
8 bits, batches sorted by length, packed matrix products, the vocabulary map; and beyond the paper the overlapping
pipeline, and the best of some sizes of batches, each of which is measured like a rung. A worker on every core stands
apart, with the best of the same sizes. Above the baseline all search greedily. The baseline, too, decodes batches as
the sentences come, so that the next rung is the engine alone; decode.end_to_end spoils it less.

Every engine has the best instructions of the CPU: OpenNMT-tf takes them by itself, CTranslate2 is told to. Where it
would not have taken them, one rung is held to what it would have taken.

CTranslate2 in float32 with a beam of 4 is no rung: it tells what the rungs of a trained model lose in BLEU.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from decode import engines, machine, measurements, runs, tune
from decode.measurements import UNTRAINED, Record, fastest, of_test_set
from decode.runs import Configuration
from decode.translate import ONE_CORE
from formats.errors import command
from formats.files import write_json

BEAM, GREEDY, OVERLAPPING = "OpenNMT-tf, beam 4", "OpenNMT-tf, greedy", "overlapping stages"
HELD = "AVX2"  # what CTranslate2 takes by itself where there is more
SEARCH = "CTranslate2, float32, beam 4"  # no rung, but what the rungs lose BLEU against
BATCHES = (256, 512, 1024, 2048)  # tokens, of which the best is a rung


def rungs(baseline: Path, exact: Path, rounded: Path, **shared: Any) -> dict[str, Configuration]:
    """Name and configuration of each rung. Model folders: of OpenNMT-tf, of CTranslate2 in float32 and in 8 bits.

    shared: what all configurations have.
    """
    cores, isa = machine.cores(), tune.isa(rounded)
    shared |= {"cores": cores[:1], "batch_tokens": ONE_CORE, "sorting": False, "overlap": False}
    toolkit = Configuration(baseline, baseline=True, **shared)
    plain = replace(toolkit, model=exact, baseline=False, packed=not machine.packs(), isa=isa)
    found = {BEAM: replace(toolkit, beam_size=measurements.BEAM), GREEDY: toolkit}
    if isa not in (None, HELD):
        found[f"CTranslate2 held to {HELD}"] = replace(plain, isa=HELD)
    found["CTranslate2"] = plain
    found["8 bits"] = replace(plain, model=rounded)
    last = found["sorted batches"] = replace(found["8 bits"], sorting=True)
    if machine.packs():
        last = found["packed matrices"] = replace(last, packed=True)
    last = found["vocabulary map"] = replace(last, vocabulary_map=True)
    found[OVERLAPPING] = replace(last, overlap=True)
    return found


def tries(last: Configuration) -> dict[int, Configuration]:
    """The last rung with batches of each size; it has one of them itself."""
    others = {size: replace(last, batch_tokens=size, label=f"{size}-tokens") for size in BATCHES}
    return others | {last.batch_tokens: last}


def everywhere(last: Configuration) -> dict[int, Configuration]:
    """The last rung with a worker on every core and batches of each size, if there are several cores."""
    cores = machine.cores()
    more = {"workers": len(cores), "cores": cores}
    tried = {size: replace(last, batch_tokens=size, label=f"all-cores.{size}-tokens", **more) for size in BATCHES}
    return tried if len(cores) > 1 else {}


def reference(exact: Path, last: Configuration) -> dict[str, Configuration]:
    """The search that the rungs of a trained model lose BLEU against, decoded like the last rung."""
    if engines.describe(exact).get("role") == UNTRAINED:
        return {}
    return {SEARCH: replace(last, model=exact, beam_size=measurements.BEAM, vocabulary_map=False)}


def best(tried: dict[int, Record]) -> Record:
    """The rung of the fastest of the records by tokens of a batch."""
    record = fastest(tried)
    name = f"best of {len(tried)} sizes of batches: {record['batch_tokens']:,} tokens"
    workers = f"{record['workers']} workers on {len(record['cores'])} cores, " if record["workers"] > 1 else ""
    return {"rung": workers + name, **record}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", type=Path, required=True, help="model folder of OpenNMT-tf")
    parser.add_argument("--exact", type=Path, required=True, help="of CTranslate2 in float32")
    parser.add_argument("--rounded", type=Path, required=True, help="of CTranslate2 in 8 bits, with a vocabulary map")
    runs.speed_options(parser)
    args = parser.parse_args()

    found = rungs(args.baseline, args.exact, args.rounded, **runs.text(args.rounded, args))
    tried = [*filter(None, (tries(found[OVERLAPPING]), everywhere(found[OVERLAPPING])))]
    apart = reference(args.exact, found[OVERLAPPING])
    todo = list(dict.fromkeys([*found.values(), *apart.values(), *(one for sizes in tried for one in sizes.values())]))
    timed = of_test_set(runs.measured(todo, args), args.test_sets[0][0])
    records = dict(zip(todo, timed, strict=True))
    rows = [{"rung": name, **records[configuration]} for name, configuration in found.items()]
    rows += [best({size: records[one] for size, one in sizes.items()}) for sizes in tried]
    rows += [{"rung": name, **records[configuration]} for name, configuration in apart.items()]
    write_json(args.output, rows)


if __name__ == "__main__":
    command(main)
