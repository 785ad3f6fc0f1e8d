"""A training with OpenNMT-tf that ends with the same weights, however often it was killed."""

import logging
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from common.batch_job import BatchJob
from formats import learning, records
from formats.shape import CustomShape, shape
from nmt_frontier.errors import UserError
from nmt_frontier.files import read_json, write_text
from train import guided_alignment, optimizer, other_vocabulary, settings, start_layers, word_distillation
from train.dataset import MergedTail, dataset
from train.moving_average import MovingAverage
from train.optimizer import Parameters, opennmt_parameters
from train.precision import FLOAT32
from train.quantization import RoundedWeights
from train.replicas import Replicas, check_replicas, use_devices
from train.schedule import Journal, Passes, kept_checkpoints, phases
from train.segmentation import Segmentations, drawn
from train.settings import TrainingSettings
from train.time_left import TimeLeft
from train.validation import Validation, converts, decoder


@dataclass(frozen=True)
class Inputs:
    """What a training reads, and its threads.

    source, target: the epochs in pieces, a sentence per line. epochs: JSON of train.sample, per epoch. links: their
    alignments (corpora.alignment), if these are guided. words: their formats.word_probabilities, if these teach. dev:
    records, for the references. dev_source: its source side in pieces. start_from: an averaged model, None for random
    weights. target_language: chooses the tokens of BLEU.
    """

    source: list[Path]
    target: list[Path]
    epochs: list[Path]
    links: list[Path]
    words: list[Path]
    dev: Path
    dev_source: Path
    vocabulary: Path
    sentencepiece: Path
    start_from: Path | None
    target_language: str
    threads: int


class Training:
    """A training in its run folder. model: OpenNMT-tf's. schedule: the phases. step: the updates made so far."""

    def __init__(self, run: Path, settings: TrainingSettings, files: Inputs, job: BatchJob):
        """Build the model and restore the last checkpoint.

        Raises UserError for a shape that cannot be built or validated, for unsuitable weights to start from, and for a
        run with more steps than ``settings`` allow.
        """
        training, built = settings.training, shape(settings.shape)
        prepare_tensorflow(training, files.threads, settings.seed)
        optimizer.install_cross_entropy()
        guided_alignment.install_cost()
        self._replicas = Replicas(training.device, training.gpus)
        self._settings, self._files, self._job = settings, files, job
        self._autograph = isinstance(built, CustomShape)  # other shapes have no condition on a tensor
        self._pairs = [sum(corpus["drawn"] for corpus in read_json(path)["corpora"]) for path in files.epochs]
        self.model = described_model(run, built, training.dropout)
        sampling = training.sampling
        self._segmentations = sampling and Segmentations(files.sentencepiece, float(sampling.alpha), settings.seed)
        self._vocabulary = {f"{side}_vocabulary": str(files.vocabulary) for side in ("source", "target")}
        word_distillation.teach(self.model, settings.words)
        self.model.initialize(self._vocabulary)  # to read the data, which determine the number of steps
        self._journal = Journal(run / "journal.json")
        self.schedule = phases(training, self._epoch_batches)
        steps = sum(phase.steps for phase in self.schedule)
        self.model.initialize(self._vocabulary, params=opennmt_parameters(training, steps))
        with self._replicas.scope():
            self._restore(run)
        if isinstance(built, CustomShape) and not converts(self.model):
            raise UserError(f"shape {built}: CTranslate2 has no such model; a recurrent one is a shape with `cell`")
        self.validation = Validation(
            decoder(self.model, files.dev_source, files.threads),
            files.sentencepiece,
            [record[1] for record in records.read(files.dev)],
            run / "validation.json",
            training.patience,
            files.target_language,
        )
        if self.step > self._journal.ends(self.schedule)[-1]:
            raise UserError(f"{run}: has {self.step} steps, more than asked for; delete the folder to train anew")
        due = self.step > 0 and self._journal.validation_due(self.step, self.schedule)
        with self._average.averaged() if self._average else nullcontext():
            self.validation.continue_from(self.step, due)

    def _restore(self, run: Path) -> None:
        """Load the last checkpoint; without one, start from random weights or those of ``start_from``."""
        import tensorflow as tf
        from opennmt.utils.checkpoint import Checkpoint

        self._optimizer = self.model.get_optimizer()
        keep = kept_checkpoints(self._settings.training.average_last, self._settings.training.averages)
        self._checkpoint = Checkpoint(self.model, self._optimizer, model_dir=str(run), keep_checkpoint_max=keep)
        try:
            self._checkpoint.restore()
            self.model.create_variables(optimizer=self._optimizer)
        except tf.errors.ResourceExhaustedError:  # no damage, so no advice to delete anything
            raise
        except (ValueError, OSError, IndexError, tf.errors.OpError) as error:  # damage gives any of these
            if not tf.train.latest_checkpoint(str(run)):
                raise
            reason = str(error).splitlines()[0]
            raise UserError(
                f"{run}: its last checkpoint is damaged ({reason}); name an earlier one as model_checkpoint_path in"
                " its file `checkpoint` to go on from there, or delete the folder to train anew"
            ) from error
        self.step = self._checkpoint.last_saved_step or 0
        if self._files.start_from and not self.step:
            start_from(self.model, self._files.start_from, self._settings.start_layers)
        self._average = self._restored_average()

    def _restored_average(self) -> MovingAverage | None:
        """The moving average, where one is asked for. Its variables become a part of checkpoints."""
        if (decay := self._settings.training.moving_average) is None:
            return None
        average = MovingAverage(self.model.trainable_variables, float(decay))
        self._checkpoint._checkpoint.weights_of_training = average.others  # restored here, if there is a checkpoint
        if self.step:
            average.swap()
        return average

    def finish(self) -> None:
        """Train to the end of the last phase.

        Raises RuntimeError if the loss diverges, or did so earlier in this folder, and JobEndsError if its job ends.
        """
        if self._journal.diverged:
            raise RuntimeError(f"{self._journal.diverged}, in an earlier start")
        if self._replicas.count > 1 and self.step < self._journal.ends(self.schedule)[-1]:
            self._check_replicas()
        for number in range(len(self.schedule)):
            start, end = [0, *self._journal.ends(self.schedule)][number : number + 2]
            self.validation.phase_start = start
            if self.step < end and not self.validation.should_stop():
                self._train(number, end)
            if start <= self.step < end:
                self._journal.stop(number, self.step)
        if not self.step:  # no updates at all: the weights are those it started from
            self._checkpoint.save(0)

    def _check_replicas(self) -> None:
        """Compare the replicas with a single device, on copies of the model. Raises UserError if they differ."""
        import opennmt

        def copy(parameters: Parameters) -> Any:
            model = opennmt.load_model(self._checkpoint.model_dir)
            constant = opennmt_parameters(replace(self._settings.training, decay="constant"), 0)
            model.initialize(self._vocabulary, params=constant | parameters)
            return model

        weights = [variable.numpy() for variable in self.model.trainable_variables]
        check_replicas(copy, weights, self._replicas, self._batches(self._position()[0]), self._autograph)

    def _train(self, number: int, end: int) -> None:
        """Train phase ``number`` to step ``end``, or until dev BLEU stalls."""
        import tensorflow as tf

        phase = self.schedule[number]
        time_left = TimeLeft(lambda step: self._journal.updates_left(step, number, self.schedule))
        tf.get_logger().addFilter(time_left)
        trainer = self._replicas.trainer()(self.model, self._optimizer, checkpoint=self._checkpoint)
        trainer.seed, trainer.job, trainer.average = self._settings.seed, self._job, self._average
        trainer.autograph = self._autograph
        if phase.quantization:
            with self._replicas.scope():
                trainer.rounded = RoundedWeights(self.model, phase.quantization)
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
            if "diverged" in str(error):  # the last checkpoint may be bad, so no restart continues from it
                self._journal.diverge(str(error))
            raise
        tf.get_logger().removeFilter(time_left)
        self.step = int(self._optimizer.iterations.numpy())

    def _batches(self, number: int) -> MergedTail:
        """The batches of a pass; their order and their segmentations depend only on the seed and ``number``."""
        import tensorflow as tf

        epoch, seed = number % len(self._files.source), self._settings.seed
        tf.random.set_seed(seed + 1 + number)
        sides = self._files.source[epoch], self._files.target[epoch]
        files = {"train_alignments": self._files.links, word_distillation.WORDS: self._files.words}
        annotations = {name: paths[epoch] for name, paths in files.items() if paths}
        with drawn(self.model, self._segmentations, number) if self._segmentations else nullcontext():
            batches = dataset(self.model, self._settings.training, *sides, self._pairs[epoch], annotations)
        tf.random.set_seed(seed)
        return batches

    def _epoch_batches(self) -> int:
        """The batches of the first pass, counted if the journal does not have them yet."""
        if (known := self._journal.epoch_batches()) is not None:
            return known
        counted = sum(1 for _ in self._batches(0))
        self._journal.finish_pass(0, counted)
        return counted

    def _position(self) -> tuple[int, int]:
        return self._journal.position(self._journal.batches(self.step, self.schedule))

    def passes(self) -> float:
        """Passes through the data so far, the last one in part."""
        number, batches = self._position()
        return number + (batches / self._epoch_batches() if batches else 0)

    def phases(self) -> list[learning.RecordedPhase]:
        """The last step of each phase, and the batches per update of all replicas together."""
        ends = zip(self._journal.ends(self.schedule), self.schedule, strict=True)
        return [learning.RecordedPhase(end, phase.batches) for end, phase in ends]


def prepare_tensorflow(training: settings.TrainingSection, threads: int, seed: int) -> None:
    """Set devices, precision, threads, log level and seeds of this process.

    Raises UserError without the GPUs, or if TensorFlow does not compute in this precision.
    """
    use_devices(training.device, training.gpus)
    import tensorflow as tf

    precision = training.precision or FLOAT32
    compute_in(precision)
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.get_logger().setLevel(logging.INFO)
    tf.keras.utils.set_random_seed(seed)
    check_precision(precision)


def check_precision(precision: str) -> None:
    """Raises UserError if TensorFlow cannot normalise a layer in this precision: on CPUs bfloat16 needs AVX512."""
    import tensorflow as tf

    try:
        tf.keras.layers.LayerNormalization()(tf.ones([1, 8]))
    except tf.errors.InvalidArgumentError as error:
        raise UserError(
            f"precision {precision}: TensorFlow does not compute in it on this device (CPUs need AVX512);"
            " set training.precision to float32"
        ) from error


def compute_in(precision: str) -> None:
    """Make layers multiply in float32 or bfloat16, with weights in float32; bfloat16 needs no loss scaling."""
    import tensorflow as tf

    tf.keras.mixed_precision.set_global_policy({"bfloat16": "mixed_bfloat16"}.get(precision, precision))


def described_model(run: Path, built: Any, dropout: float) -> Any:
    """Write a shape's model_description.py and load the OpenNMT-tf model it describes. Raises UserError."""
    import opennmt

    try:
        write_text(run / "model_description.py", built.model_description(dropout))
        return opennmt.load_model(str(run))
    except (ValueError, SyntaxError, ImportError) as error:
        raise UserError(f"shape {built}: {error}") from error


def start_from(model: Any, averaged: Path, layers: settings.StartLayers | None = None) -> None:
    """Load the weights of a finished training into a model. Raises UserError if they do not fit it.

    Of another vocabulary, pieces that both have keep their weights. layers: those that the layers of the model take.
    """
    import tensorflow as tf

    if layers:
        start_from(parent := start_layers.parent(model, averaged), averaged)
        start_layers.transfer(parent, model, layers, averaged)
        return
    if other_vocabulary.differs(model, averaged):
        other_vocabulary.transfer(model, averaged)
        return
    try:
        checkpoint = tf.train.Checkpoint(model=model)
        checkpoint.restore(tf.train.latest_checkpoint(str(averaged))).assert_existing_objects_matched()
    except (AssertionError, ValueError) as error:  # a variable is missing or has another size
        raise UserError(f"{averaged}: not the weights of a model of this shape and vocabulary") from error
