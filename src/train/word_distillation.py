"""Word-level distillation: a loss against what a teacher holds probable, beside the target (Kim and Rush 2016).

The teacher's distribution is known for its k most probable pieces (formats.word_probabilities); the rest of its mass is
spread evenly over all others. Scaled up to 1 instead, these k are a biased estimate, surer than the teacher (Anshumann
et al. 2025, arXiv 2503.16870); and label smoothing has taught the teacher to spread the rest like that. A position
without probabilities has the usual loss.
"""

from typing import Any, NamedTuple

from formats.word_probabilities import BYTES, ONE
from train.optimizer import of_distribution
from train.settings import WordsSection

WORDS = "words"  # the labels' key: uint8 (rows, target pieces and end, k, BYTES)


class Taught(NamedTuple):
    """Labels, integers (rows, positions), with the words of their teacher; stands where OpenNMT-tf has labels alone."""

    labels: Any
    words: Any


def teach(model: Any, words: WordsSection | None) -> None:
    """Make an OpenNMT-tf model learn words, if there are any to learn."""
    if words:
        register(model, words)
        install(words)


def register(model: Any, words: WordsSection) -> None:
    """Make an OpenNMT-tf model read the lines of formats.word_probabilities as an annotation of its examples."""
    import tensorflow as tf

    def labelled(features: Any, labels: Any, line: Any) -> Any:
        coded = tf.io.decode_raw(tf.io.decode_base64(tf.strings.split(line)), tf.uint8, fixed_length=words.k * BYTES)
        positions, there = tf.shape(labels["ids_out"])[0], tf.shape(coded)[0]
        same = tf.debugging.assert_equal(there * (there - positions), 0, "words of other targets than these")
        with tf.control_dependencies([same]):  # otherwise a graph may fail in tf.pad first
            missing = tf.identity(positions - there)
        padded = tf.pad(tf.reshape(coded, [-1, words.k, BYTES]), [[0, missing], [0, 0], [0, 0]])
        labels[WORDS] = tf.ensure_shape(padded, [None, words.k, BYTES])
        return features, labels

    model.examples_inputter.accepted_annotations[WORDS] = labelled


def install(words: WordsSection) -> None:
    """Make OpenNMT-tf train with this loss in this process, where labels have WORDS."""
    import tensorflow as tf
    from opennmt.models import SequenceToSequence
    from opennmt.utils import losses

    plain_loss, plain_entropy = SequenceToSequence.compute_loss, losses._softmax_cross_entropy

    def compute_loss(self: Any, outputs: Any, labels: Any, training: bool = True) -> Any:
        if training and WORDS in labels:
            plain = {name: value for name, value in labels.items() if name != WORDS}
            labels = {**plain, "ids_out": Taught(labels["ids_out"], labels[WORDS])}
        return plain_loss(self, outputs, labels, training=training)

    def softmax_cross_entropy(logits: Any, labels: Any, label_smoothing: float, training: bool | None) -> Any:
        if not isinstance(labels, Taught):
            return plain_entropy(logits, labels, label_smoothing, training)
        rows = tf.reshape(tf.cast(logits, tf.float32), [-1, logits.shape[-1]])
        positions = Taught(tf.reshape(labels.labels, [-1]), tf.reshape(labels.words, [-1, words.k, BYTES]))
        return tf.reshape(cross_entropy(rows, positions, label_smoothing, float(words.weight)), tf.shape(labels.labels))

    SequenceToSequence.compute_loss = compute_loss
    losses._softmax_cross_entropy = softmax_cross_entropy


def cross_entropy(logits: Any, taught: Taught, smoothing: float, weight: float) -> Any:
    """Losses in nats, float32 (positions,): 1 - ``weight`` of that of train.optimizer, and ``weight`` of the teacher's.

    logits: float32 (positions, vocabulary). taught: labels (positions,), words uint8 (positions, k, BYTES).
    """
    import tensorflow as tf

    vocabulary = tf.cast(tf.shape(logits)[-1], tf.float32)
    coded = tf.cast(taught.words, tf.int32)
    pieces = tf.cast(coded[..., 0] + 256 * coded[..., 1], taught.labels.dtype)
    probabilities = tf.cast(coded[..., 2], tf.float32) / ONE
    total, kept = tf.reduce_sum(probabilities, -1), tf.cast(coded[..., 2] > 0, tf.float32)
    probabilities /= tf.maximum(total, 1.0)[:, tf.newaxis]  # by rounding it may exceed 1
    others = (1 - tf.minimum(total, 1.0)) / (vocabulary - tf.reduce_sum(kept, -1))  # of each piece that is not kept
    weights = tf.where(total > 0, weight, 0.0)
    smoothed = smoothing / (vocabulary - 1)
    share = (1 - weights) * smoothed + weights * others
    surplus = kept * (probabilities - others[:, tf.newaxis]) * weights[:, tf.newaxis]
    masses = tf.concat([((1 - weights) * (1 - smoothing - smoothed))[:, tf.newaxis], surplus], -1)
    return of_distribution(logits, tf.concat([taught.labels[:, tf.newaxis], pieces], -1), masses, share)
