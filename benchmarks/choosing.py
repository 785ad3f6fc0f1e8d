"""Choosing by minimum Bayes risk: hypotheses per second of one core, by metric and by their number, beside sacreBLEU's.

The lists are a study's, with as many samples as the largest of ``--numbers`` or more; of each list the first ones are
compared. sacreBLEU compares them pair by pair. Reading the lists is not timed.
"""

import argparse
import shlex
import sys
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from distill import n_best_lists
from distill.least_risk import Metric
from formats import experiments
from formats.spread import Spread
from measure import in_process
from measure.timing_loop import Repeats
from nmt_frontier import machine
from nmt_frontier.command_line import positive, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import write_json

WAYS = {"bleu": Metric("bleu"), "chrf": Metric("chrf"), "chrf, aggregate": Metric("chrf", aggregate=True)}
SACREBLEU = {"bleu": BLEU(effective_order=True), "chrf": CHRF()}
REPEATS = Repeats(runs=5, noise=0.1)
SLOW = 4_000  # pairs that sacreBLEU compares

Lists = list[list[str]]


def expected(metric: Metric, lists: Lists) -> None:
    """The work that is timed; the weights are equal."""
    for texts in lists:
        metric.expected(texts, np.full(len(texts), 1 / len(texts)))


def pair_by_pair(metric: BLEU | CHRF, lists: Lists) -> None:
    """The same with sacreBLEU."""
    for texts in lists:
        [[metric.sentence_score(text, [other]).score for other in texts] for text in texts]


def compared(lists: Lists, number: int, core: int) -> list[dict[str, Any]]:
    """The records of lists of so many hypotheses."""
    cut = [texts[:number] for texts in lists]
    few = cut[: max(SLOW // number**2, 1)]
    ways: dict[str, tuple[Callable[[], None], Lists]] = {
        name: (partial(expected, metric, cut), cut) for name, metric in WAYS.items()
    }
    ways |= {f"sacreBLEU's {name}": (partial(pair_by_pair, metric, few), few) for name, metric in SACREBLEU.items()}
    usages = in_process.timed({name: call for name, (call, _) in ways.items()}, REPEATS, [core], f"{number} hypotheses")
    rows = []
    for name, runs in usages.items():
        hypotheses = sum(map(len, ways[name][1]))
        rate = Spread.of(hypotheses / run.cpu_seconds for run in runs)
        rates = {"median": rate.middle, "min": rate.low, "max": rate.high, "others": in_process.others(runs)}
        rows.append({"way": name, "number": number, "lists": len(ways[name][1]), "hypotheses": hypotheses} | rates)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-best-lists", type=there, required=True, help="of a shard, results/STUDY/n-best/...")
    parser.add_argument("--lists", type=positive, default=200, help="only the first ones that are long enough")
    parser.add_argument("--numbers", type=positive, nargs="+", default=[8, 32, 64], help="of hypotheses")
    parser.add_argument("--core", type=int, default=machine.cores()[-1], help="to run on")
    parser.add_argument("--output", type=Path, required=True, help="JSON")
    args = parser.parse_args()

    machine.pin([args.core])
    texts = ([one.text for one in each.hypotheses] for each in n_best_lists.read(args.n_best_lists))
    lists = [*islice((each for each in texts if len(each) >= max(args.numbers)), args.lists)]
    if not lists:
        raise UserError(f"{args.n_best_lists}: no list has {max(args.numbers)} hypotheses; lower --numbers")
    rows = [row for number in args.numbers for row in compared(lists, number, args.core)]
    call = f"python benchmarks/choosing.py {shlex.join(sys.argv[1:])}"
    unit = "hypotheses per CPU second of one core"
    characters = sum(len(text) for each in lists for text in each) / sum(map(len, lists))
    about = {"command": call, "machine": experiments.here(), "unit": unit, "characters": characters}
    write_json(args.output, about | {"rows": rows})


if __name__ == "__main__":
    command(main)
