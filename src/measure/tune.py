"""Find the fastest settings of a model folder on this machine, and keep them beside the model.

    python -m measure.tune --model MODEL --text TEXT

First the instruction set that the engine is told to use is chosen, if it has to be told, then the tokens of a batch.
The settings take turns (measure.interleave), each run a process of its own (measure.run) on all cores that this process
may use; the highest median of words a second wins. For a native model each of its products is timed, too
(measure.tune_products). The folder keeps the settings of every machine it was tuned on, and
decode.translate uses those of its machine (decode.tuned).
"""

import argparse
import functools
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from common import machine
from common.command_line import positive
from common.errors import UserError, command
from common.files import read_json, write_json
from decode import engines, tuned
from decode.engines.native import Native
from decode.pipeline import MANY_CORES, ONE_CORE
from decode.translate import decoded
from decode.tuned import Settings
from formats import model_folder, records
from measure import interleave, tune_products
from measure.interleave import Repeats
from measure.kept_runs import inherited
from measure.summary import Run, others

BATCHES = (64, 128, 256, 512, 1024, 2048)
REPEATS = Repeats(runs=3, noise=0.1)
SENTENCES = 2000


def tune(folder: Path, lines: Iterable[str], beam_size: int = 1) -> Settings:
    """Find the settings with these lines and write them into the folder. Raises UserError for too little text."""
    remembered = tuned.read(folder)
    cores = [*machine.cores()]
    widest = engines.of(folder).widest()
    choices = {"isa": [widest, "AVX2"] if widest else [None], "batch_tokens": list(BATCHES)}
    best: Settings = {"isa": widest, "batch_tokens": ONE_CORE if len(cores) == 1 else MANY_CORES}
    with tempfile.TemporaryDirectory() as scratch:
        text = Path(scratch) / "text.tsv.zst"
        chosen = itertools.islice(filter(None, map(records.sentence, lines)), SENTENCES)
        used, _ = records.write(text, ((line,) for line in chosen))
        if used < SENTENCES // 10:
            raise UserError(f"{used} lines are too few to tune with; give {SENTENCES:,} of the kind to translate")
        for setting, values in choices.items():
            candidates = [best | {setting: value} for value in values]
            speeds = words_per_second(folder, text, cores, candidates, beam_size)
            best, speed = max(zip(candidates, speeds, strict=True), key=lambda pair: pair[1])
    settings = {**best, "source_words_per_second": round(speed)}
    if engines.of(folder) is Native:
        settings["products"] = tune_products.products(folder)
    write_json(folder / model_folder.TUNED, {**remembered, tuned.here(beam_size): settings})
    return settings


def words_per_second(
    folder: Path, text: Path, cores: list[int], candidates: list[Settings], beam_size: int
) -> list[float]:
    """Source words a second with each of the settings, the median of the runs."""
    ways = {
        number: functools.partial(decode, folder, text, cores, settings, beam_size)
        for number, settings in enumerate(candidates)
    }
    results = interleave.timed(ways, REPEATS, "tuning", others)
    if (disturbance := max(others(run) for runs in results.values() for run in runs)) > REPEATS.noise:
        print(f"warning: others used {disturbance:.0%} of the cores; tune again when they do not", file=sys.stderr)
    return [statistics.median(map(speed, runs)) for runs in results.values()]


def decode(folder: Path, text: Path, cores: list[int], settings: Settings, beam_size: int, _number: int) -> Run:
    """Decode the text in a process of its own."""
    output = text.with_name("run.json")
    call = ["-m", "measure.run", "--model", folder, "--test-sets", f"text={text}", "--output", output]
    call += ["--beam-size", beam_size, "--workers", len(cores), "--cores", *cores]
    call += ["--batch-tokens", settings["batch_tokens"]]
    told = {engines.of(folder).isa_variable: settings["isa"]} if settings["isa"] else {}
    done = subprocess.run([sys.executable, *map(str, call)], env=inherited() | told, check=False)
    if done.returncode:
        raise UserError(f"{folder}: decoding failed with status {done.returncode}; see above")
    return read_json(output)


def speed(run: Run) -> float:
    row = run["test_sets"]["text"]
    return row["source_words"] / row["text_seconds"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder")
    parser.add_argument("--text", type=Path, required=True, help=f"{SENTENCES:,} lines of the kind to translate")
    parser.add_argument("--beam-size", type=positive, default=1, help="that the settings are for; 1 is greedy search")
    args = parser.parse_args()

    with open(args.text, "rb") as source:
        print(json.dumps(tune(args.model, map(decoded, source), args.beam_size)))


if __name__ == "__main__":
    command(main)
