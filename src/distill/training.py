"""A training with OpenNMT-tf that can be killed at any moment and ends as if it had not been."""

import argparse
import logging
import os
from collections import deque
from collections.abc import Callable, Iterator
from math import ceil
from pathlib import Path
from typing import Any

from distill import cross_entropy
from distill.leftovers import Filled
from distill.schedule import SHUFFLE_BUFFER, Journal, Passes, kept_checkpoints, phases
from distill.validation import Validation, converts, decoder
from formats import records
from formats.decoding import MAXIMUM_OUTPUT
from formats.errors import UserError
from formats.files import read_json, write_text
from formats.shape import Custom, shape

# TensorFlow leaves oneDNN off on CPUs without AVX512-VNNI. There it is not slower, as far as the noise of
# benchmarks/training.py lets one tell, and all CPUs train alike.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

LENGTH_BUCKET = 2  # sentences of a batch differ by at most so many pieces, so that little padding is computed
DIVERGED = 1.5  # nats a token by which the loss, averaged over so many updates, may exceed its lowest value
DIVERGED_STEPS = 100


def opennmt_parameters(training: dict[str, Any], steps: int) -> dict[str, Any]:
    """OpenNMT-tf's ``params`` for a training of so many ``steps`` in all: label-smoothed cross-entropy.

    ``learning_rate`` is the peak, reached after the warm-up. With ``inverse_sqrt`` (Vaswani et al. 2017, section
    5.3) OpenNMT-tf multiplies its own value by units^-0.5 * warmup^-0.5, so we say one unit, and divide by the other.
    """
    peak, warmup = training["learning_rate"], training["warmup_steps"]
    decays = {
        "cosine": (peak, "CosineAnnealing", {"max_step": steps, "warmup_steps": warmup}),
        "inverse_sqrt": (peak * warmup**0.5, "NoamDecay", {"model_dim": 1, "warmup_steps": warmup}),
        "constant": (peak, None, None),
    }
    scale, decay, decay_parameters = decays[training["decay"]]
    optimizers = {
        "adam": ("LazyAdam", {"beta_1": 0.9, "beta_2": 0.998}),
        "sgd": ("SGD", {"clipnorm": 5.0}),  # as OpenNMT-tf's first version clipped, with which the 2018 paper trained
    }
    optimizer, optimizer_parameters = optimizers[training["optimizer"]]
    return {
        "optimizer": optimizer,
        "optimizer_params": optimizer_parameters,
        "learning_rate": scale,
        **({"decay_type": decay, "decay_params": decay_parameters} if decay else {}),
        "average_loss_in_time": True,
        "label_smoothing": training["label_smoothing"],
        "maximum_decoding_length": MAXIMUM_OUTPUT,
    }


class Training:
    """A training in its run folder: what it is made of, how far it is, and the rest of it.

    model: the OpenNMT-tf model; schedule: the phases; step: the updates made so far.
    """

    def __init__(self, run: Path, settings: dict[str, Any], files: argparse.Namespace):
        """Prepare everything, from the last checkpoint if there is one. files: the paths of the command line."""
        import opennmt
        import tensorflow as tf
        from opennmt.utils.checkpoint import Checkpoint

        cross_entropy.install()
        use_device(settings["training"]["device"])
        tf.config.threading.set_intra_op_parallelism_threads(files.threads)
        tf.config.threading.set_inter_op_parallelism_threads(files.threads)
        tf.get_logger().setLevel(logging.INFO)
        tf.keras.utils.set_random_seed(settings["seed"])
        self._settings, self._files = settings, files
        self._pairs = [sum(corpus["drawn"] for corpus in read_json(path)["corpora"]) for path in files.epochs]
        training, built = settings["training"], shape(settings["shape"])

        try:
            write_text(run / "model_description.py", built.model_description(training["dropout"]))
            self.model = opennmt.load_model(str(run))
        except (ValueError, SyntaxError, ImportError) as error:
            raise UserError(f"shape {built}: {error}") from error
        vocabulary = {"source_vocabulary": str(files.vocabulary), "target_vocabulary": str(files.vocabulary)}
        self.model.initialize(vocabulary)  # enough to read the data, which tells how long the training is
        self._journal = Journal(run / "journal.json")
        self.schedule = phases(training, self._epoch_batches)
        steps = sum(phase.steps for phase in self.schedule)
        self.model.initialize(vocabulary, params=opennmt_parameters(training, steps))
        self._optimizer = self.model.get_optimizer()
        keep = kept_checkpoints(training)
        self._checkpoint = Checkpoint(self.model, self._optimizer, model_dir=str(run), keep_checkpoint_max=keep)
        self._checkpoint.restore()
        self.model.create_variables(optimizer=self._optimizer)
        self.step = self._checkpoint.last_saved_step or 0
        if files.start_from and not self.step:
            start_from(self.model, files.start_from)
        if isinstance(built, Custom) and not converts(self.model):
            raise UserError(f"shape {built}: CTranslate2 has no such model; a recurrent one is a shape with `cell`")
        self.validation = Validation(
            decoder(self.model, files.dev_source, files.threads),
            files.sentencepiece,
            [record[1] for record in records.read(files.dev)],
            run / "validation.json",
            training["patience"],
        )
        if self.step > self._journal.ends(self.schedule)[-1]:
            raise UserError(f"{run}: has {self.step} steps, more than asked for; delete the folder to train anew")
        due = self.step > 0 and self._journal.validation_due(self.step, self.schedule)
        self.validation.continue_from(self.step, due)

    def finish(self) -> None:
        """Train to the end of the last phase. Raises RuntimeError where the loss diverges, or did so before."""
        if self._journal.diverged:
            raise RuntimeError(f"{self._journal.diverged}, in an earlier start")
        for number in range(len(self.schedule)):
            start, end = [0, *self._journal.ends(self.schedule)][number : number + 2]
            self.validation.phase_start = start
            if self.step < end and not self.validation.should_stop():
                self._train(number, end)
            if start <= self.step < end:
                self._journal.stop(number, self.step)

    def _train(self, number: int, end: int) -> None:
        """Phase ``number``, up to step ``end`` or as long as dev BLEU rises."""
        import tensorflow as tf

        phase = self.schedule[number]
        remaining = Remaining(lambda step: self._journal.updates_left(step, number, self.schedule))
        tf.get_logger().addFilter(remaining)
        trainer = resumable_trainer()(self.model, self._optimizer, checkpoint=self._checkpoint)
        trainer.seed = self._settings["seed"]
        try:
            trainer(
                Passes(self._batches, self._journal, self._position()),
                max_step=end,
                accum_steps=phase.accumulate,
                report_steps=min(50, phase.checkpoint_steps),
                save_steps=phase.checkpoint_steps,
                evaluator=self.validation,
                eval_steps=phase.validation_steps,
            )
        except RuntimeError as error:
            if "diverged" in str(error):  # a checkpoint may be from after it: do not go on from there
                self._journal.diverge(str(error))
            raise
        tf.get_logger().removeFilter(remaining)
        self.step = int(self._optimizer.iterations.numpy())

    def _batches(self, number: int) -> Any:
        """The batches of a pass, in an order of its own."""
        import tensorflow as tf

        epoch, seed = number % len(self._files.source), self._settings["seed"]
        tf.random.set_seed(seed + 1 + number)
        files = self._files.source[epoch], self._files.target[epoch]
        made = dataset(self.model, self._settings["training"], *files, self._pairs[epoch])
        tf.random.set_seed(seed)
        return made

    def _epoch_batches(self) -> int:
        """The batches of the first pass; they are counted if it was not finished yet."""
        if self._journal.epoch_batches() is None:
            self._journal.finish_pass(0, sum(1 for _ in self._batches(0)))
        return self._journal.epoch_batches()

    def _position(self) -> tuple[int, int]:
        return self._journal.position(self._journal.batches(self.step, self.schedule))

    def passes(self) -> float:
        """Passes through the data so far."""
        number, batch = self._position()
        return number + (batch / self._epoch_batches() if batch else 0)

    def phases(self) -> list[dict[str, int]]:
        """The last step of each phase, and the batches of its updates."""
        ends = zip(self._journal.ends(self.schedule), self.schedule, strict=True)
        return [{"end": end, "accumulate": phase.accumulate} for end, phase in ends]


def start_from(model: Any, averaged: Path) -> None:
    """Give a model the weights of a finished training. Raises UserError for those of a model that is another one."""
    import tensorflow as tf

    try:
        checkpoint = tf.train.Checkpoint(model=model)
        checkpoint.restore(tf.train.latest_checkpoint(str(averaged))).assert_existing_objects_matched()
    except (AssertionError, ValueError) as error:  # a variable that it lacks, one of another size
        raise UserError(f"{averaged}: not the weights of a model of this shape and vocabulary") from error


def use_device(device: str) -> None:
    """Train on the GPU, or leave GPUs to others. Raises UserError where TensorFlow finds none."""
    import tensorflow as tf

    if device == "cpu":
        tf.config.set_visible_devices([], "GPU")
    elif not tf.config.list_physical_devices("GPU"):
        raise UserError(
            "training.device: cuda, but TensorFlow finds no GPU; install tensorflow in place of tensorflow-cpu "
            "(README, Bigger), look at nvidia-smi, or train with device: cpu"
        )


def shuffle_buffer(pairs: int) -> int:
    """Sentences that are shuffled at a time: not more than SHUFFLE_BUFFER, and parts of equal size.

    OpenNMT-tf spreads parts of this size evenly over the file. If the last one were shorter the parts would overlap,
    and a pass would read some pairs twice (a third of 600,000 pairs with parts of 500,000).
    """
    return SHUFFLE_BUFFER if pairs <= SHUFFLE_BUFFER else ceil(pairs / ceil(pairs / SHUFFLE_BUFFER))


def dataset(model: Any, training: dict[str, Any], source: Path, target: Path, pairs: int) -> Filled:
    """The batches of one pass through an epoch of so many pairs, as OpenNMT-tf makes them but for the leftovers."""
    import tensorflow as tf

    unit = "tokens" if training["batch_tokens"] else "sentences"
    size = training["batch_tokens"] or training["batch_sentences"]
    batches = model.examples_inputter.make_training_dataset(
        str(source),
        str(target),
        size,
        batch_type="tokens" if unit == "tokens" else "examples",
        shuffle_buffer_size=shuffle_buffer(pairs),
        length_bucket_width=LENGTH_BUCKET,
        maximum_features_length=training["max_length"],
        maximum_labels_length=training["max_length"] + 1,  # the target begins with <s>
        single_pass=True,
    )
    # TensorFlow's thread that tunes a pipeline may sleep for a minute before the end of a pass stops it. Nothing here
    # needs it: OpenNMT-tf says how many threads each step has.
    options = tf.data.Options()
    options.autotune.enabled = False
    return Filled(batches.with_options(options), size, unit)


def resumable_trainer() -> type:
    """OpenNMT-tf's Trainer, which can be resumed exactly and stops when it diverges (TensorFlow loads slowly)."""
    import opennmt
    import tensorflow as tf

    class Trainer(opennmt.training.Trainer):
        seed = 1

        def _save_checkpoint(self, step: int, moving_average: Any = None) -> None:
            self._summary_writer.flush()  # the learning curve up to here
            super()._save_checkpoint(step, moving_average)
            # Dropout begins anew after a checkpoint, so that it is the same after a kill.
            tf.random.set_seed(self.seed)

        def _steps(self, dataset: Any, accum_steps: int = 1) -> Iterator[float]:
            yield from watched(super()._steps(dataset, accum_steps))

    return Trainer


def watched(losses: Iterator[float]) -> Iterator[float]:
    """Pass on the losses. Raises RuntimeError when they rise and do not come back: the training has diverged."""
    recent: deque[float] = deque(maxlen=DIVERGED_STEPS)
    lowest = float("inf")
    for loss in losses:
        recent.append(loss)
        mean = sum(recent) / len(recent)
        if len(recent) == DIVERGED_STEPS:
            lowest = min(lowest, mean)
        if mean > lowest + DIVERGED:
            raise RuntimeError(f"Model diverged: loss {mean:.2f}, after {lowest:.2f} before")
        yield loss


class Remaining(logging.Filter):
    """Adds the remaining time to OpenNMT-tf's line about a step (its step and steps/s are the first arguments).

    updates_left: after this step, in updates of the phase that runs.
    """

    def __init__(self, updates_left: Callable[[int], float]):
        super().__init__()
        self._updates_left = updates_left

    def filter(self, record: logging.LogRecord) -> bool:
        if str(record.msg).startswith("Step = %d ; steps/s") and record.args[1]:
            step, rate = record.args[:2]
            record.msg += f" ; {self._updates_left(step) / rate / 60:.1f} minutes left"
        return True
