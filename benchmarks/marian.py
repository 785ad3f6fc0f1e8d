"""CTranslate2, Marian and OpenNMT-tf in one run: types, map and shortlist, one core and all of them.

``--models`` is the output of export.marian, with a shortlist (see the README here): CTranslate2 and Marian decode the
same weights, and the map holds the candidates of the shortlist. Every engine uses the widest instructions of the CPU,
which CTranslate2 needs an environment variable for. A model of Marian cannot be converted to OpenNMT-tf, so
``--baseline`` is another model of the same shape: compare its speed, not its BLEU. All are measured on the same cores
in turn (measure.protocol); ratios are taken run by run.
"""

import argparse
import itertools
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import sacrebleu
from tabulate import tabulate

from findings.captions import compute_type, mark, marks, search
from findings.comparison import BASELINE, BEAM, find, of_test_set, times_faster
from formats import experiments, marian, records
from formats.measurement import Measurement, Scores
from formats.spread import Spread
from measure import protocol
from measure.configuration import Benchmark, Configuration, ModelFolder
from nmt_frontier import machine
from nmt_frontier.command_line import pick
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json
from nmt_frontier.search import loading
from nmt_frontier.search.pipeline import MANY_CORES, ONE_CORE

RATE = "source_words_per_second"
MARIAN, GREEDY, BEAMS = "Marian", "OpenNMT-tf, greedy", f"OpenNMT-tf, beam {BEAM}"  # the references of ratios

Row = dict[str, Any]


def configurations(models: Path, baseline: ModelFolder, cores: tuple[int, ...]) -> list[Configuration]:
    """OpenNMT-tf, then each type in both engines, with and without map, with a worker on each core."""
    toolkit = Configuration(baseline, beam_size=BEAM, baseline=True, batch_tokens=ONE_CORE, cores=cores)
    todo = [toolkit, replace(toolkit, beam_size=1)]
    batch_tokens = ONE_CORE if len(cores) == 1 else MANY_CORES
    for kind, mapped in itertools.product(marian.TYPES, (False, True)):
        if (models / kind).exists():
            shared = {"vocabulary_map": mapped, "workers": len(cores), "cores": cores, "batch_tokens": batch_tokens}
            folders = ModelFolder.read(models / f"marian-{kind}"), ModelFolder.read(models / kind)
            todo += [Configuration(folder, **shared) for folder in folders]
    return todo


def check(models: Path, baseline: ModelFolder) -> None:
    """Raises UserError if there is nothing to compare or the shapes differ."""
    if not (kind := next((kind for kind in marian.TYPES if (models / kind).exists()), None)):
        raise UserError(f"{models}: no model folders in it; make them with export.marian")
    made, toolkit = loading.describe(models / kind), baseline.description
    if toolkit.engine != BASELINE:
        raise UserError(f"{baseline.path}: is for {toolkit.engine}; --baseline is a model folder of {BASELINE}")
    if made.shape != toolkit.shape:
        raise UserError(f"{baseline.path}: its shape is {toolkit.shape}, that of {models / kind} {made.shape}")


def scored(record: Measurement, shared: Benchmark) -> Measurement:
    """The record with its BLEU."""
    output = (shared.output.parent / record.decoding.output).read_text(encoding="utf-8").splitlines()
    references = [row[1] for row in records.read(dict(shared.test_sets)[record.test_set])]
    return replace(record, scores=Scores(bleu=sacrebleu.corpus_bleu(output, [references]).score))


def way(record: Measurement) -> str:
    """The engine and its settings in words."""
    if record.decoding.engine == BASELINE:
        return f"{record.decoding.engine_label}, {search(record)}"
    candidates = {"ctranslate2": "map", "marian": "shortlist"}[record.decoding.engine]
    parts = [record.decoding.engine_label, compute_type(record), candidates if record.decoding.vocabulary_map else ""]
    return ", ".join(filter(None, [*parts, record.conditions.forced_isa]))


def rivals(record: Measurement, measured: list[Measurement]) -> dict[str, Measurement]:
    """The references of a record: OpenNMT-tf on as many cores, and Marian with the same type and candidates."""
    there = [other for other in measured if len(other.decoding.cores) == len(record.decoding.cores)]
    same = {name: record.value(name) for name in ("compute_type", "vocabulary_map")}
    references = {MARIAN: find(there, engine="marian", **same) if record.decoding.engine == "ctranslate2" else None}
    references |= {name: find(there, engine=BASELINE, beam_size=beam) for name, beam in ((GREEDY, 1), (BEAMS, BEAM))}
    return {name: other for name, other in references.items() if other}


def ratios(measured: list[Measurement]) -> list[Row]:
    """The speed of each way on the first test set, and how many times faster it is than its rivals."""
    timed = of_test_set(measured, measured[0].test_set)
    rows = []
    for record in timed:
        times = {
            name: times_faster(record, other)._asdict() | {"mark": mark(record, other)}
            for name, other in rivals(record, timed).items()
        }
        how = record.decoding
        row = {"way": way(record), "engine": how.engine, "cores": len(how.cores), "mark": mark(record)}
        row |= {"bleu": record.scores.bleu} | record.timing.source_words_per_second.fields(RATE)
        rows.append(row | {"times_faster": times})
    return rows


def cells(row: Row) -> dict[str, Any]:
    """A row of ``ratios`` for the printed table."""
    times = {f"× {name}": "" for name in (MARIAN, GREEDY, BEAMS)}
    for name, ratio in row["times_faster"].items():
        times[f"× {name}"] = f"{Spread(ratio['middle'], ratio['low'], ratio['high']):.2f}{ratio['mark']}"
    speed = f"{row[RATE]:,.0f}{row['mark']}"
    return {"cores": row["cores"], "": row["way"], "source words/s": speed, **times, "BLEU": f"{row['bleu']:.2f}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="folder of export.marian")
    parser.add_argument("--baseline", type=ModelFolder.read, required=True, help="of OpenNMT-tf, of the same shape")
    protocol.options(parser)
    args = parser.parse_args()

    shared = pick(Benchmark, args)
    check(args.models, args.baseline)
    cores = machine.cores()
    measured = []
    for used in dict.fromkeys((cores[:1], cores)):
        todo = configurations(args.models, args.baseline, used)
        folder = args.translations / f"cores-{len(used)}"
        measured += protocol.measured(todo, replace(shared, translations=folder))
    rows = [scored(record, shared) for record in measured]
    call = ["python", "benchmarks/marian.py", *sys.argv[1:]]
    result = {"command": " ".join(call), **experiments.here(), "ratios": ratios(rows)}
    write_json(args.output, result | {"records": [record.as_json() for record in rows]})
    print(tabulate(map(cells, ratios(rows)), headers="keys", disable_numparse=True), marks(rows), sep="\n")


if __name__ == "__main__":
    command(main)
