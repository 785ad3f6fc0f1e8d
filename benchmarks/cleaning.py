"""How fast corpora are cleaned, and in how much memory, for one to ten million pairs.

Cleaning runs as in the pipeline: one process a part, two at a time on two cores, then one process that gathers.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from processes import CORES, run_all
from real_text import BAD, BLOCK, LANGUAGES, load, options, real_pairs, scratch, test_sets

from formats import records
from nmt_frontier.errors import command
from nmt_frontier.files import read_json, write_json
from nmt_frontier.machine import describe, load_average

PARTS = 8
RULES = {
    "max_tokens": 100, "max_length_ratio": 3.0, "langid": ["source", "target"], "langid_languages": None,
    "duplicates": True, "control_characters": True, "identical": True, "min_script_share": 0.5,
    "max_digit_mismatch": 0.5, "max_repeats": 3, "near_duplicates": True,
}  # fmt: skip
PAPER = {"pairs": 38_770_929, "English lines": 808_281_759}  # WNGT 2020, table 2


def chain(
    raw: Path, folder: Path, settings: dict[str, Any], parts: int, held_out: list[Path] | None = None
) -> dict[str, Any]:
    """Clean and gather a corpus with one process a core: seconds, peak memory, counts."""
    outputs = [str(folder / "parts" / f"{k}-of-{parts}.tsv.zst") for k in range(1, parts + 1)]
    shared = ["corpora.clean", "--input", str(raw), "--languages", *LANGUAGES, "--rules", json.dumps(settings)]
    shared += ["--held-out", *map(str, held_out)] if held_out else []
    shards = [["--shard", f"{k}/{parts}", "--output", output] for k, output in enumerate(outputs, 1)]
    kinds = [f"--{kind.replace('_', '-')}" for kind in ("duplicates", "near_duplicates") if settings.get(kind)]
    final = folder / "clean.tsv.zst"
    start = time.monotonic()
    peak = run_all([shared + shard for shard in shards])
    cleaned = time.monotonic()
    gather_peak = run_all([["corpora.gather", "--inputs", *outputs, *kinds, "--output", str(final)]])
    end = time.monotonic()
    counts = read_json(records.info(final))
    return {
        "pairs": counts["lines_in"],
        "pairs_per_second": round(counts["lines_in"] / (end - start)),
        "clean_seconds": round(cleaned - start, 2),
        "gather_seconds": round(end - cleaned, 2),
        "clean_peak_rss_bytes": peak,
        "gather_peak_rss_bytes": gather_peak,
        "text_bytes_per_second": round(sum(map(len, records.frames(raw))) / (end - start)),
        "load_average": load_average(),
        "kept": counts["lines_out"],
        "dropped": {reason: count for reason, count in counts["dropped"].items() if count},
    }


def projection(full: dict[str, Any]) -> dict[str, Any]:
    """Hours for the paper's data: the cores share the cleaning; gathering a corpus uses one core.

    A monolingual line counts as half a pair. Corpora are gathered one after the other, which is the worst case.
    """
    clean = full["clean_seconds"] * len(CORES) / full["pairs"]
    gather = full["gather_seconds"] / full["pairs"]
    lines = PAPER["pairs"] + PAPER["English lines"] / 2
    hours = {f"hours_on_{cores}_cores": round(lines * (clean / cores + gather) / 3600, 2) for cores in (2, 64)}
    return {"of": PAPER, **hours}


def main() -> None:
    parser = options(__doc__, "10 GB for 10 million pairs")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000], help="pairs")
    args = parser.parse_args()
    with scratch(args) as folder:
        pairs = real_pairs(args.mirror)
        held_out = test_sets(args.mirror, folder)
        raw, scaling = folder / "raw.tsv.zst", []
        records.write_blocks(raw, load(pairs, BLOCK))
        chain(raw, folder / "first", RULES, 1)  # numba compiles the loops, once on a machine
        for size in args.sizes:
            records.write_blocks(raw, load(pairs, size))
            scaling.append(chain(raw, folder / "full", RULES, PARTS, held_out))
            print(f"{size:,} pairs: {scaling[-1]}", file=sys.stderr, flush=True)
    result = {
        "command": f"python benchmarks/cleaning.py --sizes {' '.join(map(str, args.sizes))}",
        "machine": describe(), "cores": len(CORES), "parts": PARTS, "rules": RULES, "spoiled": BAD,
        "scaling": scaling, "projection": projection(scaling[-1]),
    }  # fmt: skip
    write_json(args.output, result)


if __name__ == "__main__":
    command(main)
