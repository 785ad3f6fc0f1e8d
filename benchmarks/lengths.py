"""What equal lengths, as of untrained models in the speed tables, are worth to the baseline.

OpenNMT-tf goes on with a batch until its longest translation is done; CTranslate2 takes out those that are. Where all
are forced to one length, nobody waits for the longest. A trained model is timed both ways in both engines, greedily,
on one core, as in the rows "greedy" and "overlapping stages" of decode.ladder, by the protocol of decode.runs.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from tabulate import tabulate

from decode import ladder, machine, runs
from decode.measurements import mark, marks, of_test_set, times_faster
from formats.errors import command
from formats.files import write_json


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", type=Path, required=True, help="model folder of OpenNMT-tf, trained")
    parser.add_argument("--rounded", type=Path, required=True, help="the same model in CTranslate2, 8 bits, with a map")
    parser.add_argument("--steps", type=int, nargs="+", default=[15, 30], help="pieces of every translation")
    runs.options(parser)
    args = parser.parse_args()

    found = ladder.rungs(args.baseline, args.rounded, args.rounded)
    lengths = [None, *args.steps]
    todo = [replace(found[rung], steps=steps) for steps in lengths for rung in (ladder.GREEDY, ladder.OVERLAPPING)]
    records = of_test_set(runs.measured(todo, args), args.test_sets[0][0])
    ratios, lines = [], []
    for steps, baseline, best in zip(lengths, records[::2], records[1::2], strict=True):
        rates = [row["target_tokens_per_second"] for row in (baseline, best)]
        faster, doubt = times_faster(best, baseline), mark(best, baseline)
        ratios.append({"pieces": steps, "target_tokens_per_second": rates, **faster._asdict(), "mark": doubt})
        lines.append([steps or "its own", *(f"{rate:,.0f}" for rate in rates), f"{faster:.2f}{doubt}"])
    call = ["python", "benchmarks/lengths.py", *sys.argv[1:]]
    write_json(args.output, {"command": " ".join(call), **machine.describe(), "ratios": ratios, "records": records})
    heads = ["pieces", "OpenNMT-tf, tokens/s", "CTranslate2, tokens/s", "times faster"]
    print(tabulate(lines, heads, disable_numparse=True), marks(records), sep="\n")


if __name__ == "__main__":
    command(main)
