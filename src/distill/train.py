"""Train a model with OpenNMT-tf, watch its dev BLEU, average its last checkpoints.

A killed training continues from its last checkpoint as if it had not been killed: same batches, same dropout. The run
folder is named after everything that defines the training (shape, settings, data, vocabulary, seed, the weights it
begins with; where it can be prolonged, in one phase without an end to its schedule, not the number of steps).
"""

import argparse
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from distill.learning import learning_curve, left_out, mixture, training_seconds
from distill.schedule import kept_checkpoints
from distill.training import Training
from formats.errors import UserError, command
from formats.files import read_json, sha256, whole, write_json
from formats.shape import shape


def run_folder(parent: Path, settings: dict[str, Any]) -> Path:
    """``run-<hash of what defines the training>``, so that a checkpoint is never continued under other settings."""
    given = settings["training"]
    unimportant = {"threads", "device", "averages", "average_last"}
    if given["decay"] != "cosine" and not given["then"]:  # else other steps are another schedule
        unimportant |= {"steps"}
    training = {key: value for key, value in given.items() if key not in unimportant}
    training["kept"] = kept_checkpoints(given)
    known = json.dumps({**settings, "training": training}, sort_keys=True)
    return parent / f"run-{hashlib.sha256(known.encode()).hexdigest()[:8]}"


def averages(run: Path, model: Any, counts: list[int], bleu: Callable[[], float]) -> list[dict[str, float]]:
    """Dev BLEU of the averages of the last so many checkpoints, as far as there are as many."""
    from opennmt.utils.checkpoint import average_checkpoints_into_layer

    found = []
    for count in counts:
        if len(paths := checkpoints(run)) >= count:
            average_checkpoints_into_layer(paths[-count:], model, "model")
            found.append({"checkpoints": count, "bleu": bleu()})
    return found


def checkpoints(run: Path) -> list[str]:
    """Those that are kept, the oldest first; not that of the first step, which OpenNMT-tf saves always."""
    import tensorflow as tf

    paths = list(tf.train.get_checkpoint_state(str(run)).all_model_checkpoint_paths)
    return [path for path in paths if not path.endswith("ckpt-1")] or paths


def average(run: Path, model: Any, count: int, output: Path, vocabulary: Path) -> None:
    """Write the average of the run's last ``count`` checkpoints as a folder that OpenNMT-tf decodes with."""
    from opennmt.utils.checkpoint import average_checkpoints

    with whole(output) as part:
        average_checkpoints(checkpoints(run), str(part), {"model": model}, max_count=count)
        shutil.copy(run / "model_description.py", part)
        shutil.copy(vocabulary, part / "vocabulary.txt")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", required=True, help="name of the system, for the learning curve")
    parser.add_argument("--role", choices=["teacher", "student", "control"], required=True, help="likewise")
    parser.add_argument("--shape", type=json.loads, required=True, help="JSON: encoder_layers, decoder_layers, ...")
    parser.add_argument("--training", type=json.loads, required=True, help="JSON: steps, batch_tokens, ...")
    parser.add_argument("--source", type=Path, nargs="+", required=True, help="epochs in pieces, a sentence a line")
    parser.add_argument("--target", type=Path, nargs="+", required=True)
    parser.add_argument("--epochs", type=Path, nargs="+", required=True, help="JSON of distill.sample of each epoch")
    parser.add_argument("--dev", type=Path, required=True, help="dev set as records, for the references")
    parser.add_argument("--dev-source", type=Path, required=True, help="its source side in pieces")
    parser.add_argument("--vocabulary", type=Path, required=True)
    parser.add_argument("--sentencepiece", type=Path, required=True)
    parser.add_argument("--start-from", type=Path, help="averaged model whose weights the training begins with")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--runs", type=Path, required=True, help="folder for the run: checkpoints, TensorBoard logs")
    parser.add_argument("--averaged", type=Path, required=True, help="folder to write the averaged model to")
    parser.add_argument("--learning", type=Path, required=True, help="learning curve to write, JSON")
    return parser.parse_args()


def main() -> None:
    args = parse()
    logging.basicConfig(format=f"%(asctime)s {args.system}: %(message)s", datefmt="%H:%M:%S", force=True)
    described = [path] if (path := getattr(shape(args.shape), "file", None)) else []
    settings = {
        "shape": asdict(shape(args.shape)),
        "training": args.training,
        "seed": args.seed,
        "data": [sha256(path) for path in (*args.source, *args.target, args.vocabulary, *described)],
    }
    if args.start_from:
        settings["start"] = [sha256(path) for path in sorted(args.start_from.glob("ckpt-*"))]
    run = run_folder(args.runs, settings)
    try:
        training = Training(run, settings, args)
        training.finish()
    except RuntimeError as error:  # diverged, no training steps
        diverged = "a lower learning_rate or more warmup_steps may help; to try the same again, delete the folder"
        advice = diverged if "diverged" in str(error) else "see the log"
        raise UserError(f"training of {args.system} in {run} stopped: {error}; {advice}") from error
    compared = averages(run, training.model, args.training["averages"], training.validation.bleu)
    average(run, training.model, args.training["average_last"], args.averaged, args.vocabulary)
    curve = learning_curve(run)
    epochs = [read_json(path) for path in args.epochs]
    missed = [left_out(*sides, args.training["max_length"]) for sides in zip(args.source, args.target, strict=True)]
    learning = {
        "system": args.system,
        "role": args.role,
        "steps": training.step,
        "phases": training.phases(),
        "shape": str(shape(args.shape)),
        "parameters": int(sum(variable.shape.num_elements() for variable in training.model.trainable_variables)),
        "seed": args.seed,
        "start_from": str(args.start_from) if args.start_from else None,
        "seen": mixture(epochs, missed, training.passes()),
        "left_out": {"pairs": sum(missed), "of": sum(epoch["lines"] for epoch in epochs)},
        "seconds": round(training_seconds(curve), 1),
        "training": curve,
        "validation": training.validation.scores(),
        "averages": compared,
    }
    write_json(args.learning, learning)


if __name__ == "__main__":
    command(main)
