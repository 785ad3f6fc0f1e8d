"""Train a Transformer with OpenNMT-tf, watch its dev BLEU, average its last checkpoints.

A killed training continues from its last checkpoint: the run folder is named after everything that defines the
training (shape, settings, data, vocabulary, seed; not the number of steps, so that a run can be prolonged).
"""

import argparse
import hashlib
import json
import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import ctranslate2
import sacrebleu
import sentencepiece

from formats import records
from formats.errors import UserError, command
from formats.files import read_json, sha256, whole, write_json, write_text
from formats.shape import Shape

SHUFFLE_BUFFER = 500_000  # sentences; the data is shuffled on disk already, this mixes the passes over it
LENGTH_BUCKET = 2  # sentences of a batch differ by at most so many pieces, so that little padding is computed
COUNTED_BATCHES = 1000  # whose size stands for that of all
MAXIMUM_PIECES = 150  # longer pairs are left out of training; cleaning bounds the length in words before


class Validation:
    """Dev BLEU (greedy, detokenised) every few hundred steps: the evaluator that OpenNMT-tf's Trainer calls.

    The model is converted to CTranslate2 on the spot, which decodes the dev set in a second where OpenNMT-tf
    needs a minute, and gives the same translations. Scores are kept in ``path``, over kills and new starts.
    """

    def __init__(self, model: Any, files: argparse.Namespace, path: Path):
        self.last_evaluated_step: int | None = None
        self._model, self._path, self._threads = model, path, files.threads
        self._sources = [line.split() for line in files.dev_source.read_text(encoding="utf-8").splitlines()]
        self._references = [target for _, target in records.read(files.dev)]
        self._processor = sentencepiece.SentencePieceProcessor(model_file=str(files.sentencepiece))

    def scores(self) -> list[dict[str, float]]:
        return read_json(self._path) if self._path.exists() else []

    def __call__(self, step: int) -> None:
        self.last_evaluated_step = step
        with tempfile.TemporaryDirectory() as folder:
            ctranslate2.converters.OpenNMTTFConverter(self._model).convert(folder, force=True)
            engine = ctranslate2.Translator(folder, intra_threads=self._threads)
            results = engine.translate_batch(self._sources, beam_size=1, max_batch_size=2048, batch_type="tokens")
        outputs = [self._processor.decode(result.hypotheses[0]) for result in results]
        bleu = round(sacrebleu.corpus_bleu(outputs, [self._references]).score, 2)
        earlier = [score for score in self.scores() if score["step"] < step]
        write_json(self._path, [*earlier, {"step": int(step), "bleu": bleu}])
        logging.getLogger("tensorflow").info("Step = %d ; dev BLEU, greedy = %.2f", step, bleu)

    def should_stop(self) -> bool:
        return False


class Remaining(logging.Filter):
    """Adds the remaining time to OpenNMT-tf's line about a step (its step and steps/s are the first arguments)."""

    def __init__(self, steps: int):
        super().__init__()
        self._steps = steps

    def filter(self, record: logging.LogRecord) -> bool:
        if str(record.msg).startswith("Step = %d ; steps/s"):
            step, rate = record.args[:2]
            record.msg += f" ; {(self._steps - step) / rate / 60:.1f} minutes left"
        return True


def opennmt_parameters(shape: Shape, training: dict[str, Any]) -> dict[str, Any]:
    """OpenNMT-tf's ``params``: label-smoothed cross-entropy and Adam.

    ``learning_rate`` is the peak, reached after the warm-up. With ``inverse_sqrt`` (Vaswani et al. 2017, section
    5.3) OpenNMT-tf multiplies its own value by units^-0.5 * warmup^-0.5, so we divide the peak by that.
    """
    peak, warmup, steps = training["learning_rate"], training["warmup_steps"], training["steps"]
    if training["decay"] == "cosine":
        decay = {"decay_type": "CosineAnnealing", "decay_params": {"max_step": steps, "warmup_steps": warmup}}
        scale = peak
    else:
        decay = {"decay_type": "NoamDecay", "decay_params": {"model_dim": shape.units, "warmup_steps": warmup}}
        scale = peak * (shape.units * warmup) ** 0.5
    return {
        "optimizer": "LazyAdam",
        "optimizer_params": {"beta_1": 0.9, "beta_2": 0.998},
        "learning_rate": scale,
        **decay,
        "average_loss_in_time": True,
        "label_smoothing": training["label_smoothing"],
    }


def run_folder(parent: Path, settings: dict[str, Any]) -> Path:
    """``run-<hash of what defines the training>``, so that a checkpoint is never continued under other settings."""
    known = json.dumps({**settings, "training": {**settings["training"], "steps": None}}, sort_keys=True)
    return parent / f"run-{hashlib.sha256(known.encode()).hexdigest()[:8]}"


def learning_curve(run: Path) -> list[dict[str, float]]:
    """Loss, tokens/s (source + target) and seconds since the start, from the TensorBoard logs of all starts."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorflow import make_ndarray

    events = EventAccumulator(str(run), size_guidance={"tensors": 0})
    events.Reload()

    def series(tag: str) -> dict[int, tuple[float, float]]:
        found = events.Tensors(tag) if tag in events.Tags()["tensors"] else []
        return {event.step: (event.wall_time, float(make_ndarray(event.tensor_proto))) for event in found}

    loss, source, target = (series(tag) for tag in ("loss", "words_per_sec/source", "words_per_sec/target"))
    start = min((wall for wall, _ in loss.values()), default=0.0)
    return [
        {
            "step": step,
            "loss": value,
            "tokens_per_second": source.get(step, (0, 0.0))[1] + target.get(step, (0, 0.0))[1],
            "seconds": wall - start,
        }
        for step, (wall, value) in sorted(loss.items())
    ]


def train(run: Path, settings: dict[str, Any], files: argparse.Namespace) -> Any:
    """Train in ``run`` up to ``steps``, from the last checkpoint if there is one; return the OpenNMT-tf model."""
    import opennmt
    import tensorflow as tf
    from opennmt.utils.checkpoint import Checkpoint

    training, shape = settings["training"], Shape(**settings["shape"])
    tf.config.threading.set_intra_op_parallelism_threads(files.threads)
    tf.config.threading.set_inter_op_parallelism_threads(files.threads)
    tf.get_logger().setLevel(logging.INFO)
    tf.get_logger().addFilter(Remaining(training["steps"]))
    tf.keras.utils.set_random_seed(settings["seed"])

    write_text(run / "model_description.py", shape.model_description(training["dropout"]))
    model = opennmt.load_model(str(run))
    data = {"source_vocabulary": str(files.vocabulary), "target_vocabulary": str(files.vocabulary)}
    model.initialize(data, params=opennmt_parameters(shape, training))
    optimizer = model.get_optimizer()
    keep = training["average_last"]
    checkpoint = Checkpoint(model, optimizer, model_dir=str(run), keep_checkpoint_max=keep)
    checkpoint.restore()
    model.create_variables(optimizer=optimizer)

    if (checkpoint.last_saved_step or 0) < training["steps"]:
        opennmt.training.Trainer(model, optimizer, checkpoint=checkpoint)(
            lambda _: dataset(model, training, files.source, files.target),
            max_step=training["steps"],
            accum_steps=training["accumulate"],
            report_steps=min(50, training["checkpoint_steps"]),
            save_steps=training["checkpoint_steps"],
            evaluator=Validation(model, files, run / "validation.json"),
            eval_steps=training["validation_steps"],
        )
    return model


def dataset(model: Any, training: dict[str, Any], source: Path, target: Path) -> Any:
    """The endless batches of a training, as OpenNMT-tf makes them of the training data."""
    return model.examples_inputter.make_training_dataset(
        str(source),
        str(target),
        training["batch_tokens"],
        batch_type="tokens",
        shuffle_buffer_size=SHUFFLE_BUFFER,
        length_bucket_width=LENGTH_BUCKET,
        maximum_features_length=MAXIMUM_PIECES,
        maximum_labels_length=MAXIMUM_PIECES,
    )


def pairs_a_batch(batches: Any) -> float:
    """Mean number of pairs in the batches of a training, which hold so many tokens; OpenNMT-tf counts tokens only."""
    sizes = [int(features["length"].shape[0]) for features, _ in batches.take(COUNTED_BATCHES)]
    return sum(sizes) / len(sizes)


def mixture(epochs: list[dict[str, Any]], pairs: float) -> dict[str, Any]:
    """What a training of so many ``pairs`` saw: its passes through the data, and the share of each corpus in them.

    ``epochs`` are the JSON files of distill.sample, in the order in which the training reads them. The shares of a pass
    are exact. Within a pass the order is random, so a pass that is not finished has them but for chance.
    """
    lines = sum(epoch["lines"] for epoch in epochs)
    drawn: dict[str, int] = {}
    for epoch in epochs:
        for corpus in epoch["corpora"]:
            drawn[corpus["name"]] = drawn.get(corpus["name"], 0) + corpus["drawn"]
    return {
        "pairs": round(pairs),
        "passes": round(pairs / lines, 3),
        "shares": {name: round(count / lines, 6) for name, count in drawn.items()},
    }


def average(run: Path, model: Any, count: int, output: Path, vocabulary: Path) -> None:
    """Write the average of the run's last ``count`` checkpoints as a folder that OpenNMT-tf decodes with."""
    from opennmt.utils.checkpoint import average_checkpoints

    with whole(output) as part:
        average_checkpoints(str(run), str(part), {"model": model}, max_count=count)
        shutil.copy(run / "model_description.py", part)
        shutil.copy(vocabulary, part / "vocabulary.txt")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", required=True, help="name of the system, for the learning curve")
    parser.add_argument("--shape", type=json.loads, required=True, help="JSON: encoder_layers, decoder_layers, ...")
    parser.add_argument("--training", type=json.loads, required=True, help="JSON: steps, batch_tokens, ...")
    parser.add_argument("--source", type=Path, required=True, help="training data in pieces, a sentence a line")
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--epochs", type=Path, nargs="+", required=True, help="JSON of distill.sample of each epoch")
    parser.add_argument("--dev", type=Path, required=True, help="dev set as records, for the references")
    parser.add_argument("--dev-source", type=Path, required=True, help="its source side in pieces")
    parser.add_argument("--vocabulary", type=Path, required=True)
    parser.add_argument("--sentencepiece", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--runs", type=Path, required=True, help="folder for the run: checkpoints, TensorBoard logs")
    parser.add_argument("--averaged", type=Path, required=True, help="folder to write the averaged model to")
    parser.add_argument("--learning", type=Path, required=True, help="learning curve to write, JSON")
    return parser.parse_args()


def main() -> None:
    args = parse()
    logging.basicConfig(format=f"%(asctime)s {args.system}: %(message)s", datefmt="%H:%M:%S", force=True)
    settings = {
        "shape": args.shape,
        "training": args.training,
        "seed": args.seed,
        "data": [sha256(path) for path in (args.source, args.target, args.vocabulary)],
    }
    run = run_folder(args.runs, settings)
    try:
        model = train(run, settings, args)
    except RuntimeError as error:  # OpenNMT-tf's own words: diverged with NaN, no training steps
        raise UserError(f"training of {args.system} in {run} stopped: {error}") from error
    average(run, model, args.training["average_last"], args.averaged, args.vocabulary)
    size = pairs_a_batch(dataset(model, args.training, args.source, args.target))
    pairs = args.training["steps"] * args.training["accumulate"] * size
    parameters = int(sum(variable.numpy().size for variable in model.trainable_variables))
    learning = {
        "system": args.system,
        "steps": args.training["steps"],
        "shape": str(Shape(**args.shape)),
        "parameters": parameters,
        "seen": mixture([read_json(path) for path in args.epochs], pairs),
        "training": learning_curve(run),
        "validation": read_json(run / "validation.json"),
    }
    write_json(args.learning, learning)


if __name__ == "__main__":
    command(main)
