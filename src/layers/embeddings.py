"""Embeddings of recurrent models, large enough at the start to be told apart.

OpenNMT-tf draws embeddings between plus and minus sqrt(6 / (entries + units)), with 4,000 pieces a deviation of 0.02,
and its Transformers multiply them by sqrt(units). A recurrent layer takes them as they are: its states hardly differ
from piece to piece, until training has made them larger.
"""

from typing import Any

import opennmt
import tensorflow as tf


class UnitEmbedder(opennmt.inputters.WordEmbedder):
    """Embeddings whose units begin with mean 0 and variance 1."""

    def add_weight(self, name: str, shape: Any, **options: Any) -> tf.Variable:
        limit = 3**0.5  # of a uniform distribution of variance 1
        options["initializer"] = tf.keras.initializers.RandomUniform(-limit, limit)
        return super().add_weight(name, shape, **options)


def embedder(units: int, shared: bool) -> opennmt.inputters.WordEmbedder:
    """An inputter for one side of a recurrent model.

    shared: the softmax has the same weights. They stay small then, for logits are sums of their products.
    """
    kind = opennmt.inputters.WordEmbedder if shared else UnitEmbedder
    return kind(embedding_size=units)
