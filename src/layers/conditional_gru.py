"""Nematus' conditional GRU (Sennrich et al. 2017, "Nematus: a Toolkit for Neural Machine Translation", section 2).

The formulas are Marian's, biases included, so that one engine decodes the models of both.
"""

from typing import Any

import opennmt
import tensorflow as tf
from opennmt.layers.common import Dense, dropout

from layers.embeddings import embedders

ATTENTION = "additive_attention"  # name scope of the attention's operations, for profiles


class GatedUnit(tf.keras.layers.Layer):
    """A gated recurrent unit that resets after the product (Cho et al. 2014).

    s' = z s + (1 - z) tanh(x + r u), where x is a product of the input and u one of the state s; z and r are sigmoids
    of such sums. entered: the unit has an input; transitions have none. inside: the bias belongs to u, so it is reset.
    """

    def __init__(self, units: int, entered: bool, inside: bool):
        super().__init__()
        self.inputs: Any = Dense(3 * units, use_bias=False) if entered else None
        self.states = Dense(3 * units, use_bias=False)
        self.inside = inside
        self._units = units

    def build(self, _: Any) -> None:
        self.bias = self.add_weight("bias", [3 * self._units], initializer="zeros")

    def call(self, state: tf.Tensor, entering: tf.Tensor | None = None) -> tf.Tensor:
        """state: [batch, units]; entering: ``inputs`` of the input, [batch, 3 units]. Returns the next state."""
        products = self.states(state)
        entering = tf.zeros_like(products) if entering is None else entering
        if self.inside:
            products += self.bias
        else:
            entering += self.bias
        x, u = (tf.split(part, 3, axis=-1) for part in (entering, products))
        kept, reset = tf.sigmoid(x[0] + u[0]), tf.sigmoid(x[1] + u[1])
        return kept * state + (1 - kept) * tf.tanh(x[2] + reset * u[2])


class Transitions(tf.keras.layers.Layer):
    """A Keras cell of several gated units in a row. Only the first has an input."""

    def __init__(self, units: int, count: int):
        super().__init__()
        self.units = [GatedUnit(units, entered=number == 0, inside=False) for number in range(count)]
        self.state_size = self.output_size = units

    def call(self, entering: tf.Tensor, states: Any, training: bool | None = None) -> tuple[tf.Tensor, list[tf.Tensor]]:
        del training
        state = tf.nest.flatten(states)[0]
        for number, unit in enumerate(self.units):
            state = unit(state, entering if number == 0 else None)
        return state, [state]


class ConditionalEncoder(opennmt.encoders.Encoder):
    """One bidirectional layer. Its state is the mean of its outputs."""

    def __init__(self, transitions: int, units: int, dropout: float):
        super().__init__()
        self.cells = [Transitions(units, transitions) for _ in range(2)]
        self.directions = [
            tf.keras.layers.RNN(cell, return_sequences=True, go_backwards=backwards)
            for cell, backwards in zip(self.cells, (False, True), strict=True)
        ]
        self._dropout = dropout

    def call(
        self, inputs: tf.Tensor, sequence_length: tf.Tensor | None = None, training: bool | None = None
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor | None]:
        """inputs: [batch, length, embedding]. Returns contexts [batch, length, 2 units], their mean and the lengths."""
        mask = self.build_mask(inputs, sequence_length)
        inputs = dropout(inputs, self._dropout, training=training)
        forward, backward = (
            direction(cell.units[0].inputs(inputs), mask=mask)
            for direction, cell in zip(self.directions, self.cells, strict=True)
        )
        outputs = tf.concat([forward, tf.reverse(backward, [1])], axis=-1)
        outputs = dropout(outputs, self._dropout, training=training)
        weights = tf.ones_like(outputs[:, :, :1]) if mask is None else tf.cast(mask, outputs.dtype)[:, :, None]
        mean = tf.reduce_sum(outputs * weights, axis=1) / tf.reduce_sum(weights, axis=1)
        return outputs, mean, sequence_length


class AttentiveDecoder(opennmt.decoders.Decoder):
    """A decoder whose state is one vector, with additive attention (Bahdanau et al. 2015).

    Subclasses have the layers ``queries``, ``keys``, ``combination`` and ``start``.
    """

    @property
    def support_alignment_history(self) -> bool:
        return True

    def _get_initial_state(self, batch_size: Any, dtype: tf.DType, initial_state: tf.Tensor | None = None) -> tf.Tensor:
        with tf.name_scope(ATTENTION):
            self._memory_keys = self.keys(self.memory)  # once a sentence
        return self.start(initial_state)

    def attend(self, state: tf.Tensor, memory: tf.Tensor, lengths: tf.Tensor | None) -> tuple[tf.Tensor, tf.Tensor]:
        """The context, [batch, memory units], and the attention, [batch, length]."""
        with tf.name_scope(ATTENTION):
            scores = self.combination(tf.tanh(self._memory_keys + self.queries(state)[:, None]))[:, :, 0]
            if lengths is not None:
                mask = tf.sequence_mask(lengths, maxlen=tf.shape(scores)[1])
                scores = tf.where(mask, scores, scores.dtype.min)
            attention = tf.nn.softmax(scores)
            return tf.einsum("bt,btu->bu", attention, memory), attention


class ConditionalDecoder(AttentiveDecoder):
    """The state after the first unit attends to the source; the context enters the second unit."""

    def __init__(self, transitions: int, units: int, embedding_units: int, dropout: float):
        super().__init__()
        self.units = [GatedUnit(units, entered=number < 2, inside=number > 0) for number in range(transitions)]
        self.queries = Dense(2 * units, use_bias=False)
        self.keys = Dense(2 * units)
        self.combination = Dense(1, use_bias=False)
        self.start = Dense(units, activation=tf.tanh)
        self.hidden = [Dense(embedding_units) for _ in range(3)]  # of the piece, the state and the context
        self._dropout = dropout

    def step(
        self, inputs: tf.Tensor, timestep: tf.Tensor, state: tf.Tensor, memory: tf.Tensor,
        memory_sequence_length: tf.Tensor | None = None, training: bool | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:  # fmt: skip
        """inputs: [batch, embedding]; state: [batch, units]. Returns outputs [batch, embedding], state, attention."""
        inputs = dropout(inputs, self._dropout, training=training)
        first, second, *others = self.units
        state = first(state, first.inputs(inputs))
        context, attention = self.attend(state, memory, memory_sequence_length)
        state = second(state, second.inputs(context))
        for unit in others:
            state = unit(state)
        parts = zip(self.hidden, (inputs, state, context), strict=True)
        outputs = tf.tanh(tf.add_n([layer(part) for layer, part in parts]))
        return dropout(outputs, self._dropout, training=training), state, attention


class ConditionalGRU(opennmt.models.SequenceToSequence):
    """Arguments as in formats.shape.ConditionalShape; dropout is a probability."""

    def __init__(
        self, encoder_transitions: int, decoder_transitions: int, units: int, embedding_units: int,
        share_embeddings: bool, dropout: float,
    ):  # fmt: skip
        super().__init__(
            encoder=ConditionalEncoder(encoder_transitions, units, dropout),
            decoder=ConditionalDecoder(decoder_transitions, units, embedding_units, dropout),
            **embedders(embedding_units, share_embeddings),
        )
