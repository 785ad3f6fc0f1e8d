"""Transformers whose decoder has averaging attention or a simple recurrent unit (SSRU) instead of self-attention.

With averaging a position sees the mean of all inputs so far (Zhang et al. 2018, "Accelerating Neural Transformer via an
Average Attention Network"), as in Marian's decoder of WNMT 2018: with or without a feed-forward layer after the mean,
and with or without a gate. The SSRU is that of Kim et al. 2019, "From Research to Production and Back", section 3.1.
"""

from typing import Any

import opennmt
import tensorflow as tf
from opennmt.decoders import SelfAttentionDecoder
from opennmt.layers.common import Dense
from opennmt.layers.transformer import FeedForwardNetwork, SelfAttentionDecoderLayer, TransformerLayerWrapper

from layers.embeddings import sharing

State = tuple[tf.Tensor, ...]  # what a layer keeps from one position to the next

AVERAGING = {  # whether there is a feed-forward layer after the mean, and a gate
    "averaging": (True, True),
    "averaging-gated": (False, True),
    "averaging-ungated": (True, False),
    "averaging-plain": (False, False),
}
SSRU = "ssru"


class Averaging(tf.keras.layers.Layer):
    """Computes ``sigmoid(gate of x) x + sigmoid(gate of y) y``, where x is the input and y the mean of all x so far.

    deep: y passes through a feed-forward layer. Its inner width is ``units``, as in Marian's paper (section 3.2) and
    unlike in Zhang's; its activation is swish, Marian's default. gated: without gates the output is y.
    """

    def __init__(self, units: int, deep: bool, gated: bool, dropout: float):
        super().__init__()
        self.ffn = FeedForwardNetwork(units, units, dropout=dropout, activation=tf.nn.swish) if deep else None
        self.input_gate = Dense(units, activation=tf.sigmoid) if gated else None
        self.mean_gate: Any = Dense(units, activation=tf.sigmoid) if gated else None
        self._units = units

    def initial_state(self, batch: int | tf.Tensor, dtype: tf.DType) -> State:
        """The sum of the inputs so far, [batch, units], and their number, [batch, 1]."""
        return tf.zeros([batch, self._units], dtype), tf.zeros([batch, 1], dtype)

    def call(
        self, x: tf.Tensor, mask: Any = None, cache: State | None = None, training: bool | None = None
    ) -> tuple[tf.Tensor, State]:
        """x: [batch, length, units], one position with a cache. Returns outputs of this shape, and the new cache."""
        del mask  # of padding, whose means nobody reads
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
        self, x: tf.Tensor, mask: Any = None, cache: State | None = None, training: bool | None = None
    ) -> tuple[tf.Tensor, State]:
        """x: [batch, length, units], one position with a cache. Returns outputs of this shape, and the new cache."""
        del mask, training  # nobody reads the outputs of padding
        kept = self.forget_gate(x)
        fresh = (1 - kept) * self.candidate(x)
        if cache is None:
            return tf.nn.relu(scan(kept, fresh)), ()
        cell = kept[:, 0] * cache[0] + fresh[:, 0]
        return tf.nn.relu(cell)[:, None], (cell,)


def scan(kept: tf.Tensor, fresh: tf.Tensor) -> tf.Tensor:
    """All states c_t = kept_t c_(t-1) + fresh_t from c_0 = 0, in log2(length) rounds (Hillis and Steele 1986).

    kept, fresh: [batch, length, units]. After a round with shift s each position combines the 2s steps up to it.
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


class HistoryDecoder(SelfAttentionDecoder):
    """OpenNMT-tf's decoder with ``history`` instead of self-attention: a key of AVERAGING, or SSRU."""

    def __init__(self, history: str, num_layers: int, units: int, heads: int, ffn_units: int, dropout: float):
        options = {"dropout": dropout, "attention_dropout": dropout, "ffn_dropout": dropout}
        super().__init__(0, units, heads, ffn_units, **options)
        self.history = history
        self.layers = []
        for _ in range(num_layers):
            layer = SelfAttentionDecoderLayer(units, heads, ffn_units, **options)
            own = SimpleRecurrence(units) if history == SSRU else Averaging(units, *AVERAGING[history], dropout)
            layer.self_attention = TransformerLayerWrapper(own, dropout)
            self.layers.append(layer)

    def _get_initial_state(self, batch_size: Any, dtype: tf.DType, initial_state: Any = None) -> list[Any]:
        states: list[Any] = super()._get_initial_state(batch_size, dtype, initial_state)
        for layer, state in zip(self.layers, states, strict=True):
            state["self_kv"] = layer.self_attention.layer.initial_state(batch_size, dtype)
        return states

    def _get_state_reorder_flags(self) -> list[Any]:
        flags: list[Any] = super()._get_state_reorder_flags()
        for layer, flag in zip(self.layers, flags, strict=True):
            flag["self_kv"] = tuple(True for _ in layer.self_attention.layer.initial_state(1, tf.float32))
        return flags


class HistoryTransformer(opennmt.models.Transformer):
    """A Transformer with a HistoryDecoder. Arguments as in formats.shape.TransformerShape; dropout is a probability."""

    def __init__(
        self, decoder: str, encoder_layers: int, decoder_layers: int, units: int, ffn_units: int, heads: int,
        share_embeddings: bool, dropout: float,
    ):  # fmt: skip
        super().__init__(
            num_layers=(encoder_layers, 0),
            num_units=units,
            num_heads=heads,
            ffn_inner_dim=ffn_units,
            dropout=dropout,
            attention_dropout=dropout,
            ffn_dropout=dropout,
            share_embeddings=sharing(share_embeddings),
        )
        self.decoder = HistoryDecoder(decoder, decoder_layers, units, heads, ffn_units, dropout)
