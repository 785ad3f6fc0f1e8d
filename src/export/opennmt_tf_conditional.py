"""The layers of Nematus' conditional GRU, trained with OpenNMT-tf (layers.conditional_gru), by the engine's names."""

from pathlib import Path
from typing import Any

import numpy as np

from export.float_model import Product, check_widths
from export.opennmt_tf_layers import Layers, dense


def reads(model: Any) -> bool:
    from layers.conditional_gru import ConditionalGRU

    return isinstance(model, ConditionalGRU)


def layers(model: Any, origin: Path) -> Layers:
    """Raises UserError for sizes that the engine cannot run."""
    encoder, decoder = model.encoder, model.decoder
    units, embedding = (layer.kernel.shape[0] for layer in (decoder.queries, decoder.hidden[0]))
    transitions = len(decoder.units)
    check_widths(origin, {"decoder_transitions": transitions, "units": units, "embedding_units": embedding})
    products: dict[str, Product] = {}
    vectors = {"attention.combination": np.asarray(decoder.combination.kernel)[:, 0]}
    sides = {"encoder.forward": encoder.cells[0].units, "encoder.backward": encoder.cells[1].units}
    for side, gated_units in {**sides, "decoder": decoder.units}.items():
        for number, unit in enumerate(gated_units):
            gated_unit(f"{side}.{number}", unit, products, vectors)
    products["attention.queries"] = dense(decoder.queries)
    products["attention.keys"] = dense(decoder.keys)
    products["start"] = dense(decoder.start)
    parts = np.concatenate([*map(weights, decoder.hidden)], axis=1)
    products["hidden"] = parts, sum(np.asarray(layer.bias) for layer in decoder.hidden)
    return products, vectors, {
        "architecture": "conditional",
        "units": units,
        "embedding_units": embedding,
        "encoder_transitions": len(encoder.cells[0].units),
        "decoder_transitions": transitions,
        "source_factor": 1.0,
        "target_factor": 1.0,
    }  # fmt: skip


def gated_unit(name: str, unit: Any, products: dict[str, Product], vectors: dict[str, np.ndarray]) -> None:
    """The engine adds the bias of the inputs' product outside the reset, that of the states' inside."""
    bias = np.asarray(unit.bias)
    of_inputs, of_states = (0 * bias, bias) if unit.inside else (bias, 0 * bias)
    products[f"{name}.states"] = weights(unit.states), of_states
    if unit.inputs is None:
        vectors[f"{name}.constant"] = of_inputs
    else:
        products[f"{name}.inputs"] = weights(unit.inputs), of_inputs


def weights(layer: Any) -> np.ndarray:
    return np.asarray(layer.kernel).T
