"""What makes a step of a training faster on a CPU: the loss, oneDNN, wider buckets of lengths, bfloat16.

Every way runs in a process of its own on one core, in turn with the others, on the same sentences of a study: a few
steps to warm up, then the steps that count. Rates are pieces of both sides, padding not counted, a second.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

from decode import machine
from decode.measure import pin
from decode.translate import positive
from decode.turns import spread
from distill import config
from distill.systems import systems
from formats.errors import UserError, command
from formats.files import write_json
from formats.progress import progress
from formats.shape import shape

ON, OFF = {"TF_ENABLE_ONEDNN_OPTS": "1"}, {"TF_ENABLE_ONEDNN_OPTS": "0"}
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2"}  # Eigen's products, too, are those of a oneDNN
WAYS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {  # environment, and options of ``steps``
    "as trained here": (ON, {}),
    "OpenNMT-tf's loss": (ON, {"loss": False}),
    "without oneDNN": (OFF, {}),
    "held to AVX2": (ON | AVX2, {}),
    "held to AVX2, without oneDNN": (OFF | AVX2, {}),
    "lengths of 1 in a bucket": (ON, {"bucket": 1}),
    "lengths of 8 in a bucket": (ON, {"bucket": 8}),
    "bfloat16": (ON, {"policy": "mixed_bfloat16"}),
}
WARM_UP = 4  # steps


def measured(
    study: Path, values: dict[str, Any], settings: dict[str, Any], options: dict[str, Any]
) -> dict[str, float]:
    """Make the steps of one way. values: the shape; settings: the training; options: count, loss, bucket and policy."""
    import opennmt
    import tensorflow as tf

    from distill import cross_entropy, training

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.keras.mixed_precision.set_global_policy(options.get("policy", "float32"))
    tf.keras.utils.set_random_seed(1)
    training.LENGTH_BUCKET = options.get("bucket", training.LENGTH_BUCKET)
    if options.get("loss", True):
        cross_entropy.install()
    vocabulary = str(study / "vocabulary/vocabulary.txt")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model_description.py").write_text(shape(values).model_description(settings["dropout"]))
        model = opennmt.load_model(folder)
        parameters = training.opennmt_parameters(settings, 1000)
        model.initialize({"source_vocabulary": vocabulary, "target_vocabulary": vocabulary}, params=parameters)
    optimizer = model.get_optimizer()
    model.create_variables(optimizer=optimizer)
    files = (study / f"training/original.1.{side}" for side in ("source", "target"))
    made = training.dataset(model, settings, *files, 100_000)
    batches = list(islice(made, WARM_UP + options["count"]))
    trainer = opennmt.training.Trainer(model, optimizer)
    trainer._training_stats = opennmt.training.TrainingStats(model, optimizer)
    losses = trainer._steps(Given(batches, made.element_spec))
    for _ in range(WARM_UP):
        next(losses)
    start = time.perf_counter()
    loss = list(losses)[-1]
    seconds = time.perf_counter() - start
    sides = [side for batch in batches[WARM_UP:] for side in batch]
    pieces = sum(int(tf.reduce_sum(side["length"])) for side in sides)
    padded = sum(int(tf.size(side["ids"])) for side in sides)
    return {"tokens_per_second": pieces / seconds, "padding": 1 - pieces / padded, "loss": loss}


class Given:
    """Batches that are there already, as the ``tf.data.Dataset`` of OpenNMT-tf's Trainer."""

    def __init__(self, batches: list[Any], element_spec: Any):
        self._batches, self.element_spec = batches, element_spec

    def __iter__(self) -> Iterator[Any]:
        return iter(self._batches)


def run(way: str, args: argparse.Namespace) -> dict[str, float]:
    """One run of one way in a process of its own."""
    environment, options = WAYS[way]
    call = [sys.executable, __file__, "--config", args.config, "--systems", *args.systems, "--core", str(args.core)]
    call += ["--output", "-", "--way", json.dumps({"count": args.steps, **options})]
    done = subprocess.run(call, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"{way}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="configs/demo.yaml", help="the study, whose data are there")
    parser.add_argument("--systems", nargs="+", default=["teacher", "deep", "tiny"], help="whose steps are made")
    parser.add_argument("--steps", type=positive, default=20)
    parser.add_argument("--runs", type=positive, default=3)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--output", type=Path, required=True, help="JSON to write")
    parser.add_argument("--way", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    study = config.load(args.config)
    found = {system.name: system for system in systems(study)}
    pin([args.core])
    if args.way:
        system = found[args.systems[0]]
        print(json.dumps(measured(Path("results", study["study"]), system.shape, system.training, args.way)))
        return

    rows = []
    for name in args.systems:
        one = argparse.Namespace(**{**vars(args), "systems": [name]})
        jobs = list(product(range(args.runs), WAYS))
        runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
        for _, way in progress(jobs, name, total=len(jobs), unit="run"):
            runs[way].append(run(way, one))
        base = [result["tokens_per_second"] for result in runs["as trained here"]]
        for way, results in runs.items():
            rates = [result["tokens_per_second"] for result in results]
            ratios = [rate / other for rate, other in zip(rates, base, strict=True)]
            rows.append({"system": name, "way": way, **spread("tokens_per_second", rates), **spread("ratio", ratios)})
            rows[-1] |= {"padding": results[0]["padding"], "loss": results[0]["loss"]}
            shown = (rows[-1][key] for key in ("tokens_per_second", "ratio", "ratio_min", "ratio_max"))
            print("{:<10}{:<32}{:>8,.0f} tokens/s {:>6.2f} ({:.2f} to {:.2f})".format(name, way, *shown))
    call = " ".join(["python", "benchmarks/training.py", *sys.argv[1:]])
    write_json(
        args.output, {"command": call, **machine.describe(), "steps": args.steps, "runs": args.runs, "rows": rows}
    )


if __name__ == "__main__":
    command(main)
