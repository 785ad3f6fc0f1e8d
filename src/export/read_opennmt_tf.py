"""Read a model of OpenNMT-tf for the native engine, without CTranslate2: what CTranslate2 has no layers for."""

from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UserError
from export.convert import load
from export.float_model import FloatModel, Product
from export.read_conditional import conditional
from formats import native_model
from formats.conversion import EPSILON
from formats.native_model import pad_inputs, pad_outputs, padded

END, START, UNKNOWN = "</s>", "<s>", "<unk>"


def read(checkpoint: Path) -> FloatModel:
    """The model in a folder of train.train. Raises UserError for one that is damaged, or that the engine cannot run."""
    return of_model(load(checkpoint), vocabulary(checkpoint), checkpoint)


def vocabulary(checkpoint: Path) -> native_model.Vocabulary:
    """The joint vocabulary of a checkpoint, whose last entry is OpenNMT-tf's own."""
    pieces = (checkpoint / "vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1]
    return native_model.Vocabulary([*pieces, UNKNOWN], [*pieces, UNKNOWN], UNKNOWN)


def of_model(model: Any, pieces: native_model.Vocabulary, origin: Path) -> FloatModel:
    """A loaded model. Raises UserError as ``read``."""
    from opennmt.models import Transformer

    from layers.conditional_gru import ConditionalGRU

    readers = {Transformer: _transformer, ConditionalGRU: conditional}
    reader = next((readers[kind] for kind in readers if isinstance(model, kind)), None)
    if reader is None:
        raise UserError(f"{origin}: the native engine has no {type(model).__name__} of OpenNMT-tf's")
    products, vectors, metadata = reader(model, origin)
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


def _transformer(model: Any, origin: Path) -> tuple[dict[str, Product], dict[str, np.ndarray], dict[str, object]]:
    from layers.history_decoder import HistoryDecoder

    encoder, decoder = model.encoder, model.decoder
    units = decoder.num_units
    if units % native_model.PANEL:
        raise UserError(f"{origin}: has {units} units; the native engine needs a multiple of {native_model.PANEL}")
    layers = TransformerLayers(decoder.num_heads)
    for number, layer in enumerate(encoder.layers):
        layers.self_attention(f"encoder.{number}.self", layer.self_attention)
        layers.feed_forward(f"encoder.{number}.feed_forward", layer.ffn)
    for number, layer in enumerate(decoder.layers):
        layers.look_back(f"decoder.{number}.self", layer.self_attention)
        layers.source_attention(f"decoder.{number}.source", layer.attention[0])
        layers.feed_forward(f"decoder.{number}.feed_forward", layer.ffn)
    layers.norm("encoder.norm", encoder.layer_norm)
    layers.norm("decoder.norm", decoder.layer_norm)
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
        metadata |= layers.history
    return layers.products, layers.vectors, metadata


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
        joined = _joined(layer.linear_queries, layer.linear_keys, layer.linear_values)
        self.products[f"{name}.queries"] = pad_outputs(*joined, 3 * self._heads)
        self._attention(name, wrapper)

    def source_attention(self, name: str, wrapper: Any) -> None:
        layer = wrapper.layer
        self.products[f"{name}.queries"] = pad_outputs(*_dense(layer.linear_queries), self._heads)
        memory = _joined(layer.linear_keys, layer.linear_values)
        self.products[f"{name}.memory"] = pad_outputs(*memory, 2 * self._heads)
        self._attention(name, wrapper)

    def _attention(self, name: str, wrapper: Any) -> None:
        weights, bias = _dense(wrapper.layer.linear_output)
        self.products[f"{name}.output"] = pad_inputs(weights, self._heads), bias
        self.norm(f"{name}.norm", wrapper.input_layer_norm)

    def feed_forward(self, name: str, wrapper: Any) -> None:
        self._feed_forward(name, wrapper.layer)
        self.norm(f"{name}.norm", wrapper.input_layer_norm)

    def _feed_forward(self, name: str, layer: Any) -> None:
        self.products[f"{name}.inner"] = pad_outputs(*_dense(layer.inner), 1)
        weights, bias = _dense(layer.outer)
        self.products[f"{name}.outer"] = pad_inputs(weights, 1), bias

    def look_back(self, name: str, wrapper: Any) -> None:
        """A decoder's sub-layer that sees what was said before."""
        from layers.averaging import Averaging
        from layers.simple_recurrence import SimpleRecurrence

        layer = wrapper.layer
        if isinstance(layer, SimpleRecurrence):
            self.products[f"{name}.gates"] = _joined(layer.forget_gate, layer.candidate)
            self.history = {"decoder": "ssru"}
        elif isinstance(layer, Averaging):
            self.history = {"decoder": "averaging", "gated": layer.input_gate is not None}
            if layer.ffn is not None:
                self._feed_forward(name, layer.ffn)
                self.history |= {"averaging_units": padded(layer.ffn.inner.units), "averaging_swish": True}
            if layer.input_gate is not None:
                self.products[f"{name}.input_gate"] = _dense(layer.input_gate)
                self.products[f"{name}.mean_gate"] = _dense(layer.mean_gate)
        else:
            return self.self_attention(name, wrapper)
        self.norm(f"{name}.norm", wrapper.input_layer_norm)


def _dense(layer: Any) -> Product:
    weights = np.asarray(layer.kernel).T
    return weights, np.zeros(len(weights), np.float32) if layer.bias is None else np.asarray(layer.bias)


def _joined(*layers: Any) -> Product:
    weights, biases = zip(*map(_dense, layers), strict=True)
    return np.concatenate(weights), np.concatenate(biases)
