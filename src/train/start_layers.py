"""Start a Transformer with layers of another one, as students that begin with layers of their teacher.

Shleifer and Rush 2020, "Pre-trained Summarization Distillation" (arXiv 2010.13002): "shrink and fine-tune".
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmt_frontier.errors import UserError
from train.settings import StartLayers


def parent(model: Any, averaged: Path) -> Any:
    """The model that averaged weights belong to, with the vocabulary of another model and random weights."""
    import opennmt

    try:
        other = opennmt.load_model(str(averaged))
    except (ValueError, OSError) as error:
        raise UserError(f"{averaged}: has no model_description.py, which says what layers its weights have") from error
    sides = {"source": model.features_inputter, "target": model.labels_inputter}
    other.initialize({f"{side}_vocabulary": inputter.vocabulary_file for side, inputter in sides.items()})
    other.create_variables()
    return other


def transfer(other: Any, model: Any, layers: StartLayers, name: Path) -> None:
    """Copy embeddings, norms, the output layer, and the layers that are named into the layers of a model.

    Both have the same vocabulary. name: of the folder that the weights are from. Raises UserError if they do not fit.
    """
    try:
        for theirs, ours in _pairs(other, model, layers):
            for weight, own in zip(theirs.weights, ours.weights, strict=True):
                own.assign(weight)
    except (AttributeError, IndexError, ValueError) as error:
        raise UserError(f"{name}: its layers {layers.document} do not fit a model of this shape: {error}") from error


def _pairs(other: Any, model: Any, layers: StartLayers) -> Iterator[tuple[Any, Any]]:
    """The parts of both models that have the same weights."""
    yield other.examples_inputter, model.examples_inputter
    yield other.decoder.output_layer, model.decoder.output_layer
    stacks = (other.encoder, model.encoder, layers.encoder), (other.decoder, model.decoder, layers.decoder)
    for theirs, ours, chosen in stacks:
        yield theirs.layer_norm, ours.layer_norm
        for number, layer in zip(chosen, ours.layers, strict=True):
            yield theirs.layers[number], layer
