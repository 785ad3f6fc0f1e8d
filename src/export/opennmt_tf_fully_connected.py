"""The layers of a recurrent model with fully connected ones on top (layers.fully_connected), by the engine's names."""

from pathlib import Path
from typing import Any

import numpy as np

from export.float_model import Product, check_widths
from export.opennmt_tf_conditional import gated_unit
from export.opennmt_tf_layers import Layers, dense


def reads(model: Any) -> bool:
    from layers.fully_connected import FullyConnectedGRU

    return isinstance(model, FullyConnectedGRU)


def layers(model: Any, origin: Path) -> Layers:
    """Raises UserError for sizes that the engine cannot run."""
    encoder, decoder = model.encoder, model.decoder
    units, layer_units = decoder.queries.kernel.shape[0], decoder.top[0].inner.kernel.shape[1]
    embedding = decoder.unit.inputs.kernel.shape[0]
    top = {"fully_connected_layers": len(decoder.top), "fully_connected_units": layer_units}
    check_widths(origin, {"units": units, "embedding_units": embedding, **top})
    products: dict[str, Product] = {}
    vectors = {"attention.combination": np.asarray(decoder.combination.kernel)[:, 0]}
    cells = [cell.units[0] for cell in encoder.cells]
    for name, unit in zip(("encoder.forward", "encoder.backward", "decoder"), (*cells, decoder.unit), strict=True):
        gated_unit(f"{name}.0", unit, products, vectors)
    # Without a bias: attention sums products of it with weights, and none of a constant.
    products["decoder.contexts"] = dense(decoder.contexts)
    products["attention.queries"] = dense(decoder.queries)
    products["attention.keys"] = dense(decoder.keys)
    products["start"] = dense(decoder.start)
    for number, layer in enumerate(decoder.top):
        products[f"layers.{number}.inner"] = dense(layer.inner)
        if layer.projection is not None:
            products[f"layers.{number}.projection"] = dense(layer.projection)
    return products, vectors, {
        "architecture": "fully-connected",
        "units": units,
        "embedding_units": embedding,
        **top,
        "source_factor": 1.0,
        "target_factor": 1.0,
    }  # fmt: skip
