"""Unit-variance embedding initialiser for recurrent models, and the sharing of embeddings.

OpenNMT-tf draws embeddings uniformly up to sqrt(6 / (entries + units)), a deviation of 0.02 with 4,000 pieces, and its
Transformers multiply them by sqrt(units). Recurrent layers do not: their states would hardly differ from piece to piece
until training has made the embeddings larger.
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

    shared: the softmax has the same weights. They stay small then, because logits are sums of their products.
    """
    kind = opennmt.inputters.WordEmbedder if shared else UnitEmbedder
    return kind(embedding_size=units)


def sharing(shared: bool) -> int:
    """OpenNMT-tf's level of sharing: one matrix for both sides and the softmax, or three."""
    level = opennmt.models.EmbeddingsSharingLevel
    chosen: int = level.ALL if shared else level.NONE
    return chosen


def embedders(units: int, shared: bool) -> dict[str, Any]:
    """The arguments of a model that decide on the embeddings of both sides."""
    sides = {f"{side}_inputter": embedder(units, shared) for side in ("source", "target")}
    return sides | {"share_embeddings": sharing(shared)}
