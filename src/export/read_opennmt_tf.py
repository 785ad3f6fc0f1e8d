"""Read a model of OpenNMT-tf for the native engine, without CTranslate2: what CTranslate2 has no layers for."""

from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UserError
from export import opennmt_tf_conditional, opennmt_tf_fully_connected, opennmt_tf_recurrent, opennmt_tf_transformer
from export.float_model import FloatModel
from formats import native_model, opennmt_checkpoint, opennmt_vocabulary
from formats.opennmt_vocabulary import END, START, UNKNOWN

ARCHITECTURES = (
    opennmt_tf_transformer, opennmt_tf_recurrent, opennmt_tf_conditional, opennmt_tf_fully_connected,
)  # fmt: skip


def read(checkpoint: Path) -> FloatModel:
    """The model in a folder of train.train. Raises UserError for one that is damaged, or that the engine cannot run."""
    return of_model(opennmt_checkpoint.load(checkpoint), vocabulary(checkpoint), checkpoint)


def vocabulary(checkpoint: Path) -> native_model.Vocabulary:
    """The joint vocabulary of a checkpoint, whose last entry is OpenNMT-tf's own."""
    pieces = opennmt_vocabulary.read(checkpoint / "vocabulary.txt")
    return native_model.Vocabulary([*pieces, UNKNOWN], [*pieces, UNKNOWN], UNKNOWN)


def of_model(model: Any, pieces: native_model.Vocabulary, origin: Path) -> FloatModel:
    """A loaded model. Raises UserError as ``read``."""
    reader = next((architecture for architecture in ARCHITECTURES if architecture.reads(model)), None)
    if reader is None:
        raise UserError(f"{origin}: the native engine has no {type(model).__name__} of OpenNMT-tf's like this one")
    products, vectors, metadata = reader.layers(model, origin)
    output = model.decoder.output_layer
    source, target = (np.asarray(inputter.embedding) for inputter in (model.features_inputter, model.labels_inputter))
    embeddings = {"source": ("source", source), "target": ("target", target)}
    if output.weight is None:
        embeddings["output"] = ("output", np.asarray(output.kernel).T)
    else:  # tied to the target's embeddings
        embeddings["output"] = ("target", target)
    if model.features_inputter.embedding is model.labels_inputter.embedding:
        embeddings["source"] = ("target", target)
    metadata |= {
        "start": pieces.target.index(START),
        "end": pieces.target.index(END),
        "start_from_zero": False,
    }
    return FloatModel(origin, metadata, products, vectors, embeddings, np.asarray(output.bias), pieces)
