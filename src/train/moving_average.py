"""An exponential moving average of the weights (Polyak and Juditsky 1992), which survives a kill.

OpenNMT-tf has one, but a checkpoint of its trainings has the averages alone: a continued training would go on from
these. Here a checkpoint has both, the averages as the model, so that whatever reads a checkpoint decodes with them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class MovingAverage:
    """The averages of ``weights``, variables of the model, which hold the weights of the training.

    decay: of the average, lower in the first updates as TensorFlow's ExponentialMovingAverage has it. others: variables
    with the averages, to be kept in checkpoints; inside ``averaged`` they hold the weights of the training.
    """

    def __init__(self, weights: list[Any], decay: float):
        import tensorflow as tf

        self._weights, self._decay = weights, decay
        self.others = [tf.Variable(weight.value(), trainable=False, dtype=weight.dtype) for weight in weights]
        self._mix = tf.function(self._mixed, autograph=False)

    def update(self, step: int) -> None:
        """Add the weights after update ``step``."""
        import tensorflow as tf

        self._mix(tf.constant(1 - min(self._decay, (1 + step) / (10 + step)), tf.float32))

    def _mixed(self, share: Any) -> None:
        for weight, other in zip(self._weights, self.others, strict=True):
            other.assign_add(share * (weight.value() - other.value()))

    def swap(self) -> None:
        """Exchange the weights of the training and the averages."""
        for weight, other in zip(self._weights, self.others, strict=True):
            value = weight.numpy()
            weight.assign(other.value())
            other.assign(value)

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """The model has the averages inside."""
        self.swap()
        try:
            yield
        finally:
            self.swap()
