"""How fast corpora are cleaned, in how much memory, against langid.py, a plain Python loop and OpusFilter.

The load repeats the real pairs of the mirror folder, each time with another short pair appended, so that every pair is
new; a few are spoiled (BAD). Cleaning runs as in the pipeline: one process a part, two at a time on two cores, then one
that gathers. Rivals get the same pairs, and the rules that all of them have.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from cleaning_chain import CORES, chain
from cleaning_load import BAD, BLOCK, load, real_pairs, test_sets
from cleaning_rivals import COMMON, ratios, rivals

from common.errors import UserError, command
from common.files import write_json
from common.machine import describe
from formats import records

PARTS = 8
ALL = COMMON | {
    "control_characters": True,
    "identical": True,
    "min_script_share": 0.5,
    "max_digit_mismatch": 0.5,
    "max_repeats": 3,
    "near_duplicates": True,
}
PAPER = {"pairs": 38_770_929, "English lines": 808_281_759}  # WNGT 2020, table 2


def projection(full: dict[str, Any]) -> dict[str, Any]:
    """Hours for the paper's data: cleaning is divided by the cores, gathering a corpus is not.

    A monolingual line counts as half a pair. Corpora are gathered one after the other, which is the worst case.
    """
    clean = full["clean_seconds"] * len(CORES) / full["pairs"]
    gather = full["gather_seconds"] / full["pairs"]
    lines = PAPER["pairs"] + PAPER["English lines"] / 2
    return {
        "of": PAPER,
        "hours_on_2_cores": round(lines * (clean / 2 + gather) / 3600, 2),
        "hours_on_64_cores": round(lines * (clean / 64 + gather) / 3600, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, default=os.environ.get("NMT_FRONTIER_MIRROR"), help="folder of corpora")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000], help="pairs")
    parser.add_argument("--rival-pairs", type=int, default=20_000, help="(default: %(default)s)")
    parser.add_argument("--runs", type=int, default=9, help="repeats of what is fast (default: %(default)s)")
    parser.add_argument("--opusfilter", type=Path, help="its command, in an environment of its own")
    parser.add_argument("--folder", type=Path, help="scratch space, 10 GB for 10 million pairs")
    parser.add_argument("--output", type=Path, required=True, help="JSON")
    args = parser.parse_args()
    if not args.mirror:
        raise UserError("needs real text: give --mirror or set NMT_FRONTIER_MIRROR")
    folder = Path(tempfile.mkdtemp(dir=args.folder, prefix="corpora-"))
    try:
        pairs = real_pairs(args.mirror)
        held_out = test_sets(args.mirror, folder)
        records.write_blocks(folder / "first.tsv.zst", load(pairs, BLOCK))
        chain(folder / "first.tsv.zst", folder / "first", ALL, 1)  # compiles the loops, once on a machine
        scaling = []
        for size in args.sizes:
            raw = folder / "raw.tsv.zst"
            records.write_blocks(raw, load(pairs, size))
            scaling.append(chain(raw, folder / "full", ALL, PARTS, held_out))
            print(f"{size:,} pairs: {scaling[-1]}", file=sys.stderr, flush=True)
        del pairs
        rates = rivals(raw, folder, args.opusfilter, args.rival_pairs, args.runs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    result = {
        "command": f"python benchmarks/cleaning.py --sizes {' '.join(map(str, args.sizes))} --rival-pairs"
        f" {args.rival_pairs} --runs {args.runs} --opusfilter {args.opusfilter and 'OPUSFILTER'}",
        "machine": describe(),
        "cores": len(CORES),
        "parts": PARTS,
        "rules": ALL,
        "spoiled": BAD,
        "scaling": scaling,
        "rules_of_rivals": COMMON,
        "rivals": rates,
        "ratios": ratios(rates, scaling[-1]),
        "projection": projection(scaling[-1]),
    }
    write_json(args.output, result)
    print(json.dumps(result["ratios"]))


if __name__ == "__main__":
    command(main)
