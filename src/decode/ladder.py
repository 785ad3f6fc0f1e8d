"""Table 5 of WNGT 2020: what each optimisation is worth, one switch after the other, on one core.

A rung has the switches of all rungs below it, but for those that its name tells: the baseline, CTranslate2 as it
comes, then 8 bits, batches sorted by length, packed matrix products, the vocabulary map; and beyond the paper the
AVX512 instructions, the overlapping pipeline, and the best of some sizes of batches, each of which is measured like a
rung. A worker on every core stands apart. Above the baseline all search greedily. The baseline, too, decodes batches
as the sentences come, so that the next rung is the engine alone; decode.end_to_end spoils it less.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from decode import machine, runs
from decode.measurements import Record, of_test_set
from decode.runs import Configuration
from decode.translate import MANY_CORES, ONE_CORE
from formats.errors import command
from formats.files import write_json

BEAM, GREEDY, OVERLAPPING = "OpenNMT-tf, beam 4", "OpenNMT-tf, greedy", "overlapping stages"
BATCHES = (256, 512, 1024, 2048)  # tokens, of which the best is a rung


def rungs(baseline: Path, exact: Path, rounded: Path, **shared: Any) -> dict[str, Configuration]:
    """Name and configuration of each rung. Model folders: of OpenNMT-tf, of CTranslate2 in float32 and in 8 bits.

    shared: what all configurations have.
    """
    cores, isa = machine.cores(), machine.widest()
    shared |= {"cores": cores[:1], "batch_tokens": ONE_CORE, "sorting": False, "overlap": False}
    toolkit = Configuration(baseline, baseline=True, **shared)
    plain = replace(toolkit, model=exact, baseline=False, packed=not machine.packs(), isa="AVX2" if isa else None)
    found = {BEAM: replace(toolkit, beam_size=4), GREEDY: toolkit, "CTranslate2": plain}
    found["8 bits"] = replace(plain, model=rounded)
    last = found["sorted batches"] = replace(found["8 bits"], sorting=True)
    if machine.packs():
        last = found["packed matrices"] = replace(last, packed=True)
    last = found["vocabulary map"] = replace(last, vocabulary_map=True)
    if isa:
        last = found[isa] = replace(last, isa=isa)
    found[OVERLAPPING] = replace(last, overlap=True)
    return found


def tries(last: Configuration) -> dict[int, Configuration]:
    """The last rung with batches of each size; it has one of them itself."""
    others = {size: replace(last, batch_tokens=size, label=f"{size}-tokens") for size in BATCHES}
    return others | {last.batch_tokens: last}


def everywhere(last: Configuration) -> dict[str, Configuration]:
    """The last rung with a worker on every core, if there are several."""
    cores = machine.cores()
    more = {"workers": len(cores), "cores": cores, "batch_tokens": MANY_CORES, "label": "all-cores"}
    return {f"{len(cores)} workers on {len(cores)} cores": replace(last, **more)} if len(cores) > 1 else {}


def best(tried: dict[int, Record]) -> Record:
    """The rung of the fastest of the records by tokens of a batch; it names them all."""
    rates = {size: record["target_tokens"] / record["text_seconds"] for size, record in tried.items()}
    size = max(rates, key=lambda size: rates[size])
    return {"rung": f"best of {len(rates)} sizes of batches: {size:,} tokens", **tried[size], "tried": rates}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", type=Path, required=True, help="model folder of OpenNMT-tf")
    parser.add_argument("--exact", type=Path, required=True, help="of CTranslate2 in float32")
    parser.add_argument("--rounded", type=Path, required=True, help="of CTranslate2 in 8 bits, with a vocabulary map")
    runs.speed_options(parser)
    args = parser.parse_args()

    found = rungs(args.baseline, args.exact, args.rounded, **runs.forced(args.rounded, args))
    tried, apart = tries(found[OVERLAPPING]), everywhere(found[OVERLAPPING])
    todo = list(dict.fromkeys([*found.values(), *tried.values(), *apart.values()]))
    timed = of_test_set(runs.measured(todo, args), args.test_sets[0][0])
    records = dict(zip(todo, timed, strict=True))
    rows = [{"rung": name, **records[configuration]} for name, configuration in found.items()]
    rows += [best({size: records[configuration] for size, configuration in tried.items()})]
    rows += [{"rung": name, **records[configuration]} for name, configuration in apart.items()]
    write_json(args.output, rows)


if __name__ == "__main__":
    command(main)
