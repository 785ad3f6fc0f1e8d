"""Read a model of OpenNMT-tf for the native engine, without CTranslate2: what CTranslate2 has no layers for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UserError
from export import opennmt_tf_recurrent
from export.float_model import FloatModel, Layers, Product, check_widths, dense, joined
from formats import native_model, opennmt_tf
from formats.conversion import EPSILON
from formats.native_model import pad_inputs, pad_outputs, padded
from formats.opennmt_tf import END, START, UNKNOWN


def reads_transformer(model: Any) -> bool:
    from opennmt.models import Transformer

    return isinstance(model, Transformer)


def layers_transformer(model: Any, origin: Path) -> Layers:
    """Raises UserError for units that are no multiple of 16, and for what the engine has not."""
    from layers.history_decoder import HistoryDecoder

    encoder, decoder = model.encoder, model.decoder
    if unlike := next(_unlike(encoder, decoder), None):
        raise UserError(f"{origin}: {unlike}; the native engine has no such Transformers of OpenNMT-tf's")
    units = decoder.num_units
    check_widths(origin, {"units": units, "decoder": getattr(decoder, "history", None)})
    found = TransformerLayers(decoder.num_heads)
    for number, layer in enumerate(encoder.layers):
        found.self_attention(f"encoder.{number}.self", layer.self_attention)
        found.feed_forward(f"encoder.{number}.feed_forward", layer.ffn)
    for number, layer in enumerate(decoder.layers):
        found.look_back(f"decoder.{number}.self", layer.self_attention)
        found.source_attention(f"decoder.{number}.source", layer.attention[0])
        found.feed_forward(f"decoder.{number}.feed_forward", layer.ffn)
    found.norm("encoder.norm", encoder.layer_norm)
    found.norm("decoder.norm", decoder.layer_norm)
    heads = {f"{side}_heads": decoder.num_heads for side in ("encoder", "decoder")}
    head_units = {f"{side}_head_units": units // decoder.num_heads for side in ("encoder", "decoder")}
    metadata = {
        "architecture": "transformer",
        "units": units,
        "feed_forward_units": padded(encoder.layers[0].ffn.layer.inner.units),
        "encoder_layers": len(encoder.layers),
        "decoder_layers": len(decoder.layers),
        **heads,
        **head_units,
        "pre_norm": True,
        "source_factor": np.sqrt(np.float32(units)),
        "target_factor": np.sqrt(np.float32(units)),
        "epsilon": EPSILON,
    }
    if isinstance(decoder, HistoryDecoder):
        metadata |= found.history
    return found.products, found.vectors, metadata


def _unlike(*sides: Any) -> Iterator[str]:
    """What a model has that the engine has not."""
    import tensorflow as tf
    from opennmt.layers.position import SinusoidalPositionEncoder

    for side in sides:
        if type(side.position_encoder) is not SinusoidalPositionEncoder:
            yield "its positions are not sinusoidal"
        if side.layer_norm is None:
            yield "it normalises behind its layers"
        if any(layer.ffn.layer.inner.activation is not tf.nn.relu for layer in side.layers):
            yield "its activation is not relu"


class TransformerLayers:
    """Products and vectors of the layers of a Transformer of OpenNMT-tf's, pre-norm, by the engine's names.

    history: what the metadata say of a decoder without self-attention.
    """

    def __init__(self, heads: int):
        self._heads = heads
        self.products: dict[str, Product] = {}
        self.vectors: dict[str, np.ndarray] = {}
        self.history: dict[str, object] = {}

    def norm(self, name: str, layer: Any) -> None:
        self.vectors[f"{name}.scale"], self.vectors[f"{name}.bias"] = np.asarray(layer.gamma), np.asarray(layer.beta)

    def self_attention(self, name: str, wrapper: Any) -> None:
        layer = wrapper.layer
        together = joined(layer.linear_queries, layer.linear_keys, layer.linear_values)
        self.products[f"{name}.queries"] = pad_outputs(*together, 3 * self._heads)
        self._attention(name, wrapper)

    def source_attention(self, name: str, wrapper: Any) -> None:
        layer = wrapper.layer
        self.products[f"{name}.queries"] = pad_outputs(*dense(layer.linear_queries), self._heads)
        memory = joined(layer.linear_keys, layer.linear_values)
        self.products[f"{name}.memory"] = pad_outputs(*memory, 2 * self._heads)
        self._attention(name, wrapper)

    def _attention(self, name: str, wrapper: Any) -> None:
        weights, bias = dense(wrapper.layer.linear_output)
        self.products[f"{name}.output"] = pad_inputs(weights, self._heads), bias
        self.norm(f"{name}.norm", wrapper.input_layer_norm)

    def feed_forward(self, name: str, wrapper: Any) -> None:
        self._feed_forward(name, wrapper.layer)
        self.norm(f"{name}.norm", wrapper.input_layer_norm)

    def _feed_forward(self, name: str, layer: Any) -> None:
        self.products[f"{name}.inner"] = pad_outputs(*dense(layer.inner), 1)
        weights, bias = dense(layer.outer)
        self.products[f"{name}.outer"] = pad_inputs(weights, 1), bias

    def look_back(self, name: str, wrapper: Any) -> None:
        """A decoder's sub-layer that sees what was said before."""
        from layers.history_decoder import Averaging, SimpleRecurrence

        layer = wrapper.layer
        if isinstance(layer, SimpleRecurrence):
            self.products[f"{name}.gates"] = joined(layer.forget_gate, layer.candidate)
            self.history = {"decoder": "ssru"}
        elif isinstance(layer, Averaging):
            self.history = {"decoder": "averaging", "gated": layer.input_gate is not None}
            if layer.ffn is not None:
                self._feed_forward(name, layer.ffn)
                self.history |= {"averaging_units": padded(layer.ffn.inner.units), "averaging_swish": True}
            if layer.input_gate is not None:
                self.products[f"{name}.input_gate"] = dense(layer.input_gate)
                self.products[f"{name}.mean_gate"] = dense(layer.mean_gate)
        else:
            return self.self_attention(name, wrapper)
        self.norm(f"{name}.norm", wrapper.input_layer_norm)


ARCHITECTURES = (
    (reads_transformer, layers_transformer),
    (opennmt_tf_recurrent.reads, opennmt_tf_recurrent.layers),
    (opennmt_tf_recurrent.reads_conditional, opennmt_tf_recurrent.layers_conditional),
    (opennmt_tf_recurrent.reads_fully_connected, opennmt_tf_recurrent.layers_fully_connected),
)


def read(checkpoint: Path) -> FloatModel:
    """The model in a folder of train.train. Raises UserError for one that is damaged, or that the engine cannot run."""
    return of_model(opennmt_tf.load_checkpoint(checkpoint), vocabulary(checkpoint), checkpoint)


def vocabulary(checkpoint: Path) -> native_model.Vocabulary:
    """The joint vocabulary of a checkpoint, whose last entry is OpenNMT-tf's own."""
    pieces = opennmt_tf.read_vocabulary(checkpoint / "vocabulary.txt")
    return native_model.Vocabulary([*pieces, UNKNOWN], [*pieces, UNKNOWN], UNKNOWN)


def of_model(model: Any, pieces: native_model.Vocabulary, origin: Path) -> FloatModel:
    """A loaded model. Raises UserError as ``read``."""
    read_layers = next((layers for reads, layers in ARCHITECTURES if reads(model)), None)
    if read_layers is None:
        raise UserError(f"{origin}: the native engine has no {type(model).__name__} of OpenNMT-tf's like this one")
    products, vectors, metadata = read_layers(model, origin)
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
