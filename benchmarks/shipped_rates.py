"""Make src/study/rates.json, the rates that ship with the package, of the kept benchmarks of stages."""

import argparse
from pathlib import Path
from typing import Any

from nmt_frontier.errors import UserError, command
from nmt_frontier.files import read_json, write_json
from study.rates import SHIPPED

BENCHMARKS = Path("results/reference/benchmarks")
SCRIPTS = {"corpora": "cleaning.py", "stages": "stages.py", "vmap": "vmap.py"}  # by the JSON's name


def shipped(folder: Path) -> dict[str, Any]:
    """rates: of the machine (study.rates.Rates). text: study.rates.Rate by the name of the work.

    Raises UserError if a file is missing, or if its runs contradict each other.
    """
    corpora, stages, vmap = files = [_read(folder / f"{name}.json") for name in SCRIPTS]
    per_unit = (_of_corpora(corpora), _of_stages(stages["stages"]), _of_vmap(vmap))
    text = {
        work: {
            "seconds": seconds,
            "unit": "line" if work.startswith("vocabulary") else "pair",
            "file": (folder / f"{name}.json").as_posix(),
            "cpu": file["machine"]["cpu"],
        }
        for name, file, seconds_of in zip(SCRIPTS, files, per_unit, strict=True)
        for work, seconds in seconds_of.items()
    }
    return {"rates": stages["rates"] | {"cpu": stages["machine"]["cpu"]}, "text": text}


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        script = f"benchmarks/{SCRIPTS[path.stem]}, see benchmarks/README.md"
        raise UserError(f"{path}: no such benchmark; make it with {script}")
    return read_json(path)


def _of_corpora(corpora: dict[str, Any]) -> dict[str, float]:
    full = corpora["scaling"][-1]
    return {
        "clean": full["clean_seconds"] * corpora["cores"] / full["pairs"],
        "gather, drop duplicates": full["gather_seconds"] / full["pairs"],
    }


def _of_stages(stages: dict[str, Any]) -> dict[str, float]:
    """A draw reads all pairs and writes some of them; a vocabulary reads all lines and learns from some of them."""
    read, drawn = solved(stages["draw few"], stages["draw all"], "drawn")
    line, learned = solved(*(stages[name] for name in stages if name.startswith("vocabulary")), "sentences")
    each = {
        name: stages[name]["cpu_seconds"] / stages[name]["read"] for name in ("subset", "gather", "encode", "select")
    }
    return each | {"draw: read": read, "draw: write": drawn, "vocabulary: read": line, "vocabulary: learn": learned}


def _of_vmap(vmap: dict[str, Any]) -> dict[str, float]:
    full, aligner = vmap["scaling"][-1], vmap["fast_align"]
    return {
        "teach the aligner": aligner["train_seconds"] * aligner["train_threads"] / vmap["real_pairs"],
        "align": 1 / aligner["apply_pairs_per_second"],
        "extract phrases": full["extract_seconds"] * vmap["cores"] / full["pairs"],
        "merge phrases": full["merge_seconds"] / full["pairs"],
    }


def solved(few: dict[str, float], many: dict[str, float], amount: str) -> tuple[float, float]:
    """Seconds per unit read and per unit of ``amount``, from two runs that read as much as each other.

    Raises UserError if the runs contradict each other, which happens with few pairs on a busy machine.
    """
    each = (many["cpu_seconds"] - few["cpu_seconds"]) / (many[amount] - few[amount])
    read = (few["cpu_seconds"] - each * few[amount]) / few["read"]
    if min(each, read) <= 0:
        raise UserError(f"stages.json: more {amount} took no longer; run benchmarks/stages.py again, with more --pairs")
    return read, each


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    folder = "folder of their JSON (default: %(default)s)"
    parser.add_argument("--benchmarks", type=Path, default=BENCHMARKS, help=folder)
    parser.add_argument("--output", type=Path, default=SHIPPED, help="(default: %(default)s)")
    args = parser.parse_args()
    write_json(args.output, shipped(args.benchmarks))


if __name__ == "__main__":
    command(main)
