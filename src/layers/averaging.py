"""Averaging attention (Zhang et al. 2018, "Accelerating Neural Transformer via an Average Attention Network").

A position sees the mean of all inputs so far. Marian's decoder of WNMT 2018 has it with its feed-forward layer, without
it, and without its gate, too.
"""

import tensorflow as tf
from opennmt.layers.common import Dense
from opennmt.layers.transformer import FeedForwardNetwork

State = tuple[tf.Tensor, tf.Tensor]


class Averaging(tf.keras.layers.Layer):
    """deep: put a feed-forward layer behind the mean. gated: add sigmoid gates.

    Computes ``sigmoid(gate of x) x + sigmoid(gate of y) y``, where x is the input and y the feed-forward layer of the
    mean of all x up to here; without gates y alone. The layer has ``units`` inside, as in Marian's paper (section 3.2),
    not as many as the others, as in Zhang's. The activation there is swish, Marian's default.
    """

    def __init__(self, units: int, deep: bool, gated: bool, dropout: float):
        super().__init__()
        self.ffn = FeedForwardNetwork(units, units, dropout=dropout, activation=tf.nn.swish) if deep else None
        self.input_gate = Dense(units, activation=tf.sigmoid) if gated else None
        self.mean_gate = Dense(units, activation=tf.sigmoid) if gated else None
        self._units = units

    def initial_state(self, batch: int | tf.Tensor, dtype: tf.DType) -> State:
        """The sum of the inputs so far, [batch, units], and their number, [batch, 1]."""
        return tf.zeros([batch, self._units], dtype), tf.zeros([batch, 1], dtype)

    def call(
        self, x: tf.Tensor, mask: tf.Tensor | None = None, cache: State | None = None, training: bool | None = None
    ) -> tuple[tf.Tensor, State | tuple[()]]:
        """x: [batch, length, units], one position with a cache. Returns outputs of this shape, and the new cache."""
        del mask  # of positions behind a sentence, which are means of what nobody reads
        if cache is None:
            means, cache = running_means(x), ()
        else:
            total, count = cache[0] + x[:, 0], cache[1] + 1
            means, cache = (total / count)[:, None], (total, count)
        if self.ffn is not None:
            means = self.ffn(means, training=training)
        if self.input_gate is None:
            return means, cache
        return self.input_gate(x) * x + self.mean_gate(means) * means, cache


def running_means(x: tf.Tensor) -> tf.Tensor:
    """The mean of all positions up to each one, as one product with a triangular matrix. x: [batch, length, units]."""
    length = tf.shape(x)[1]
    counts = tf.cast(tf.range(1, length + 1), x.dtype)
    shares = tf.linalg.band_part(tf.ones([length, length], x.dtype), -1, 0) / counts[:, None]
    return tf.einsum("ts,bsu->btu", shares, x)
