"""COMET of all translations of a study, by the program comet-score of an environment of its own (findings.metrics).

The program loads the model once per test set and scores equal translations once. It runs on the CPU, in half precision
as in unbabel-comet 2.2.7, and offline: the encoder's tokenizer and configuration must be in Hugging Face's cache.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from findings import metrics
from findings.comparison import translations
from formats import measurement
from formats.records import read_output, read_pairs
from nmt_frontier.command_line import named_path, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import read_json, sha256, write_json
from nmt_frontier.progress import progress

OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}  # the latter for older releases of transformers
SHOWN = 8  # last lines of a failed program

Outputs = dict[str, Path]  # files of translations by their sha256


def score(program: str, checkpoint: Path, test_set: Path, outputs: Outputs) -> dict[str, float]:
    """The scores of translations of one test set, by their sha256. Raises UserError where the program fails."""
    records = read_pairs(test_set)
    texts = {"source": [record[0] for record in records], "reference": [record[1] for record in records]}
    texts |= {digest: read_output(path, len(records)) for digest, path in outputs.items()}
    with tempfile.TemporaryDirectory(prefix="comet-") as name:
        folder = Path(name)
        for file, lines in texts.items():
            (folder / file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        found = run(program, checkpoint, folder, list(outputs))
    return {digest: mean(program, found.get(digest, []), len(records), path) for digest, path in outputs.items()}


def run(program: str, checkpoint: Path, folder: Path, outputs: list[str]) -> dict[str, list[float]]:
    """The scores of the sentences of these files in a folder. program, checkpoint: absolute paths."""
    call = [program, "-s", "source", "-t", *outputs, "-r", "reference"]
    call += ["--model", str(checkpoint), "--to_json", "scores.json", "--gpus", "0", "--quiet", "--only_system"]
    done = subprocess.run(
        call, cwd=folder, env=os.environ | OFFLINE, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-SHOWN:])
        advice = "is its encoder in the cache on the disk (docs/results.md#metrics)?"
        raise UserError(f"{program} ended with status {done.returncode}; {advice} Its last lines:\n{last}")
    try:
        found = read_json(folder / "scores.json")
        return {name: [sentence["COMET"] for sentence in sentences] for name, sentences in found.items()}
    except (FileNotFoundError, json.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
        raise UserError(f"{program}: its scores are not in the form of unbabel-comet 2.2 ({error!r})") from None


def mean(program: str, scores: list[float], sentences: int, output: Path) -> float:
    """The score of a file from those of its sentences."""
    if len(scores) != sentences:
        raise UserError(f"{program}: {len(scores)} scores for the {sentences} sentences of {output}")
    if not all(map(math.isfinite, scores)):
        raise UserError(f"{program}: some scores of {output} are no numbers; does the checkpoint overflow in 16 bits?")
    return metrics.COMET_SCALE * statistics.fmean(scores)


def measured(paths: Iterable[Path]) -> list[tuple[str, Path]]:
    """Test set and file of translations of all records to score."""
    records = [(path, record) for path in paths for record in measurement.read(path)]
    return [(record.test_set, translations(path, record)) for path, record in records if not record.speed_only]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=there, required=True, help="NAME.ckpt of a COMET model, on this disk")
    parser.add_argument("--program", default="comet-score", help="its name on PATH, or its path")
    parser.add_argument("--test-sets", type=named_path, nargs="+", required=True, help="name=path of records")
    parser.add_argument("--records", type=there, nargs="*", default=[], help="JSON lists of measure.benchmark")
    parser.add_argument("--outputs", type=named_path, nargs="*", default=[], help="name of the test set=translations")
    parser.add_argument("--output", type=Path, required=True, help="JSON with scores to write")
    args = parser.parse_args()
    if lines := metrics.comet_problems(str(args.checkpoint), args.program):
        raise UserError("\n".join(lines))

    checkpoint, program = args.checkpoint.absolute(), str(Path(shutil.which(args.program)).absolute())
    files = [*measured(args.records), *args.outputs]
    scores = {}
    for name, path in progress(args.test_sets, "scoring with COMET", total=len(args.test_sets), unit="test set"):
        outputs = {sha256(output): output for of, output in files if of == name}
        scores[name] = score(program, checkpoint, path, outputs) if outputs else {}
    write_json(args.output, {"signature": metrics.comet_signature(checkpoint, program), "scores": scores})


if __name__ == "__main__":
    command(main)
