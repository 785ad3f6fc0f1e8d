"""Layers of recurrent models of OpenNMT-tf for the native engine: LSTM or GRU, with Luong's attention."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UserError
from export.float_model import Product, check_widths
from export.opennmt_tf_layers import Layers, dense, product


def reads(model: Any) -> bool:
    """Whether a model has an RNNEncoder and an AttentionalRNNDecoder."""
    from opennmt.decoders import AttentionalRNNDecoder
    from opennmt.encoders import RNNEncoder

    return type(model.decoder) is AttentionalRNNDecoder and type(model.encoder) is RNNEncoder


def layers(model: Any, origin: Path) -> Layers:
    """Raises UserError for what the engine has not."""
    encoder, decoder = model.encoder.rnn, model.decoder
    if unlike := next(_unlike(encoder, decoder), None):
        raise UserError(f"{origin}: {unlike}; the native engine has no such models")
    stacks = [encoder.rnn.forward_layer, encoder.rnn.backward_layer] if encoder.bidirectional else [encoder.rnn]
    directions = [_cells(stack.cell, origin) for stack in stacks]
    cells = _cells(decoder.cell._cell, origin)  # of the attention's wrapper
    kind = _kind([cell for stack in (*directions, cells) for cell in stack], origin)
    units, embedding = cells[0].units, model.labels_inputter.embedding.shape[-1]
    if len(directions) * directions[0][0].units != units:
        raise UserError(f"{origin}: encoder and decoder differ in their units; in the native engine they do not")
    widths = {"units": units, "embedding_units": embedding, "bidirectional": encoder.bidirectional}
    check_widths(origin, {"cell": kind, **widths})
    products: dict[str, Product] = {}
    for name, stack in zip(("encoder.forward", "encoder.backward"), directions, strict=False):
        products |= _products(name, stack)
    products |= _products("decoder", cells)
    weights, bias = products["decoder.0.inputs"]  # of a piece, and of the last hidden state behind it
    products["decoder.0.inputs"] = weights[:, :embedding], bias
    products["decoder.feedback"] = weights[:, embedding:], np.zeros_like(bias)
    linear = getattr(decoder.bridge, "linear", None)
    if linear is not None:
        products["bridge"] = dense(linear)
    products["attention.keys"] = dense(decoder.attention_mechanism.memory_layer)
    products["attention.hidden"] = dense(decoder.cell._attention_layers[0])
    metadata = {
        "architecture": "recurrent",
        "cell": kind,
        "units": units,
        "embedding_units": embedding,
        "directions": len(directions),
        "encoder_layers": len(directions[0]),
        "decoder_layers": len(cells),
        "bridge": linear is not None,
        "source_factor": 1.0,
        "target_factor": 1.0,
    }
    return products, {}, metadata


def _unlike(encoder: Any, decoder: Any) -> Iterator[str]:
    """What a model has that the engine has not."""
    import tensorflow as tf
    import tensorflow_addons as tfa
    from opennmt.layers import ConcatReducer, CopyBridge, DenseBridge

    if encoder.bidirectional and type(encoder.reducer) is not ConcatReducer:
        yield f"its encoder joins directions by {type(encoder.reducer).__name__}"
    bridge = decoder.bridge
    if type(bridge) not in (CopyBridge, DenseBridge) or getattr(bridge, "activation", None) is not None:
        yield f"it has a {type(bridge).__name__}, or one with an activation"
    attention = decoder.attention_mechanism
    plain = type(attention) is tfa.seq2seq.LuongAttention and attention.probability_fn_name == "softmax"
    if not plain or attention.scale or decoder.first_layer_attention:
        yield f"it has {type(attention).__name__} that is scaled, in the first layer, or of another kind than Luong's"
    elif decoder.cell._attention_layers[0].activation is not tf.math.tanh:
        yield "its hidden states have another activation than tanh"


def _cells(stacked: Any, origin: Path) -> list[Any]:
    """The cells of a stack, without what drops units in training."""
    if any(getattr(cell, "residual_connection", False) for cell in stacked.cells):
        raise UserError(f"{origin}: its layers have residual connections; the native engine has no such models")
    return [getattr(cell, "cell", cell) for cell in stacked.cells]


def _kind(cells: list[Any], origin: Path) -> str:
    """``lstm`` or ``gru``, of all cells."""
    import tensorflow as tf

    kinds = {tf.keras.layers.LSTMCell: "lstm", tf.keras.layers.GRUCell: "gru"}
    (found, *others) = {kinds.get(type(cell)) for cell in cells}
    usual = all(
        (cell.activation, cell.recurrent_activation, cell.use_bias, getattr(cell, "reset_after", True))
        == (tf.keras.activations.tanh, tf.keras.activations.sigmoid, True, True)
        for cell in cells
    )
    if others or found is None or not usual:
        raise UserError(f"{origin}: the native engine has Keras's usual LSTM and GRU cells, the same in all layers")
    return found


def _products(name: str, cells: list[Any]) -> dict[str, Product]:
    """The products of the inputs and of the states of stacked cells, whose gates stand as the engine's do."""
    found: dict[str, Product] = {}
    for number, cell in enumerate(cells):
        bias = np.asarray(cell.bias)
        of_inputs, of_states = bias if bias.ndim == 2 else (bias, None)  # a GRU has one for each
        found[f"{name}.{number}.inputs"] = product(cell.kernel, of_inputs)
        found[f"{name}.{number}.states"] = product(cell.recurrent_kernel, of_states)
    return found
