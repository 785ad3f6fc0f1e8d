"""The loss and its gradient equal their definition, and OpenNMT-tf's loss."""

import numpy as np
import pytest

from train import optimizer


def reference(logits: np.ndarray, labels: np.ndarray, smoothing: float) -> tuple[np.ndarray, np.ndarray]:
    """Loss and gradient by definition, in float64: the distance of two distributions."""
    exact = logits.astype(np.float64)
    shifted = exact - exact.max(-1, keepdims=True)
    logarithms = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    wanted = np.full_like(exact, smoothing / (exact.shape[-1] - 1))
    wanted[np.arange(len(labels)), labels] = 1 - smoothing
    return -(wanted * logarithms).sum(-1), np.exp(logarithms) - wanted


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("scale", [0.1, 5.0, 200.0])  # at 200 all probabilities but one underflow
def test_loss_and_gradient_are_those_of_the_definition(smoothing, scale):
    import tensorflow as tf

    drawn = np.random.default_rng(1)
    logits = (drawn.normal(size=(40, 50)) * scale).astype(np.float32)
    labels = drawn.integers(0, 50, size=40)
    variable = tf.Variable(logits)
    with tf.GradientTape() as tape:
        loss = optimizer.cross_entropy(variable, tf.constant(labels), tf.constant(smoothing))
    expected, gradient = reference(logits, labels, smoothing)
    np.testing.assert_allclose(loss, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(tape.gradient(loss, variable), gradient, atol=1e-6)


@pytest.mark.parametrize("smoothing", [0.1, 0])  # as a number in YAML may be written
@pytest.mark.parametrize("training", [True, False])
def test_opennmt_tf_computes_the_same_with_it(training, smoothing, monkeypatch):
    import tensorflow as tf
    from opennmt.utils import losses

    drawn = np.random.default_rng(2)
    logits = tf.constant(drawn.normal(size=(3, 7, 20)).astype(np.float32))
    labels, lengths = tf.constant(drawn.integers(0, 20, size=(3, 7))), tf.constant([7, 4, 1])

    def total():
        options = {"label_smoothing": smoothing, "average_in_time": True, "training": training}
        return float(losses.cross_entropy_sequence_loss(logits, labels, lengths, **options)[0])

    original = losses._softmax_cross_entropy
    monkeypatch.setattr(losses, "_softmax_cross_entropy", original)  # put back after the test
    before = total()
    optimizer.install_cross_entropy()
    assert losses._softmax_cross_entropy is not original
    assert total() == pytest.approx(before, rel=1e-6)
