"""Layers of OpenNMT-tf's recurrent models by the engine's names: Luong's attention, Nematus', Devlin's."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_frontier.errors import UserError
from nmt_frontier.importers.float_model import UNSCALED, Layers, Product, check_widths, dense, product


def luong(model: Any, origin: Path) -> Layers:
    """An RNNEncoder and an AttentionalRNNDecoder. Raises UserError for what the engine has not."""
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
    check_widths(origin, {"cell": kind, **widths}, "OpenNMT-tf")
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
        **UNSCALED,
    }
    return products, {}, metadata


def _unlike(encoder: Any, decoder: Any) -> Iterator[str]:
    """Features of the model that the engine lacks."""
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
    """The cells of a stack, without their dropout wrappers."""
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
    """The products of the inputs and of the states of stacked cells; Keras orders gates as the engine does."""
    found: dict[str, Product] = {}
    for number, cell in enumerate(cells):
        bias = np.asarray(cell.bias)
        of_inputs, of_states = bias if bias.ndim == 2 else (bias, None)  # a GRU has one for each
        found[f"{name}.{number}.inputs"] = product(cell.kernel, of_inputs)
        found[f"{name}.{number}.states"] = product(cell.recurrent_kernel, of_states)
    return found


def conditional(model: Any, origin: Path) -> Layers:
    """Raises UserError for sizes that the engine cannot run."""
    encoder, decoder = model.encoder, model.decoder
    units, embedding = (layer.kernel.shape[0] for layer in (decoder.queries, decoder.hidden[0]))
    transitions = len(decoder.units)
    check_widths(
        origin, {"decoder_transitions": transitions, "units": units, "embedding_units": embedding}, "OpenNMT-tf"
    )
    products: dict[str, Product] = {}
    vectors = {"attention.combination": np.asarray(decoder.combination.kernel)[:, 0]}
    sides = {"encoder.forward": encoder.cells[0].units, "encoder.backward": encoder.cells[1].units}
    for side, gated_units in {**sides, "decoder": decoder.units}.items():
        for number, unit in enumerate(gated_units):
            gated_unit(f"{side}.{number}", unit, products, vectors)
    products |= _attention(decoder)
    parts = np.concatenate([*map(weights, decoder.hidden)], axis=1)
    bias: Any = sum(np.asarray(layer.bias) for layer in decoder.hidden)
    products["hidden"] = parts, bias
    return products, vectors, {
        "architecture": "conditional",
        "units": units,
        "embedding_units": embedding,
        "encoder_transitions": len(encoder.cells[0].units),
        "decoder_transitions": transitions,
        **UNSCALED,
    }  # fmt: skip


def _attention(decoder: Any) -> dict[str, Product]:
    products = {"attention.queries": decoder.queries, "attention.keys": decoder.keys, "start": decoder.start}
    return {name: dense(layer) for name, layer in products.items()}


def gated_unit(name: str, unit: Any, products: dict[str, Product], vectors: dict[str, NDArray[Any]]) -> None:
    """The engine adds the bias of the inputs' product outside the reset, that of the states' product inside."""
    bias = np.asarray(unit.bias)
    of_inputs, of_states = (0 * bias, bias) if unit.inside else (bias, 0 * bias)
    products[f"{name}.states"] = weights(unit.states), of_states
    if unit.inputs is None:
        vectors[f"{name}.constant"] = of_inputs
    else:
        products[f"{name}.inputs"] = weights(unit.inputs), of_inputs


def weights(layer: Any) -> NDArray[Any]:
    return np.asarray(layer.kernel).T


def fully_connected(model: Any, origin: Path) -> Layers:
    """Raises UserError for sizes that the engine cannot run."""
    encoder, decoder = model.encoder, model.decoder
    units, layer_units = decoder.queries.kernel.shape[0], decoder.top[0].inner.kernel.shape[1]
    embedding = decoder.unit.inputs.kernel.shape[0]
    top = {"fully_connected_layers": len(decoder.top), "fully_connected_units": layer_units}
    check_widths(origin, {"units": units, "embedding_units": embedding, **top}, "OpenNMT-tf")
    products: dict[str, Product] = {}
    vectors = {"attention.combination": np.asarray(decoder.combination.kernel)[:, 0]}
    cells = [cell.units[0] for cell in encoder.cells]
    for name, unit in zip(("encoder.forward", "encoder.backward", "decoder"), (*cells, decoder.unit), strict=True):
        gated_unit(f"{name}.0", unit, products, vectors)
    # It has no bias: the attention sums weighted products and adds no constant.
    products["decoder.contexts"] = dense(decoder.contexts)
    products |= _attention(decoder)
    for number, layer in enumerate(decoder.top):
        products[f"layers.{number}.inner"] = dense(layer.inner)
        if layer.projection is not None:
            products[f"layers.{number}.projection"] = dense(layer.projection)
    return products, vectors, {
        "architecture": "fully-connected",
        "units": units,
        "embedding_units": embedding,
        **top,
        **UNSCALED,
    }  # fmt: skip
