"""Layers of Transformers of OpenNMT-tf for the native engine, pre-norm, with any decoder of layers.history_decoder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UserError
from export.float_model import Product, check_widths
from export.opennmt_tf_layers import Layers, dense, joined
from formats.conversion import EPSILON
from formats.native_model import pad_inputs, pad_outputs, padded


def reads(model: Any) -> bool:
    from opennmt.models import Transformer

    return isinstance(model, Transformer)


def layers(model: Any, origin: Path) -> Layers:
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
        from layers.averaging import Averaging
        from layers.simple_recurrence import SimpleRecurrence

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
