"""Optimizer, learning rate and loss of a training.

OpenNMT-tf computes label-smoothed cross-entropy from a matrix of labels as large as the logits, with an operation that
runs on Eigen: 15 % of the step of a small student with 4,000 pieces on one core. The loss here needs only the logit of
the correct piece, the sum of all logits, and the normalizer of the softmax, which oneDNN computes.
"""

from typing import Any

from nmt_frontier.limits import MAXIMUM_OUTPUT
from train import guided_alignment
from train.settings import TrainingSection

Parameters = dict[str, Any]  # OpenNMT-tf's ``params``


def opennmt_parameters(training: TrainingSection, steps: int) -> Parameters:
    """OpenNMT-tf's ``params`` for a training of ``steps`` updates in all.

    ``learning_rate`` of the configuration is the peak, reached after the warm-up. For ``inverse_sqrt`` (Vaswani et al.
    2017, section 5.3) OpenNMT-tf multiplies its value by units^-0.5 * warmup^-0.5, which is undone here.
    """
    peak, warmup = training.learning_rate, training.warmup_steps
    decays = {
        "cosine": (peak, "CosineAnnealing", {"max_step": steps, "warmup_steps": warmup}),
        "inverse_sqrt": (peak * warmup**0.5, "NoamDecay", {"model_dim": 1, "warmup_steps": warmup}),
        "constant": (peak, None, None),
    }
    learning_rate, decay, decay_parameters = decays[training.decay]
    optimizers = {
        "adam": ("LazyAdam", {"beta_1": 0.9, "beta_2": 0.998}),
        "sgd": ("SGD", {"clipnorm": 5.0}),  # as in OpenNMT-tf's first version, used for the 2018 paper
    }
    optimizer, optimizer_parameters = optimizers[training.optimizer]
    return {
        "optimizer": optimizer,
        "optimizer_params": optimizer_parameters,
        "learning_rate": learning_rate,
        **({"decay_type": decay, "decay_params": decay_parameters} if decay else {}),
        "average_loss_in_time": True,
        "label_smoothing": training.label_smoothing,
        "maximum_decoding_length": MAXIMUM_OUTPUT,
        **guided_alignment.parameters(training),
    }


def install_cross_entropy() -> None:
    """Make OpenNMT-tf train with this loss in this process."""
    import tensorflow as tf
    from opennmt.utils import losses

    def softmax_cross_entropy(logits: Any, labels: Any, label_smoothing: float, training: bool | None) -> Any:
        """Losses, float32 (batch, time), of logits (batch, time, vocabulary) and integer labels (batch, time)."""
        logits = tf.cast(logits, tf.float32)  # full precision, as in OpenNMT-tf
        rows = tf.reshape(logits, [-1, logits.shape[-1]])
        smoothing = tf.constant(label_smoothing if training else 0, tf.float32)
        return tf.reshape(cross_entropy(rows, tf.reshape(labels, [-1]), smoothing), tf.shape(labels))

    losses._softmax_cross_entropy = softmax_cross_entropy


def _normalizers(logits: Any, probabilities: Any) -> Any:
    """log(sum(exp(logits))) of each row, from its largest logit, whose probability never underflows."""
    import tensorflow as tf

    return tf.reduce_max(logits, -1) - tf.math.log(tf.reduce_max(probabilities, -1))


def cross_entropy(logits: Any, labels: Any, smoothing: Any) -> Any:
    """Losses in nats, float32 (positions,), differentiable by the logits.

    logits: float32 (positions, vocabulary). labels: integers (positions,). smoothing: float32 scalar, the probability
    mass divided among the incorrect pieces (Szegedy et al. 2016, section 7, where the correct one gets a share, too).
    """
    import tensorflow as tf

    @tf.custom_gradient
    def loss(logits: Any, labels: Any, smoothing: Any) -> Any:
        vocabulary = tf.cast(tf.shape(logits)[-1], logits.dtype)
        share = smoothing / (vocabulary - 1)  # mass of each incorrect piece
        surplus = 1 - smoothing - share  # mass of the correct piece beyond that
        probabilities = tf.nn.softmax(logits)
        normalizer = _normalizers(logits, probabilities)
        correct = tf.gather(logits, labels, batch_dims=1)

        def gradient(upstream: Any) -> Any:
            positions = tf.range(tf.size(labels, out_type=labels.dtype))
            logit_gradient = (probabilities - share) * upstream[:, tf.newaxis]
            indices = tf.stack([positions, labels], axis=1)
            return tf.tensor_scatter_nd_sub(logit_gradient, indices, surplus * upstream), None, None

        return normalizer - surplus * correct - share * tf.reduce_sum(logits, -1), gradient

    return loss(logits, labels, smoothing)


def of_distribution(logits: Any, pieces: Any, masses: Any, share: Any) -> Any:
    """Losses in nats, float32 (positions,), differentiable by the logits, float32 (positions, vocabulary).

    The same for other distributions. Each piece of the vocabulary has the mass ``share``, float32 (positions,), and
    those in ``pieces``, integers (positions, n), the ``masses`` beyond it, float32 (positions, n); together they have
    1. ``cross_entropy`` is no case of it: with other operations, dropout would draw other numbers on several devices.
    """
    import tensorflow as tf

    @tf.custom_gradient
    def loss(logits: Any) -> Any:
        probabilities = tf.nn.softmax(logits)

        def gradient(upstream: Any) -> Any:
            column = upstream[:, tf.newaxis]
            logit_gradient = (probabilities - share[:, tf.newaxis]) * column
            rows = tf.range(tf.shape(pieces, out_type=pieces.dtype)[0])[:, tf.newaxis]
            indices = tf.stack([tf.broadcast_to(rows, tf.shape(pieces)), pieces], axis=-1)
            return tf.tensor_scatter_nd_sub(logit_gradient, indices, masses * column)

        known = tf.reduce_sum(masses * tf.gather(logits, pieces, batch_dims=1), -1)
        return _normalizers(logits, probabilities) - known - share * tf.reduce_sum(logits, -1), gradient

    return loss(logits)
