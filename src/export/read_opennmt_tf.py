"""Read a model of OpenNMT-tf for the native engine without CTranslate2, which lacks some of the layers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from export import opennmt_tf_recurrent as recurrent
from formats import opennmt_tf
from formats.conversion import EPSILON
from formats.opennmt_tf import END, START, UNKNOWN
from nmt_frontier.errors import UserError
from nmt_frontier.importers.float_model import (
    FloatModel,
    Layers,
    LayerWeights,
    Norm,
    check_widths,
    dense,
    finite,
    joined,
)
from nmt_frontier.model.native_packing import padded
from nmt_frontier.model.native_vocabulary import Vocabulary


def read(checkpoint: Path) -> FloatModel:
    """The model in a folder of train.train. Raises UserError for one that is damaged, or that the engine cannot run."""
    return of_model(opennmt_tf.load_checkpoint(checkpoint), vocabulary(checkpoint), checkpoint)


def vocabulary(checkpoint: Path) -> Vocabulary:
    """The joint vocabulary of a checkpoint, whose last entry is OpenNMT-tf's own."""
    pieces = opennmt_tf.read_vocabulary(checkpoint / "vocabulary.txt")
    return Vocabulary([*pieces, UNKNOWN], [*pieces, UNKNOWN], UNKNOWN)


def of_model(model: Any, pieces: Vocabulary, origin: Path) -> FloatModel:
    """A loaded model. Raises UserError as ``read``."""
    products, vectors, metadata = _layers(model, origin)
    output = model.decoder.output_layer
    bias = finite(origin, output.bias.name, output.bias, masks=True)
    for variable in model.trainable_variables:
        if variable is not output.bias:
            finite(origin, variable.name, variable)
    source, target = (np.asarray(inputter.embedding) for inputter in (model.features_inputter, model.labels_inputter))
    tied = model.features_inputter.embedding is model.labels_inputter.embedding
    embeddings = {
        "source": ("target", target) if tied else ("source", source),
        "target": ("target", target),
        "output": ("target", target) if output.weight is not None else ("output", np.asarray(output.kernel).T),
    }
    metadata |= {"start": pieces.target.index(START), "end": pieces.target.index(END), "start_from_zero": False}
    return FloatModel(origin, metadata, products, vectors, embeddings, bias, pieces)


def _layers(model: Any, origin: Path) -> Layers:
    """Raises UserError for an architecture that the engine has not."""
    from opennmt.decoders import AttentionalRNNDecoder
    from opennmt.encoders import RNNEncoder
    from opennmt.models import Transformer

    from layers.conditional_gru import ConditionalGRU
    from layers.fully_connected import FullyConnectedGRU

    if isinstance(model, Transformer):
        return _transformer(model, origin)
    if type(model.decoder) is AttentionalRNNDecoder and type(model.encoder) is RNNEncoder:
        return recurrent.luong(model, origin)
    if isinstance(model, ConditionalGRU):
        return recurrent.conditional(model, origin)
    if isinstance(model, FullyConnectedGRU):
        return recurrent.fully_connected(model, origin)
    raise UserError(f"{origin}: the native engine has no {type(model).__name__} of OpenNMT-tf's like this one")


def _transformer(model: Any, origin: Path) -> Layers:
    """Raises UserError for units that are no multiple of 16, and for what the engine has not."""
    encoder, decoder = model.encoder, model.decoder
    if unlike := next(_unlike(encoder, decoder), None):
        raise UserError(f"{origin}: {unlike}; the native engine has no such Transformers of OpenNMT-tf's")
    units, heads = decoder.num_units, decoder.num_heads
    check_widths(origin, {"units": units, "decoder": getattr(decoder, "history", None)}, "OpenNMT-tf")
    found = OpenNMTLayers(heads)
    for number, layer in enumerate(encoder.layers):
        found.self_attention(f"encoder.{number}.self", layer.self_attention)
        found.feed_forward_layer(f"encoder.{number}.feed_forward", layer.ffn)
    for number, layer in enumerate(decoder.layers):
        found.look_back(f"decoder.{number}.self", layer.self_attention)
        found.source_attention(f"decoder.{number}.source", layer.attention[0])
        found.feed_forward_layer(f"decoder.{number}.feed_forward", layer.ffn)
    for side in ("encoder", "decoder"):
        found.norm(f"{side}.norm", _norm(getattr(model, side).layer_norm))
    metadata = {
        "architecture": "transformer",
        "units": units,
        "feed_forward_units": padded(encoder.layers[0].ffn.layer.inner.units),
        "encoder_layers": len(encoder.layers),
        "decoder_layers": len(decoder.layers),
        **{f"{side}_heads": heads for side in ("encoder", "decoder")},
        **{f"{side}_head_units": units // heads for side in ("encoder", "decoder")},
        "pre_norm": True,
        "source_factor": np.sqrt(np.float32(units)),
        "target_factor": np.sqrt(np.float32(units)),
        "epsilon": EPSILON,
        **found.history,
    }
    return found.products, found.vectors, metadata


def _unlike(*sides: Any) -> Iterator[str]:
    """Features of the model that the engine lacks."""
    import tensorflow as tf
    from opennmt.layers.position import SinusoidalPositionEncoder

    for side in sides:
        if type(side.position_encoder) is not SinusoidalPositionEncoder:
            yield "its positions are not sinusoidal"
        if side.layer_norm is None:
            yield "it normalises behind its layers"
        if any(layer.ffn.layer.inner.activation is not tf.nn.relu for layer in side.layers):
            yield "its activation is not relu"


def _norm(layer: Any) -> Norm:
    return np.asarray(layer.gamma), np.asarray(layer.beta)


class OpenNMTLayers(LayerWeights):
    """The layers of a pre-norm Transformer of OpenNMT-tf; each sub-layer comes in a wrapper with its normalisation."""

    def __init__(self, heads: int):
        super().__init__()
        self._heads = heads

    def self_attention(self, name: str, wrapper: Any) -> None:
        layer, norm = wrapper.layer, _norm(wrapper.input_layer_norm)
        queries = joined(layer.linear_queries, layer.linear_keys, layer.linear_values)
        self.attention(name, self._heads, queries, dense(layer.linear_output), norm)

    def source_attention(self, name: str, wrapper: Any) -> None:
        layer, norm = wrapper.layer, _norm(wrapper.input_layer_norm)
        memory = joined(layer.linear_keys, layer.linear_values)
        self.attention(name, self._heads, dense(layer.linear_queries), dense(layer.linear_output), norm, memory)

    def feed_forward_layer(self, name: str, wrapper: Any) -> None:
        """A feed-forward layer with its normalisation."""
        self.feed_forward(name, dense(wrapper.layer.inner), dense(wrapper.layer.outer))
        self.norm(f"{name}.norm", _norm(wrapper.input_layer_norm))

    def look_back(self, name: str, wrapper: Any) -> None:
        """The sub-layer of a decoder that sees earlier target pieces."""
        from layers.history_decoder import Averaging, SimpleRecurrence

        layer = wrapper.layer
        if isinstance(layer, SimpleRecurrence):
            self.products[f"{name}.gates"] = joined(layer.forget_gate, layer.candidate)
            self.history = {"decoder": "ssru"}
        elif isinstance(layer, Averaging):
            self.history = {"decoder": "averaging", "gated": layer.input_gate is not None}
            if layer.ffn is not None:
                self.feed_forward(name, dense(layer.ffn.inner), dense(layer.ffn.outer))
                self.history |= {"averaging_units": padded(layer.ffn.inner.units), "averaging_swish": True}
            if layer.input_gate is not None:
                self.products[f"{name}.input_gate"] = dense(layer.input_gate)
                self.products[f"{name}.mean_gate"] = dense(layer.mean_gate)
        else:
            return self.self_attention(name, wrapper)
        self.norm(f"{name}.norm", _norm(wrapper.input_layer_norm))
