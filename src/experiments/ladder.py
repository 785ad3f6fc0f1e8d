"""Table 5 of WNGT 2020: what each optimisation is worth, one switch after the other, on one core.

A rung keeps the switches of the rungs below it: the baseline, CTranslate2, then 8 bits, batches sorted by length,
packed matrix products, the vocabulary map; and beyond the paper the overlapping pipeline, and the best of some sizes
of batches, each of which is measured like a rung. Our own engine follows: with the settings of CTranslate2's
overlapping rung, candidates of the whole batch included, then with a map of each sentence, then the best of the same
sizes. A worker on every core, with the best of the sizes, stands apart, for each of the two engines. Above the baseline
all search greedily. The baseline is unsorted too, so the next step isolates the engine; experiments.end_to_end gives it
sorted batches.

Every engine uses the widest instructions of the CPU: CTranslate2 is told to, the others take them by themselves. Where
its own choice would be narrower, one rung is held to that choice.

CTranslate2 in float32 with a beam of 4 is no rung, but the reference for the BLEU that a trained model's rungs lose.
"""

import argparse
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import machine
from common.command_line import pick
from common.errors import command
from decode import engines, tuned
from decode.pipeline import ONE_CORE
from formats import measurement, selection
from formats.comparison import fastest
from formats.experiments import BEAM, GREEDY, HELD, MAP_PER_SENTENCE, NATIVE, OVERLAPPING, SEARCH
from formats.measurement import UNTRAINED, Measurement
from formats.selection import of_test_set
from measure import protocol
from measure.configuration import Conditions, Configuration

BATCHES = (256, 512, 1024, 2048)  # tokens; the best is a rung


def rungs(baseline: Path, exact: Path, rounded: Path, **shared: Any) -> dict[str, Configuration]:
    """The configuration of each rung below our engine by its name, from the lowest to the highest.

    Model folders: ``baseline`` of OpenNMT-tf, ``exact`` and ``rounded`` of CTranslate2 in float32 and in 8 bits.
    shared: fields of all configurations.
    """
    cores, isa = machine.cores(), tuned.isa(rounded)
    shared |= {"cores": cores[:1], "batch_tokens": ONE_CORE, "sorting": False, "overlap": False}
    toolkit = Configuration(baseline, baseline=True, **shared)
    plain = replace(toolkit, model=exact, baseline=False, packed=not machine.packs(), isa=isa)
    ladder = {BEAM: replace(toolkit, beam_size=selection.BEAM), GREEDY: toolkit}
    if isa not in (None, HELD):
        ladder[f"CTranslate2 held to {HELD}"] = replace(plain, isa=HELD)
    ladder["CTranslate2"] = plain
    ladder["8 bits"] = replace(plain, model=rounded)
    last = ladder["sorted batches"] = replace(ladder["8 bits"], sorting=True)
    if machine.packs():
        last = ladder["packed matrices"] = replace(last, packed=True)
    last = ladder["vocabulary map"] = replace(last, vocabulary_map=True)
    ladder[OVERLAPPING] = replace(last, overlap=True)
    return ladder


def native_rungs(model: Path, last: Configuration) -> dict[str, Configuration]:
    """Those of our engine, decoded like CTranslate2's ``last`` rung. model: a folder in 8 bits, with a map."""
    same = replace(last, model=model, isa=None, map_per_sentence=False)
    return {NATIVE: same, MAP_PER_SENTENCE: replace(same, map_per_sentence=True)}


def on_one_core(last: Configuration) -> dict[int, Configuration]:
    """The last rung by the tokens of its batches, its own size included."""
    others = {size: replace(last, batch_tokens=size, label=f"{size}-tokens") for size in BATCHES}
    return others | {last.batch_tokens: last}


def on_all_cores(last: Configuration) -> dict[int, Configuration]:
    """The last rung with a worker on every core by the tokens of its batches; empty on a machine with one core."""
    cores = machine.cores()
    if len(cores) == 1:
        return {}
    workers = replace(last, workers=len(cores), cores=cores)
    return {size: replace(workers, batch_tokens=size, label=f"all-cores.{size}-tokens") for size in BATCHES}


def reference(exact: Path, last: Configuration) -> dict[str, Configuration]:
    """The search from whose BLEU the losses of a trained model's rungs are measured, decoded like the last rung."""
    if engines.describe(exact).get("role") == UNTRAINED:
        return {}
    return {SEARCH: replace(last, model=exact, beam_size=selection.BEAM, vocabulary_map=False)}


def best(by_tokens: dict[int, Measurement]) -> Measurement:
    """The fastest of the records by tokens of a batch, as a rung."""
    record = fastest(by_tokens)
    name = f"best of {len(by_tokens)} sizes of batches: {record.batch_tokens:,} tokens"
    workers = f"{record.workers} workers on {len(record.cores)} cores, " if record.workers > 1 else ""
    engine = f"{NATIVE}, " if record.engine == selection.OWN else ""
    return replace(record, rung=engine + workers + name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", type=Path, required=True, help="model folder of OpenNMT-tf")
    parser.add_argument("--exact", type=Path, required=True, help="of CTranslate2 in float32")
    parser.add_argument("--rounded", type=Path, required=True, help="of CTranslate2 in 8 bits, with a vocabulary map")
    parser.add_argument("--native", type=Path, nargs="?", help="of the native engine in 8 bits, with a map")
    protocol.speed_options(parser)
    args = parser.parse_args()

    ladders = [rungs(args.baseline, args.exact, args.rounded, **protocol.text(args.rounded, args.sentences))]
    last = ladders[0][OVERLAPPING]
    ladders += [native_rungs(args.native, last)] if args.native else []
    tops = [[*ladder.values()][-1] for ladder in ladders]
    sizes, everywhere = [*map(on_one_core, tops)], [*filter(None, map(on_all_cores, tops))]
    apart = reference(args.exact, last)

    todo = list(dict.fromkeys(itertools.chain(*(part.values() for part in (*ladders, *sizes, *everywhere, apart)))))
    timed = of_test_set(protocol.measured(todo, pick(Conditions, args)), args.test_sets[0][0])
    records = dict(zip(todo, timed, strict=True))

    def found(part: dict[Any, Configuration]) -> dict[Any, Measurement]:
        return {key: records[configuration] for key, configuration in part.items()}

    rows = [row for both in zip(ladders, sizes, strict=True) for row in (*named(found(both[0])), best(found(both[1])))]
    rows += [best(found(by_tokens)) for by_tokens in everywhere]
    measurement.write(args.output, [*rows, *named(found(apart))])


def named(rungs: dict[str, Measurement]) -> list[Measurement]:
    return [replace(record, rung=name) for name, record in rungs.items()]


if __name__ == "__main__":
    command(main)
