"""What rounding costs: BLEU of the native engine in every type and on every instruction set, and of CTranslate2.

A row counts the translations that equal those of the same engine in float32. Nothing is timed, so other programs may
run meanwhile.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import sacrebleu
from tabulate import tabulate

from formats import experiments, records
from nmt_frontier import bindings
from nmt_frontier.errors import command
from nmt_frontier.files import write_json
from nmt_frontier.progress import progress
from nmt_frontier.search.native import ISA, Native

TYPES = ("float32", "int16", "int8")  # the first is the reference


def translate(model: Path, beam: int, lines: list[str], isa: str | None) -> list[str]:
    """The translations by nmt-frontier translate, without a map."""
    with tempfile.TemporaryDirectory() as scratch:
        source, output = Path(scratch, "source"), Path(scratch, "output")
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        run = [
            sys.executable,
            "-m",
            "nmt_frontier",
            "translate",
            "--model",
            model,
            "--beam-size",
            beam,
            "--no-vocabulary-map",
        ]
        run += ["--input", source, "--output", output, "--workers", 1]
        environment = {**os.environ, **({ISA: isa} if isa else {})}
        subprocess.run([*map(str, run)], check=True, env=environment, stderr=subprocess.DEVNULL)
        return output.read_text(encoding="utf-8").split("\n")[:-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="folders of systems, results/X/models/Y")
    parser.add_argument("--beam-sizes", type=int, nargs="+", default=[1, 4])
    sets = bindings.available_sets()
    parser.add_argument("--sets", nargs="+", default=sets, choices=sets, help="instruction sets; by default all")
    parser.add_argument("--test-set", type=Path, required=True, help="records")
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    args = parser.parse_args()
    pairs = [*records.read(args.test_set)]
    sources, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    bleu = sacrebleu.BLEU()
    ways = [("native", isa) for isa in args.sets] + [("ctranslate2", None)]
    todo = [(model, beam, *way) for model in args.models for beam in args.beam_sizes for way in ways]
    rows: list[dict[str, Any]] = []
    for model, beam, engine, isa in progress(todo, "translating", total=len(todo), unit="way"):
        exact: list[str] = []
        for kind in TYPES:
            folder = model / (Native.folder(kind) if engine == "native" else kind)
            if not folder.exists():
                continue
            output = translate(folder, beam, sources, isa)
            exact = exact or output
            equal = sum(a == b for a, b in zip(output, exact, strict=True))
            score = bleu.corpus_score(output, [references]).score
            row = {"model": model.name, "engine": engine, "isa": isa, "compute_type": kind, "beam_size": beam}
            rows.append(row | {"bleu": score, "equal_to_float32": equal, "sentences": len(sources)})
    about = {"signature": str(bleu.get_signature()), "test_set": records.name(args.test_set), **experiments.here()}
    write_json(args.output, {**about, "rows": rows})
    print(tabulate(rows, headers="keys", floatfmt=".2f"))


if __name__ == "__main__":
    command(main)
