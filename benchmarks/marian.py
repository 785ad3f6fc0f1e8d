"""CTranslate2, Marian and OpenNMT-tf in one run: types, map and shortlist, one core and all of them.

``--models`` is the output of export.marian, with a shortlist (see the README here): CTranslate2 and Marian decode the
same weights, and the map holds the candidates of the shortlist. Every engine has the widest instructions of the CPU:
CTranslate2 is told to take them, the others do so by themselves. A model of Marian's cannot become one of OpenNMT-tf's,
so ``--baseline`` is another model of the same shape: its speed can be compared, its BLEU is that of other weights. By
the protocol of decode.runs, all on the same cores in turn; a ratio is that of run k and run k.
"""

import argparse
import itertools
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import sacrebleu
from tabulate import tabulate

from decode import engines, machine, runs
from decode.measurements import (
    BASELINE,
    BEAM,
    ENGINES,
    Spread,
    compute_type,
    find,
    mark,
    marks,
    of_test_set,
    search,
    times_faster,
)
from decode.runs import Configuration
from decode.translate import MANY_CORES, ONE_CORE
from formats import marian, records
from formats.errors import UserError, command
from formats.files import write_json

RATE = "source_words_per_second"
MARIAN, GREEDY, BEAMS = "Marian", "OpenNMT-tf, greedy", f"OpenNMT-tf, beam {BEAM}"  # what others are held against

Record = dict[str, Any]


def configurations(models: Path, baseline: Path, cores: tuple[int, ...]) -> list[Configuration]:
    """OpenNMT-tf, then each type in both engines, with and without map, a worker on each core."""
    toolkit = Configuration(baseline, BEAM, baseline=True, batch_tokens=ONE_CORE, cores=cores)
    found = [toolkit, replace(toolkit, beam_size=1)]
    batch_tokens = ONE_CORE if len(cores) == 1 else MANY_CORES
    for kind, mapped in itertools.product(marian.TYPES, (False, True)):
        if (models / kind).exists():
            ours = Configuration(models / kind, 1, mapped, workers=len(cores), cores=cores, batch_tokens=batch_tokens)
            found += [replace(ours, model=models / f"marian-{kind}"), ours]
    return found


def check(models: Path, baseline: Path) -> None:
    """Raises UserError where there is nothing to compare, or models of two shapes."""
    if not (kind := next((kind for kind in marian.TYPES if (models / kind).exists()), None)):
        raise UserError(f"{models}: no model folders in it; make them with export.marian")
    ours, theirs = engines.describe(models / kind), engines.describe(baseline)
    if theirs["engine"] != BASELINE:
        raise UserError(f"{baseline}: is for {theirs['engine']}; --baseline is a model folder of {BASELINE}")
    if ours["shape"] != theirs["shape"]:
        raise UserError(f"{baseline}: its shape is {theirs['shape']}, that of {models / kind} {ours['shape']}")


def scored(record: Record, args: argparse.Namespace) -> Record:
    output = (args.output.parent / record["output"]).read_text(encoding="utf-8").splitlines()
    references = [row[1] for row in records.read(dict(args.test_sets)[record["test_set"]])]
    return record | {"bleu": sacrebleu.corpus_bleu(output, [references]).score}


def way(record: Record) -> str:
    """How it was decoded, in words."""
    if record["engine"] == BASELINE:
        return f"{ENGINES[BASELINE]}, {search(record)}"
    candidates = {"ctranslate2": "map", "marian": "shortlist"}[record["engine"]]
    parts = [ENGINES[record["engine"]], compute_type(record), candidates if record["vocabulary_map"] else ""]
    return ", ".join(filter(None, [*parts, record["forced_isa"]]))


def rivals(record: Record, measured: list[Record]) -> dict[str, Record]:
    """What a record is held against: OpenNMT-tf on as many cores, and Marian with the same type and candidates."""
    there = [other for other in measured if len(other["cores"]) == len(record["cores"])]
    same = {name: record[name] for name in ("compute_type", "vocabulary_map")}
    found = {MARIAN: find(there, engine="marian", **same) if record["engine"] == "ctranslate2" else None}
    found |= {GREEDY: find(there, engine=BASELINE, beam_size=1), BEAMS: find(there, engine=BASELINE, beam_size=BEAM)}
    return {name: other for name, other in found.items() if other}


def ratios(measured: list[Record]) -> list[Record]:
    """Of each way, timed on the first test set: its speed, and how many times faster it is than its rivals."""
    timed = of_test_set(measured, measured[0]["test_set"])
    found = []
    for record in timed:
        times = {
            name: times_faster(record, other)._asdict() | {"mark": mark(record, other)}
            for name, other in rivals(record, timed).items()
        }
        about = {"way": way(record), "engine": record["engine"], "cores": len(record["cores"]), "mark": mark(record)}
        about |= {name: record[name] for name in ("bleu", RATE, f"{RATE}_min", f"{RATE}_max")}
        found.append(about | {"times_faster": times})
    return found


def cells(row: Record) -> Record:
    """A row of ``ratios`` as it is printed."""
    times = {f"× {name}": "" for name in (MARIAN, GREEDY, BEAMS)}
    for name, ratio in row["times_faster"].items():
        times[f"× {name}"] = f"{Spread(ratio['middle'], ratio['low'], ratio['high']):.2f}{ratio['mark']}"
    speed = f"{row[RATE]:,.0f}{row['mark']}"
    return {"cores": row["cores"], "": row["way"], "source words/s": speed, **times, "BLEU": f"{row['bleu']:.2f}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="folder of export.marian")
    parser.add_argument("--baseline", type=Path, required=True, help="model folder of OpenNMT-tf, of the same shape")
    runs.options(parser)
    args = parser.parse_args()

    check(args.models, args.baseline)
    cores = tuple(sorted(os.sched_getaffinity(0)))
    measured = []
    for used in dict.fromkeys((cores[:1], cores)):
        folder = args.translations / f"cores-{len(used)}"
        todo = configurations(args.models, args.baseline, used)
        measured += runs.measured(todo, argparse.Namespace(**{**vars(args), "translations": folder}))
    rows = [scored(row, args) for row in measured]
    call = ["python", "benchmarks/marian.py", *sys.argv[1:]]
    write_json(args.output, {"command": " ".join(call), **machine.describe(), "ratios": ratios(rows), "records": rows})
    print(tabulate(map(cells, ratios(rows)), headers="keys", disable_numparse=True), marks(rows), sep="\n")


if __name__ == "__main__":
    command(main)
