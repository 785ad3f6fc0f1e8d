"""The loss of a head of attention that learns word alignments (Chen et al. 2016, "Guided Alignment Training").

OpenNMT-tf has such a loss, but divides it by the pieces of the batch twice: of 4,000 pieces it would count as much as
the loss of one. It is summed here, as the loss of translations is, before both are divided.
"""

from typing import Any

from train.settings import TrainingSection

GUIDED = "guided"
WEIGHT = 0.1  # of the alignment of a piece against its translation; Marian's default


def parameters(training: TrainingSection) -> dict[str, str | float]:
    """OpenNMT-tf's ``params`` of a training: it takes the first head of the last decoder layer."""
    guided: dict[str, str | float] = {"guided_alignment_type": "ce", "guided_alignment_weight": WEIGHT}
    return guided if training.alignment == GUIDED else {}


def install_cost() -> None:
    """Make OpenNMT-tf train with this cost in this process."""
    from opennmt.utils import losses

    losses.guided_alignment_cost = cost


def cost(attention_probs: Any, gold_alignment: Any, weight: float, **_: Any) -> Any:
    """``weight`` times the sum of cross-entropies in nats, of the target pieces that have a link.

    attention_probs, gold_alignment: (rows, target pieces, source pieces); all links of a piece count alike. Named as
    OpenNMT-tf calls it; the lengths that it gives are not needed, since padding has no link.
    """
    import tensorflow as tf

    links = tf.reduce_sum(gold_alignment, -1, keepdims=True)
    expected = tf.math.divide_no_nan(gold_alignment, links)
    logarithms = tf.math.log(tf.maximum(tf.cast(attention_probs, tf.float32), 1e-9))
    return -weight * tf.reduce_sum(expected * logarithms)
