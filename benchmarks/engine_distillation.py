"""The native engine against CTranslate2 in distillation: how many times faster a teacher makes its n-best lists.

Both run as ``distill.translate`` runs them, with the same weights, limits and one worker, each with batches of its own,
in turn, in this process, on one core. A ratio is that of the tokens of all hypotheses per CPU second, run by run.
Reading and tokenization are not in it. CTranslate2 runs as its environment variables say: try them, and give the best.
"""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import cpu
from common.command_line import pick
from common.errors import command
from common.files import write_json
from decode.engines import Batch
from decode.engines.native import Native
from distill.teacher import load
from engine import PEER, check, record
from measure import in_process
from measure.in_process import Conditions

SEARCHES = ((4, 1), (8, 8))  # beam size, n-best


def compared(model: Path, kind: str, sentences: Batch, conditions: Conditions) -> list[dict[str, Any]]:
    """The records of one teacher in one type, for every search."""
    folders = {"native": model / Native.folder(kind), PEER: model / kind}
    teachers = {name: load(folder, 1, "cpu") for name, folder in folders.items()}
    found = []
    for beam, n_best in SEARCHES:
        outputs: dict[str, list[Batch]] = {}

        def way(name: str, beam: int = beam, n_best: int = n_best, outputs: dict = outputs) -> Callable[[], None]:
            def call() -> None:
                lists = teachers[name].n_best(sentences, beam, n_best)
                outputs[name] = [[[piece for pieces, _ in hypotheses for piece in pieces] for hypotheses in lists]]

            return call

        what = f"{kind}, {n_best} of {beam}"
        usages = in_process.timed({name: way(name) for name in teachers}, conditions, [conditions.core], what)
        row = record(model, kind, beam, "distillation", usages, outputs)  # equal: whole lists
        found.append(row | {"n_best": n_best, "isa": teachers["native"].isa, "vocabulary_map": False})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="folders of teachers, results/X/models/Y")
    parser.add_argument("--types", nargs="+", default=["float32", "int8"])
    in_process.options(parser)
    args = parser.parse_args()
    conditions = pick(Conditions, args)
    os.sched_setaffinity(0, [conditions.core])
    records = []
    for model in args.models:
        for kind in args.types:
            check(model, kind)
            records += compared(model, kind, in_process.pieces(model / kind, conditions), conditions)
    shared = in_process.shared_fields(conditions) | {"peer_settings": cpu.settings()}
    write_json(args.output, [row | shared for row in records])


if __name__ == "__main__":
    command(main)
