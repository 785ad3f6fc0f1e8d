"""Updates with rounded weights, so that a model fits the type that it is exported in (quantisation-aware training).

The forward pass and the gradients have the weights as the native engine stores them; the gradients then change the
weights in float32, from which the rounded ones are made anew (the straight-through estimator of Bengio et al. 2013).
This is the rounding of nmt_frontier.model.native_quantization, in TensorFlow to take place where the weights are.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from nmt_frontier.model import native_packing, native_weights
from nmt_frontier.model.native_quantization import INT4_DIVISORS, INT4_INPUTS, INT4_STEPS, INT8_LANE


class RoundedWeights:
    """The matrices of a Transformer of OpenNMT-tf, rounded to ``kind``, int8 or int4, and exact again.

    Create it in the scope of the replicas. Between ``round`` and ``restore`` the variables have the rounded values.
    """

    def __init__(self, model: Any, kind: str):
        import tensorflow as tf

        self._matrices = [*matrices(model, kind)]
        self._exact = [tf.Variable(matrix.value(), trainable=False) for matrix, _ in self._matrices]
        self._round = tf.function(self._rounded, autograph=False)

    def round(self) -> None:
        self._round()

    def _rounded(self) -> None:
        for (matrix, rounding), exact in zip(self._matrices, self._exact, strict=True):
            exact.assign(matrix.value())
            matrix.assign(rounding(matrix.value()))

    def restore(self) -> None:
        for (matrix, _), exact in zip(self._matrices, self._exact, strict=True):
            matrix.assign(exact.value())


def matrices(model: Any, kind: str) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
    """The matrices that an export rounds, each with a function that rounds its value as the export does.

    As export.read_opennmt_tf has them: kernels by their outputs, embeddings and output layer by pieces.
    """
    import tensorflow as tf
    from opennmt.layers.transformer import MultiHeadAttention

    layers = [*model.submodules]
    heads = {id(layer.linear_output): layer.num_heads for layer in layers if isinstance(layer, MultiHeadAttention)}
    output, rows = model.decoder.output_layer, native_weights.ROWS.get(kind, kind)
    tied = output.weight
    embeddings = {id(side.embedding): side.embedding for side in (model.features_inputter, model.labels_inputter)}
    for embedding in embeddings.values():
        yield embedding, partial(rounded, kind=rows, bounded=embedding is tied)
    for layer in layers:
        if isinstance(layer, tf.keras.layers.Dense) and layer is not output:
            yield layer.kernel, partial(of_kernel, kind=kind, groups=heads.get(id(layer), 1))
    if tied is None:
        yield output.kernel, partial(of_kernel, kind=rows)


def of_kernel(kernel: Any, kind: str, groups: int = 1) -> Any:
    """A kernel [inputs, outputs], rounded. groups: of inputs that the engine pads, such as heads."""
    import tensorflow as tf

    return tf.transpose(rounded(tf.transpose(kernel), kind, groups=groups))


def rounded(weights: Any, kind: str, bounded: bool = True, groups: int = 1) -> Any:
    """Rows of float32 weights, [outputs, inputs], rounded to ``kind``. Others: as above and for ``quantized``."""
    import tensorflow as tf

    outputs, inputs = weights.shape
    size = inputs // groups
    wide = native_packing.padded(size)
    apart = tf.pad(tf.reshape(weights, [outputs, groups, size]), [[0, 0], [0, 0], [0, wide - size]])
    rows = tf.reshape(apart, [outputs, groups * wide])
    found = four_bits(rows) if native_weights.of_product(kind, groups * wide) == "int4" else eight_bits(rows, bounded)
    return tf.reshape(tf.reshape(found, [outputs, groups, wide])[:, :, :size], [outputs, inputs])


def eight_bits(weights: Any, bounded: bool) -> Any:
    """``native_quantization.quantized`` of float32 rows in int8, multiplied by the scales again."""
    import tensorflow as tf

    scale = tf.maximum(tf.reduce_max(tf.abs(weights), axis=1), 1e-9) / 127

    def divided(scale: Any) -> Any:
        return tf.round(weights / scale[:, tf.newaxis])

    def over(scale: Any) -> Any:
        return tf.reduce_any(lane_sum(divided(scale)) > INT8_LANE)

    def coarser(scale: Any) -> Any:
        sums = lane_sum(divided(scale))
        return (tf.where(sums > INT8_LANE, scale * tf.maximum(sums / INT8_LANE * 0.998, 1.001), scale),)

    if bounded:
        (scale,) = tf.while_loop(over, coarser, (scale,))
    return tf.clip_by_value(divided(scale), -127, 127) * scale[:, tf.newaxis]


def lane_sum(integers: Any) -> Any:
    """``native_quantization.lane_sum`` of integers in float32."""
    import tensorflow as tf

    rows = tf.reshape(integers, [integers.shape[0], -1, 2, 2, 2])
    sums = [tf.reduce_sum(tf.maximum(sign * rows, 0), axis=[2, 4]) for sign in (1, -1)]
    return tf.reduce_max(tf.maximum(*sums), axis=[1, 2])


def four_bits(weights: Any) -> Any:
    """``native_quantization.halved`` of float32 rows, multiplied by steps and scales again."""
    import tensorflow as tf

    groups = tf.reshape(weights, [weights.shape[0], -1, INT4_INPUTS])
    places = tf.argmax(tf.abs(groups), axis=2)
    extremes = tf.gather(groups, places, batch_dims=2)
    most = float(min(127, INT4_STEPS // groups.shape[1]))
    scale = tf.maximum(tf.reduce_max(tf.abs(extremes), axis=1), 1e-9) / 7 / most

    def nearest(divisor: Any) -> tuple[Any, Any]:
        """The groups with the steps of a divisor, and their squared errors."""
        step = tf.clip_by_value(tf.round(extremes / scale[:, tf.newaxis] / divisor), -most, most) * scale[:, tf.newaxis]
        multiples = tf.round(tf.math.divide_no_nan(groups, step[:, :, tf.newaxis]))
        found = tf.clip_by_value(multiples, -8, 7) * step[:, :, tf.newaxis]
        return found, tf.reduce_sum(tf.square(groups - found), axis=2)

    def better(number: Any, best: Any, least: Any) -> tuple[Any, Any, Any]:
        found, error = nearest(divisors[number])
        best = tf.where((error < least)[:, :, tf.newaxis], found, best)
        return number + 1, best, tf.minimum(least, error)

    divisors = tf.constant(INT4_DIVISORS, tf.float32)
    first = (tf.constant(1), *nearest(divisors[0]))
    _, best, _ = tf.while_loop(lambda number, *_: number < len(INT4_DIVISORS), better, first)
    return tf.reshape(best, weights.shape)
