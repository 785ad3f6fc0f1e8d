"""Train a model with OpenNMT-tf, validate it on the dev set, and average its last checkpoints.

A killed training continues from its last checkpoint as if it had not been killed: same batches, same dropout. In a job
with a time limit it ends in time, at a checkpoint (common.batch_job). The name of the run folder is a hash of
everything that defines the training: shape, settings, data, vocabulary, seed, and the weights it starts from. The
number of steps is left out if more of them merely prolong the training: with a single phase whose learning rate does
not depend on its end. (From there on a prolonged training has other dropout than one that was as long at once, and with
patience one more validation.)
"""

import argparse
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from common import folder_lock
from common.batch_job import BatchJob
from common.document import Document, argument, short
from formats.learning import Average, Learning, LeftOut
from formats.shape import shape
from nmt_frontier.command_line import pick, there
from nmt_frontier.errors import UserError, command
from nmt_frontier.files import atomic_path, sha256, write_json
from train import precision
from train.schedule import kept_checkpoints
from train.settings import TrainingSettings
from train.training import Inputs, Training
from train.training_record import learning_curve, left_out, mixture, read_epochs, training_seconds

FULL = ("No space left", "quota exceeded")  # TensorFlow has the same error for full disks and full memory


def definition(asked: TrainingSettings, data: Iterable[Path], start: Path | None) -> Document:
    """Everything that defines a training, ready for JSON, with the checksums of files; no key is at its default.

    data: epochs, vocabulary, and the dev set if it ends phases. start: an averaged model whose weights the training
    starts from.
    """
    try:
        built = shape(asked.shape)
    except ValueError as error:
        raise UserError(f"shape: {error}") from None
    model_file = getattr(built, "file", None)
    settings = {
        "shape": {one.name: value for one in fields(built) if (value := getattr(built, one.name)) != one.default},
        "training": learned(asked),
        "seed": asked.seed,
        "data": [sha256(path) for path in (*data, *([model_file] if model_file else []))],
    }
    if start:
        settings["start"] = [sha256(path) for path in sorted(start.glob("ckpt-*"))]
    if asked.start_layers:
        settings["start_layers"] = asked.start_layers.document
    if asked.words:
        settings["words"] = asked.words.document
    return settings


def learned(asked: TrainingSettings) -> Document:
    """The keys of a training that decide what its checkpoints are, without those at their defaults."""
    training = asked.training
    irrelevant = {"threads", "device", "averages", "average_last"}
    if training.decay != "cosine" and not training.then:  # else the number of steps changes the schedule
        irrelevant |= {"steps", *(["epochs"] if training.epochs else [])}
    relevant = {key: value for key, value in short(training).items() if key not in irrelevant}
    return relevant | {"kept": kept_checkpoints(training.average_last, training.averages)}


def run_folder(parent: Path, defined: Document) -> Path:
    """``run-<hash of the definition>``, so that no training continues under other settings."""
    text = json.dumps(defined, sort_keys=True)
    return parent / f"run-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def begun(parent: Path, asked: TrainingSettings, defined: Document) -> tuple[str, Path]:
    """What a training multiplies in, and its run folder, whose name depends on it.

    Where the settings leave it open, a run that has begun goes on as it began, on another machine, too.
    """

    def run(name: str) -> Path:
        return run_folder(parent, {**defined, "training": {**defined["training"], "precision": name}})

    training = asked.training
    earlier = () if training.precision else (name for name in precision.TYPES if run(name).exists())
    name = next(iter(earlier), None) or precision.chosen(training.precision, shape(asked.shape), training.device)
    return name, run(name)


def averages(run: Path, model: Any, counts: list[int], bleu: Callable[[], float]) -> list[Average]:
    """Dev BLEU of averages of the last checkpoints, for each of ``counts`` that the run has enough of.

    Leaves the weights of the last average in the model.
    """
    from opennmt.utils.checkpoint import average_checkpoints_into_layer

    scores = []
    for count in counts:
        if len(paths := checkpoints(run)) >= count:
            average_checkpoints_into_layer(paths[-count:], model, "model")
            scores.append(Average(count, bleu()))
    return scores


def checkpoints(run: Path) -> list[str]:
    """The kept checkpoints, oldest first, without that of step 1, which OpenNMT-tf always saves."""
    import tensorflow as tf

    paths = list(tf.train.get_checkpoint_state(str(run)).all_model_checkpoint_paths)
    return [path for path in paths if not path.endswith("ckpt-1")] or paths


def average(run: Path, model: Any, count: int, output: Path, vocabulary: Path) -> None:
    """Write the average of the run's last ``count`` checkpoints as a folder that OpenNMT-tf decodes with.

    A run that has fewer, as it was short, is averaged over those, and says so.
    """
    from opennmt.utils.checkpoint import average_checkpoints

    if (there := len(checkpoints(run))) < count:
        logging.warning("averages %d checkpoints, not %d: there are no more in %s", there, count, run)
    with atomic_path(output) as part:
        average_checkpoints(checkpoints(run), str(part), {"model": model}, max_count=count)
        shutil.copy(run / "model_description.py", part)
        shutil.copy(vocabulary, part / "vocabulary.txt")


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", type=argument(TrainingSettings), help="JSON of train.settings")
    parser.add_argument(
        "--source", type=there, nargs="+", required=True, help="epochs in pieces, one sentence per line"
    )
    parser.add_argument("--target", type=there, nargs="+", required=True, help="their translations, in pieces")
    parser.add_argument(
        "--epochs", type=there, nargs="+", required=True, help="JSON that train.sample wrote, per epoch"
    )
    parser.add_argument("--links", type=there, nargs="+", default=[], help="their alignments, if it is guided")
    parser.add_argument("--words", type=there, nargs="+", default=[], help="a teacher's probabilities, if they teach")
    parser.add_argument("--dev", type=there, required=True, help="dev set as records, for the references")
    parser.add_argument("--dev-source", type=there, required=True, help="its source side in pieces")
    parser.add_argument("--vocabulary", type=there, required=True, help="vocabulary.txt, made by train.vocabulary")
    parser.add_argument("--sentencepiece", type=there, required=True, help="SentencePiece model, for dev BLEU")
    parser.add_argument("--start-from", type=there, help="averaged model whose weights the training starts from")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="(default: one per core)")
    parser.add_argument("--runs", type=Path, required=True, help="folder of run folders: checkpoints, TensorBoard logs")
    parser.add_argument("--averaged", type=Path, required=True, help="folder to write the averaged model to")
    parser.add_argument("--learning", type=Path, required=True, help="JSON of the learning curve to write")
    return parser


def trained(args: argparse.Namespace, run: Path, job: BatchJob) -> Learning:
    """Train in the run folder and write the average."""
    import tensorflow as tf

    asked: TrainingSettings = args.settings
    files = argparse.Namespace(**vars(args), target_language=asked.target_language)
    try:
        training = Training(run, asked, pick(Inputs, files), job)
        training.finish()
    except RuntimeError as error:  # diverged, or no pair to train on
        retry = "a lower learning_rate or more warmup_steps may help; to try the same again, delete the folder"
        advice = retry if "diverged" in str(error) else "see the log"
        raise UserError(f"training of {asked.system} in {run} stopped: {error}; {advice}") from error
    except tf.errors.ResourceExhaustedError as error:
        if any(text in str(error) for text in FULL):
            raise UserError(f"{run}: the disk is full; free space and run again, to go on from here") from error
        raise UserError(f"training of {asked.system}: out of memory; a lower batch_tokens needs less") from error
    scores = averages(run, training.model, asked.training.averages, training.validation.bleu)
    average(run, training.model, asked.training.average_last, args.averaged, args.vocabulary)
    curve, epochs = learning_curve(run), read_epochs(args.epochs)
    sides = zip(args.source, args.target, strict=True)
    skipped = [left_out(source, target, asked.training.max_length) for source, target in sides]
    return Learning(
        system=asked.system,
        role=asked.role,
        steps=training.step,
        phases=training.phases(),
        shape=str(shape(asked.shape)),
        parameters=int(sum(variable.shape.num_elements() for variable in training.model.trainable_variables)),
        seed=asked.seed,
        precision=asked.training.precision,
        start_from=str(args.start_from) if args.start_from else None,
        start_layers=asked.start_layers.document if asked.start_layers else None,
        seen=mixture(epochs, skipped, training.passes()),
        left_out=LeftOut(sum(skipped), sum(epoch.lines for epoch in epochs)),
        seconds=round(training_seconds(curve), 1),
        training=curve,
        validation=training.validation.scores(),
        averages=scores,
    )


def main() -> None:
    args = options().parse_args()
    asked: TrainingSettings = args.settings
    logging.basicConfig(format=f"%(asctime)s {asked.system}: %(message)s", datefmt="%H:%M:%S", force=True)
    if bool(asked.training.alignment) != bool(args.links):
        raise UserError("--links are for training.alignment: guided, which needs them")
    if bool(asked.words) != bool(args.words):
        raise UserError("--words are for settings with words, which need them")
    # TensorFlow, imported below, leaves oneDNN off on CPUs without AVX512-VNNI. With it all CPUs train alike, and no
    # slower as far as benchmarks/training.py shows.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    job = BatchJob(f"training of {asked.system}")
    ended_by = [args.dev] if asked.training.patience else []
    drawn_from = [args.sentencepiece] if asked.training.sampling else []
    data = (*args.source, *args.target, *args.links, *args.words, args.vocabulary, *ended_by, *drawn_from)
    name, run = begun(args.runs, asked, definition(asked, data, args.start_from))
    args.settings = replace(asked, training=replace(asked.training, precision=name))
    if not asked.training.precision:
        logging.info("multiplies in %s, as no precision is set", name)
    with folder_lock.held(run):
        write_json(args.learning, trained(args, run, job))


if __name__ == "__main__":
    command(main)
