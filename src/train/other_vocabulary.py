"""Start a model with the weights of one that has another vocabulary: each piece that both have keeps its own."""

import logging
from pathlib import Path
from typing import Any

import numpy as np

from nmt_frontier.errors import UserError

VOCABULARY = "vocabulary.txt"  # that train.train leaves beside averaged weights


def differs(model: Any, averaged: Path) -> bool:
    """Whether the weights come with a vocabulary that is not the model's."""
    theirs, ours = averaged / VOCABULARY, Path(model.features_inputter.vocabulary_file)
    return theirs.exists() and theirs.read_bytes() != ours.read_bytes()


def transfer(model: Any, averaged: Path) -> None:
    """Copy the weights. New pieces keep their random embeddings. Raises UserError for a model of another shape."""
    import opennmt
    import tensorflow as tf
    from opennmt.data import vocab

    other = opennmt.load_model(str(averaged))
    other.initialize({f"{side}_vocabulary": str(averaged / VOCABULARY) for side in ("source", "target")})
    other.create_variables()
    checkpoint = tf.train.Checkpoint(model=other)
    checkpoint.restore(tf.train.latest_checkpoint(str(averaged))).assert_existing_objects_matched()
    mapping, _ = vocab.get_mapping(str(averaged / VOCABULARY), model.features_inputter.vocabulary_file)
    new = np.flatnonzero(np.array(mapping) < 0)
    embeddings = [model.features_inputter.embedding, model.labels_inputter.embedding]
    drawn = [embedding.numpy()[new] for embedding in embeddings]
    try:
        if len(other.weights) != len(model.weights):
            raise ValueError(f"{len(other.weights)} weights instead of {len(model.weights)}")
        other.transfer_weights(model)
    except ValueError as error:
        raise UserError(f"{averaged}: not the weights of a model of this shape: {error}") from error
    for embedding, rows in zip(embeddings, drawn, strict=True):
        embedding.scatter_nd_update(new[:, None], rows)
    logging.info("%d of %d pieces are new to %s", len(new), len(mapping), averaged)
