"""A recurrent decoder with fully connected layers on top (Devlin 2017, "Sharp Models on Dull Hardware").

Only the gated unit at the bottom is recurrent, so the layers above it do not wait for the previous step: each costs one
product. Encoder and unit are those of layers.conditional_gru.
"""

import opennmt
import tensorflow as tf
from opennmt.layers.common import Dense, dropout

from layers.conditional_gru import AttentiveDecoder, ConditionalEncoder, GatedUnit
from layers.embeddings import embedders


class FullyConnected(tf.keras.layers.Layer):
    """relu(W x + b) + x, with x projected where the widths differ."""

    def __init__(self, inputs: int, units: int):
        super().__init__()
        self.inner = Dense(units, activation=tf.nn.relu)
        self.projection = Dense(units, use_bias=False) if inputs != units else None

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """inputs: [batch, inputs]. Returns [batch, units]."""
        return self.inner(inputs) + (inputs if self.projection is None else self.projection(inputs))


class FullyConnectedDecoder(AttentiveDecoder):
    """The last piece and the context of the previous state enter one gated unit; the layers are on top of it."""

    def __init__(self, layers: int, layer_units: int, units: int, dropout: float):
        super().__init__()
        self.unit = GatedUnit(units, entered=True, inside=False)
        self.contexts = Dense(3 * units, use_bias=False)  # added to the unit's product of the piece
        self.queries = Dense(units, use_bias=False)
        self.keys = Dense(units)
        self.combination = Dense(1, use_bias=False)
        self.start = Dense(units, activation=tf.tanh)
        self.top = [FullyConnected(layer_units if number else units, layer_units) for number in range(layers)]
        self._dropout = dropout

    def step(
        self, inputs: tf.Tensor, timestep: tf.Tensor, state: tf.Tensor, memory: tf.Tensor,
        memory_sequence_length: tf.Tensor | None = None, training: bool | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:  # fmt: skip
        """inputs: [batch, embedding]; state: [batch, units]. Returns outputs [batch, layer units], state, attention."""
        inputs = dropout(inputs, self._dropout, training=training)
        context, attention = self.attend(state, memory, memory_sequence_length)
        state = self.unit(state, self.unit.inputs(inputs) + self.contexts(context))
        outputs = state
        for layer in self.top:
            outputs = dropout(layer(outputs), self._dropout, training=training)
        return outputs, state, attention


class FullyConnectedGRU(opennmt.models.SequenceToSequence):
    """Arguments as in formats.shape.FullyConnectedShape; dropout is a probability."""

    def __init__(
        self, fully_connected_layers: int, fully_connected_units: int, units: int, embedding_units: int,
        share_embeddings: bool, dropout: float,
    ):  # fmt: skip
        super().__init__(
            encoder=ConditionalEncoder(1, units, dropout),
            decoder=FullyConnectedDecoder(fully_connected_layers, fully_connected_units, units, dropout),
            **embedders(embedding_units, share_embeddings),
        )
