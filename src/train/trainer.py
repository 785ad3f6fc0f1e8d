"""OpenNMT-tf's Trainer, made resumable; stops when the loss diverges or its job ends."""

from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import opennmt
import tensorflow as tf

from train.moving_average import MovingAverage
from train.quantization import RoundedWeights

DIVERGED = 1.5  # nats per token by which the mean loss of DIVERGED_STEPS updates may exceed its minimum so far
DIVERGED_STEPS = 100


class ResumableTrainer(opennmt.training.Trainer):
    """OpenNMT-tf's Trainer with the ``seed``, the ``job`` (BatchJob, or None), the ``average`` (MovingAverage, or None)
    and the ``rounded`` weights (RoundedWeights, or None) of the training.

    When called, it raises RuntimeError once the loss diverges, and JobEndsError at a checkpoint if its job ends.
    """

    seed = 1
    job = None
    average: MovingAverage | None = None
    rounded: RoundedWeights | None = None
    autograph = True  # rewrite conditions on tensors in the model's source; slower than tracing it

    def __init__(self, model: Any, optimizer: Any, checkpoint: Any = None):
        super().__init__(model, optimizer, checkpoint)
        # Undo loss scaling, which OpenNMT-tf adds for bfloat16, too, and whose state is in no checkpoint.
        self._optimizer = optimizer

    def scope(self) -> AbstractContextManager[Any]:
        """Create variables in this context; replicas have the scope of a strategy."""
        return nullcontext()

    def _save_checkpoint(self, step: int, moving_average: Any = None) -> None:
        self._summary_writer.flush()  # the learning curve up to here
        with self.averaged():
            super()._save_checkpoint(step, moving_average)
        # Restart dropout, as a continued training does.
        tf.random.set_seed(self.seed)

    def _evaluate(self, evaluator: Any, step: int, moving_average: Any = None) -> bool:
        with self.averaged():
            return bool(super()._evaluate(evaluator, step, moving_average))

    def averaged(self) -> AbstractContextManager[None]:
        """The model has the averaged weights inside, if the training averages them."""
        return self.average.averaged() if self.average else nullcontext()

    def _apply_gradients(self, sample_size: Any) -> None:
        if self.rounded:
            self.rounded.restore()
        super()._apply_gradients(sample_size)

    def _steps(self, dataset: Any, accum_steps: int = 1) -> Iterator[float]:
        if not self.autograph:
            for name in ("_accumulate_gradients", "_apply_gradients"):
                setattr(self, name, tf.autograph.experimental.do_not_convert(getattr(self, name)))
        with self.scope():
            make_sums(self)
        if self.rounded:
            self.rounded.round()
        for loss in until_divergence(super()._steps(dataset, accum_steps)):
            step = int(self._optimizer.iterations.numpy())
            if self.average:
                self.average.update(step)
            yield loss
            # The checkpoint and the validation of this step are done here.
            if self.job and step == self._checkpoint.last_saved_step:
                self.job.checkpoint(f"step {step}")
            if self.rounded:
                self.rounded.round()


def make_sums(trainer: Any) -> None:
    """Create the variables in which OpenNMT-tf's trainer sums gradients, losses and words, on each replica.

    It would create them in its first update, which TensorFlow then traces twice. With several replicas the second graph
    has other dropout, and a continued training would not end as one that was never killed.
    """

    def zeros(shape: Any, kind: Any, aggregation: Any = tf.VariableAggregation.SUM) -> Any:
        options = {"synchronization": tf.VariableSynchronization.ON_READ, "aggregation": aggregation}
        return tf.Variable(tf.zeros(shape, kind), trainable=False, **options)

    variables = trainer._model.trainable_variables
    gradients = [zeros(each.shape, each.dtype, tf.VariableAggregation.NONE) for each in variables]
    trainer._gradient_accumulator._gradients.extend(gradients)
    _ = trainer._gradient_accumulator.step
    trainer._total_loss, trainer._total_sample_size = zeros((), tf.float32), zeros((), tf.float32)
    trainer._training_stats._words_counters.update({side: zeros((), tf.int64) for side in ("source", "target")})


def until_divergence(losses: Iterator[float]) -> Iterator[float]:
    """Pass on losses. Raises RuntimeError once their running mean is DIVERGED above its minimum."""
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
