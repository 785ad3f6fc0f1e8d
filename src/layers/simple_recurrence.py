"""The simpler simple recurrent unit (SSRU; Kim et al. 2019, "From Research to Production and Back", section 3.1)."""

import tensorflow as tf
from opennmt.layers.common import Dense

State = tuple[tf.Tensor]


class SimpleRecurrence(tf.keras.layers.Layer):
    """A cell c = f c + (1 - f) W x, with f = sigmoid(W_f x + b_f); the output is relu(c)."""

    def __init__(self, units: int):
        super().__init__()
        self.forget_gate = Dense(units, activation=tf.sigmoid)
        self.candidate = Dense(units, use_bias=False)
        self._units = units

    def initial_state(self, batch: int | tf.Tensor, dtype: tf.DType) -> State:
        """The cell, [batch, units]."""
        return (tf.zeros([batch, self._units], dtype),)

    def call(
        self, x: tf.Tensor, mask: tf.Tensor | None = None, cache: State | None = None, training: bool | None = None
    ) -> tuple[tf.Tensor, State | tuple[()]]:
        """x: [batch, length, units], one position with a cache. Returns outputs of this shape, and the new cache."""
        del mask, training  # positions behind a sentence are read by nobody
        kept = self.forget_gate(x)
        fresh = (1 - kept) * self.candidate(x)
        if cache is None:
            return tf.nn.relu(scan(kept, fresh)), ()
        cell = kept[:, 0] * cache[0] + fresh[:, 0]
        return tf.nn.relu(cell)[:, None], (cell,)


def scan(kept: tf.Tensor, fresh: tf.Tensor) -> tf.Tensor:
    """All states c_t = kept_t c_(t-1) + fresh_t from c_0 = 0, in log2(length) rounds (Hillis and Steele 1986).

    kept, fresh: [batch, length, units]. After a round with shift s each position has joined the 2s steps up to it.
    """

    def unfinished(shift: tf.Tensor, *_: tf.Tensor) -> tf.Tensor:
        return shift < tf.shape(fresh)[1]

    def joined(shift: tf.Tensor, kept: tf.Tensor, fresh: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        front = [[0, 0], [shift, 0], [0, 0]]
        earlier_kept = tf.pad(kept[:, :-shift], front, constant_values=1)
        earlier_fresh = tf.pad(fresh[:, :-shift], front)
        return 2 * shift, kept * earlier_kept, kept * earlier_fresh + fresh

    shape = tf.TensorShape([None, None, fresh.shape[-1]])
    invariants = (tf.TensorShape([]), shape, shape)
    return tf.while_loop(unfinished, joined, (tf.constant(1), kept, fresh), shape_invariants=invariants)[2]
