"""Table 5 of WNGT 2020: the gain of each optimisation, one switch after the other, on one core.

A rung keeps the switches of the rungs below it: the baseline, CTranslate2, then 8 bits, sorted batches, packed matrix
products, the vocabulary map; beyond the paper the overlapping pipeline and the best of some sizes of batches. The
native engine follows: with the settings of CTranslate2's overlapping rung (candidates of the whole batch), then with a
map of each sentence, then the best of the same sizes. Each engine is also measured with a worker on every core, apart
from the ladder. Above the baseline all search greedily. The baseline is unsorted like the rung above it, so that their
difference is the engine; ``end_to_end`` gives it sorted batches.

If CTranslate2 does not run the system, the native engine replaces it: float32, 16 bits, 8 bits, map of the batch, map
of each sentence, sorted batches, overlapping stages, the best of the sizes. Up to the map this is table 3 of OpenNMT at
WNMT 2018 ("Tiny").

Every engine uses the widest instructions of the CPU. CTranslate2 must be forced to; if its own choice is narrower, one
rung is held to that choice. The first engine in float32 with a beam of 4 is no rung, but the reference for lost BLEU.
"""

import argparse
import itertools
from dataclasses import replace
from typing import Any, TypeVar

from findings import comparison
from findings.comparison import fastest
from formats import ctranslate2_products, measurement
from formats.measurement import UNTRAINED, Measurement, RecordPlace
from measure import protocol
from measure.configuration import Configuration, ModelFolder
from nmt_frontier import machine
from nmt_frontier.errors import UserError, command
from nmt_frontier.limits import ONE_CORE
from nmt_frontier.search import loading
from papers.wngt2020.rungs import (
    BATCHES,
    BEAM,
    BEST,
    EXACT,
    GREEDY,
    HELD,
    HELD_PEER,
    INT8,
    INT16,
    MAP,
    MAP_PER_SENTENCE,
    NATIVE,
    OVERLAPPING,
    PACKED,
    PEER,
    SEARCH,
    SORTING,
)
from report.claims import WNGT

Rungs = dict[str, Configuration]  # by key
Key = TypeVar("Key", str, int)  # of a rung, or the tokens of a batch

Folders = dict[str, ModelFolder]  # by type


def toolkit(baseline: ModelFolder, **shared: Any) -> dict[str, Configuration]:
    """The rungs of OpenNMT-tf by key, all switches off. shared: fields of all configurations."""
    shared |= {"cores": machine.cores()[:1], "batch_tokens": ONE_CORE, "without": frozenset({"sorting", "overlap"})}
    greedy = Configuration(baseline, baseline=True, **shared)
    return {BEAM: replace(greedy, beam_size=comparison.BEAM), GREEDY: greedy}


def rungs(baseline: ModelFolder, exact: ModelFolder, rounded: ModelFolder, **shared: Any) -> dict[str, Configuration]:
    """The rungs below the native engine, bottom up; ``exact`` and ``rounded``: CTranslate2's in float32 and 8 bits."""
    isa, ladder = loading.isa(rounded.path, rounded.engine), toolkit(baseline, **shared)
    plain = replace(ladder[GREEDY], model=exact, baseline=False, isa=isa)
    plain = plain.but(without={"packed"}) if ctranslate2_products.packs() else plain
    if isa not in (None, HELD):
        ladder[HELD_PEER] = replace(plain, isa=HELD)
    ladder[PEER] = plain
    ladder[INT8] = replace(plain, model=rounded)
    last = ladder[SORTING] = ladder[INT8].but(again={"sorting"})
    if ctranslate2_products.packs():
        last = ladder[PACKED] = last.but(again={"packed"})
    last = ladder[MAP] = replace(last, vocabulary_map=True)
    ladder[OVERLAPPING] = last.but(again={"overlap"})
    return ladder


def native_rungs(model: ModelFolder, last: Configuration) -> dict[str, Configuration]:
    """The native engine with the settings of CTranslate2's ``last`` rung. model: a folder in 8 bits, with a map."""
    same = replace(last, model=model, isa=None)
    return {NATIVE: same.but(without={"map_per_sentence"}), MAP_PER_SENTENCE: same}


def without_ctranslate2(baseline: ModelFolder, by_type: Folders, **shared: Any) -> dict[str, Configuration]:
    """As ``rungs``, with the native engine instead of CTranslate2. by_type: its folders, at least float32 and int8."""
    ladder = toolkit(baseline, **shared)
    exact = replace(ladder[GREEDY], model=by_type["float32"], baseline=False)
    ladder[EXACT] = exact.but(without={"map_per_sentence"})
    if "int16" in by_type:
        ladder[INT16] = replace(ladder[EXACT], model=by_type["int16"])
    ladder[INT8] = replace(ladder[EXACT], model=by_type["int8"])
    last = ladder[MAP] = replace(ladder[INT8], vocabulary_map=True)
    last = ladder[MAP_PER_SENTENCE] = last.but(again={"map_per_sentence"})
    last = ladder[SORTING] = last.but(again={"sorting"})
    ladder[OVERLAPPING] = last.but(again={"overlap"})
    return ladder


def on_one_core(last: Configuration) -> dict[int, Configuration]:
    """The last rung by the tokens of its batches, including its own size."""
    others = {size: replace(last, batch_tokens=size, label=f"{size}-tokens") for size in BATCHES}
    return others | {last.batch_tokens or ONE_CORE: last}


def on_all_cores(last: Configuration) -> dict[int, Configuration]:
    """The last rung with a worker on every core by the tokens of its batches; empty on a machine with one core."""
    cores = machine.cores()
    if len(cores) == 1:
        return {}
    workers = replace(last, workers=len(cores), cores=cores)
    return {size: replace(workers, batch_tokens=size, label=f"all-cores.{size}-tokens") for size in BATCHES}


def reference(exact: ModelFolder, last: Configuration) -> dict[str, Configuration]:
    """The search that a trained model's lost BLEU is relative to, otherwise decoded like the last rung."""
    if exact.description.role == UNTRAINED:
        return {}
    return {SEARCH: replace(last, model=exact, beam_size=comparison.BEAM, vocabulary_map=False)}


def by_engine(models: list[ModelFolder]) -> dict[str, Folders]:
    """Folders by engine and type. Raises UserError where the first engine lacks float32 or 8 bits."""
    found: dict[str, Folders] = {comparison.CTRANSLATE2: {}, comparison.NATIVE: {}}
    for model in models:
        if model.engine.name not in found:
            raise UserError(f"{model.path}: is for {model.engine.label}; give it as --baseline")
        found[model.engine.name][model.description.quantization] = model
    first = found[comparison.CTRANSLATE2] or found[comparison.NATIVE]
    if missing := {"float32", "int8"} - set(first):
        raise UserError(f"--models: none in {' and '.join(sorted(missing))}; a ladder needs both of its first engine")
    return found


def all_rungs(baseline: ModelFolder, models: list[ModelFolder], sentences: int | None) -> tuple[list[Rungs], Rungs]:
    """The rungs of each engine, from the lowest to the highest, and the search that lost BLEU is relative to."""
    peer, native = by_engine(models).values()
    if not peer:
        ladder = without_ctranslate2(baseline, native, **protocol.text(native["int8"], sentences))
        return [ladder], reference(native["float32"], ladder[OVERLAPPING])
    ladder = rungs(baseline, peer["float32"], peer["int8"], **protocol.text(peer["int8"], sentences))
    last = ladder[OVERLAPPING]
    ladders = [ladder, *([native_rungs(native["int8"], last)] if "int8" in native else [])]
    return ladders, reference(peer["float32"], last)


def best(by_tokens: dict[int, Measurement]) -> Measurement:
    """The fastest of the records by tokens of a batch, as a rung."""
    return placed({BEST: fastest(by_tokens)})[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", type=ModelFolder.read, required=True, help="model folder of OpenNMT-tf")
    about = (
        "CTranslate2's in float32 and 8 bits, the native engine's in 8 bits, with maps; if CTranslate2 does not run the"
        " system, the native engine's in float32, 8 bits and optionally 16 bits"
    )
    parser.add_argument("--models", type=ModelFolder.read, nargs="+", required=True, help=about)
    protocol.speed_options(parser)
    args = parser.parse_args()

    ladders, apart = all_rungs(args.baseline, args.models, args.sentences)
    tops = [[*ladder.values()][-1] for ladder in ladders]
    sizes, everywhere = [*map(on_one_core, tops)], [*filter(None, map(on_all_cores, tops))]

    rungs = itertools.chain(*(part.values() for part in ladders))
    by_tokens = itertools.chain(*(part.values() for part in (*sizes, *everywhere)))
    todo = list(dict.fromkeys([*rungs, *by_tokens, *apart.values()]))
    records = dict(zip(todo, protocol.timed(todo, args), strict=True))

    def found(part: dict[Key, Configuration]) -> dict[Key, Measurement]:
        return {key: records[configuration] for key, configuration in part.items()}

    rows = [row for both in zip(ladders, sizes, strict=True) for row in (*placed(found(both[0])), best(found(both[1])))]
    rows += [best(found(part)) for part in everywhere]
    measurement.write(args.output, [*rows, *placed(found(apart))])


def placed(rungs: dict[str, Measurement]) -> list[Measurement]:
    return [replace(record, place=RecordPlace(WNGT, row=name)) for name, record in rungs.items()]


if __name__ == "__main__":
    command(main)
